/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both ends of the TCP connection, for each work's largest file. */
#include "report/section.h"
#include "report/transfer.h"

enum { COL_END, COL_LOOKS, COL_RTT, COL_MIN, COL_CWND, COL_MSS, COL_SNDBUF, COL_RCVBUF, N_LOOKS };
enum { COL_SENT = N_LOOKS, COL_RETRANS, COL_BUSY, COL_RWND, COL_SNDLIM };

static const struct section_column columns[] = {
	[COL_END] = { .head = "end" },
	[COL_LOOKS] = { .head = "looks", .drop = 1 },
	[COL_RTT] = { .head = "RTT", .name = "rtt" },
	[COL_MIN] = { .head = "least RTT", .name = "least_rtt" },
	[COL_CWND] = { .head = "cwnd" },
	[COL_MSS] = { .head = "MSS", .name = "mss", .unit = "B", .drop = 2 },
	[COL_SNDBUF] = { .head = "sndbuf", .unit = "B", .drop = 3 },
	[COL_RCVBUF] = { .head = "rcvbuf", .unit = "B", .drop = 4 },
	[COL_SENT] = { .head = "segments", .drop = 5 },
	[COL_RETRANS] = { .head = "again" },
	[COL_BUSY] = { .head = "busy" },
	[COL_RWND] = { .head = "peer's" GLUE "window", .name = "peers_window" },
	[COL_SNDLIM] = { .head = "own" GLUE "buffer", .name = "own_buffer" },
};

static const struct section_type connection_section = {
	.key = "connection",
	.title = "The connection",
	.rest = "  of each work's largest file: state in the warm-up, then what all\n"
		"       iterations added: segments, sent again, time with data to send, of it\n"
		"       held up by the other end's window or the own buffer",
	SECTION_OF(columns),
};

/* In the middle of a warm-up when there is such a look, else after it. */
static const struct run_tcp *best(const struct run_transfer *t, enum run_tcp_end end,
				  enum run_tcp_value v)
{
	const struct run_tcp *look = transfer_look(t, end, TCP_DURING, v);

	return look ? look : transfer_look(t, end, TCP_AFTER, v);
}

static struct cell state(const struct run_transfer *t, enum run_tcp_end end, enum run_tcp_value v)
{
	const struct run_tcp *look = best(t, end, v);

	if (!look)
		return cell_na();
	if (v == TCP_RTT || v == TCP_MIN_RTT)
		return cell_time(1e3 * (double)look->value[v]);
	return cell_count(look->value[v]);
}

/* How much a total grew over the phase. */
static struct cell growth(const struct run_transfer *t, enum run_tcp_end end, enum run_tcp_value v,
			  bool time)
{
	const struct run_tcp *first = transfer_look(t, end, TCP_BEFORE, v);
	const struct run_tcp *last = transfer_look(t, end, TCP_AFTER, v);
	uint64_t n;

	if (!first || !last || last->value[v] < first->value[v])
		return cell_na();
	n = last->value[v] - first->value[v];
	if (!n)
		return cell_zero();
	return time ? cell_time(1e3 * (double)n) : cell_count(n);
}

static void put_end(struct section *s, const struct run_transfer *t, enum run_tcp_end end)
{
	struct cell *cell;
	size_t n = 0;

	for (size_t i = 0; i < t->n_tcp; i++)
		n += t->tcp[i].end == end;
	if (!n)
		return;
	cell = section_row(s)->cell;
	cell[COL_END] = cell_text(end == TCP_CLIENT ? "  client" : "  server", 16);
	cell[COL_LOOKS] = cell_count(n);
	cell[COL_RTT] = state(t, end, TCP_RTT);
	cell[COL_MIN] = state(t, end, TCP_MIN_RTT);
	cell[COL_CWND] = state(t, end, TCP_CWND);
	cell[COL_MSS] = state(t, end, TCP_MSS);
	cell[COL_SNDBUF] = state(t, end, TCP_SNDBUF);
	cell[COL_RCVBUF] = state(t, end, TCP_RCVBUF);
	cell[COL_SENT] = growth(t, end, TCP_SEGS_OUT, false);
	cell[COL_RETRANS] = growth(t, end, TCP_RETRANS_TOTAL, false);
	cell[COL_BUSY] = growth(t, end, TCP_BUSY, true);
	cell[COL_RWND] = growth(t, end, TCP_RWND_LIMITED, true);
	cell[COL_SNDLIM] = growth(t, end, TCP_SNDBUF_LIMITED, true);
}

int paint_connection(const struct paint *p)
{
	const struct run *r = p->view.run;
	char size[RUN_SIZE_MAX];
	struct section s;

	section_open(&s, p, &connection_section);
	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_transfer *t = r->phase[i]->transfer;

		if (!t->n_tcp || transfer_largest(r, t->work, false) != r->phase[i])
			continue;
		section_text(&s, INK_BOLD, "  %s %s", t->work, run_size(t->size, size));
		put_end(&s, t, TCP_CLIENT);
		put_end(&s, t, TCP_SERVER);
	}
	return section_close(&s);
}
