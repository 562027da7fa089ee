/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both ends of the TCP connection, for each work's largest file. */
#include "report/grid.h"
#include "report/transfer.h"

#include <errno.h>
#include <string.h>

enum { COL_END, COL_LOOKS, COL_RTT, COL_MIN, COL_CWND, COL_MSS, COL_SNDBUF, COL_RCVBUF, N_LOOKS };
enum { COL_SENT = N_LOOKS, COL_RETRANS, COL_BUSY, COL_RWND, COL_SNDLIM, N_COLS };

static const char *const heads[N_COLS] = {
	"end",
	"looks",
	"RTT",
	"least RTT",
	"cwnd",
	"MSS",
	"sndbuf",
	"rcvbuf",
	"segments",
	"again",
	"busy",
	"peer's" GLUE "window",
	"own" GLUE "buffer",
};

static const unsigned int drops[] = { COL_LOOKS, COL_MSS, COL_SNDBUF, COL_RCVBUF, COL_SENT };

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
		return (struct cell) { "-" };
	return time ? cell_time(1e3 * (double)n) : cell_count(n);
}

static int put_end(struct grid *g, const struct run_transfer *t, enum run_tcp_end end)
{
	struct grid_row *row;
	struct cell *cell;
	size_t n = 0;

	for (size_t i = 0; i < t->n_tcp; i++)
		n += t->tcp[i].end == end;
	if (!n)
		return 0;
	row = grid_row(g);
	if (!row)
		return -ENOMEM;
	cell = row->cell;
	snprintf(cell[COL_END].text, sizeof(cell[COL_END].text), "  %s",
		 end == TCP_CLIENT ? "client" : "server");
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
	return 0;
}

static int connection_put_work(struct grid *g, const struct run_transfer *t)
{
	char size[RUN_SIZE_MAX];
	int e;

	if (!t->n_tcp)
		return 0;
	e = grid_text(g, INK_BOLD, "  %s %s", t->work, run_size(t->size, size));
	if (!e)
		e = put_end(g, t, TCP_CLIENT);
	return e ? e : put_end(g, t, TCP_SERVER);
}

int paint_connection(const struct paint *p)
{
	const struct run *r = p->view.run;
	struct grid g = { .n_columns = N_COLS, .gap = 2 };
	int e = 0;

	for (size_t k = 0; k < N_COLS; k++)
		g.column[k].head = heads[k];
	for (size_t i = 0; i < r->n_phases && !e; i++)
		if (transfer_largest(r, r->phase[i]->transfer->work, false) == r->phase[i])
			e = connection_put_work(&g, r->phase[i]->transfer);
	if (!e && g.n_rows) {
		paint_heading(
		    p, "The connection",
		    "  of each work's largest file: state in the warm-up, then what all\n"
		    "       iterations added: segments, sent again, time with data to send, of it\n"
		    "       held up by the other end's window or the own buffer");
		grid_fit(&g, p->width, drops, sizeof(drops) / sizeof(drops[0]));
		grid_put(&g, p);
	}
	grid_clear(&g);
	return e;
}
