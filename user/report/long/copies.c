/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the server copies a file, compared with a copy through the client. */
#include "report/section.h"
#include "report/transfer.h"

#include <errno.h>
#include <string.h>

#define MOST 0.9 /* of the bytes moved: "every byte" */

struct copy {
	const struct run_phase *phase; /* NULL: there was none */
	struct transfer_cost c;
	double gigas; /* moved; 0: nothing is known */
	double ns;    /* median x iterations, as in the table of transfers */
};

/* ServerCopy, and Copy of the same size or else the largest. */
struct copies {
	struct copy server, client;
	struct transfer_unit unit;
};

static int copy_make(struct copy *out, const struct run_phase *phase, double giga)
{
	struct stats s;
	int e;

	*out = (struct copy) { .phase = phase };
	if (!phase)
		return 0;
	transfer_cost(phase, &out->c);
	if (out->c.bytes.known)
		out->gigas = out->c.bytes.v / giga;
	e = transfer_stats(phase->transfer, &s);
	out->ns = s.median * (double)s.n;
	return e;
}

static int copies_make(struct copies *out, const struct run *r)
{
	const struct run_phase *server = transfer_largest(r, "ServerCopy", true);
	const struct run_phase *client = transfer_largest(r, "Copy", true);
	int e;

	for (size_t i = 0; i < r->n_phases && server; i++) {
		const struct run_transfer *t = r->phase[i]->transfer;

		if (!strcmp(t->work, "Copy") && t->size == server->transfer->size &&
		    r->phase[i]->complete)
			client = r->phase[i];
	}
	out->unit = transfer_unit(r);
	e = copy_make(&out->server, server, out->unit.giga);
	return e ? e : copy_make(&out->client, client, out->unit.giga);
}

/* Rows of the table: what, and a value per gigabyte. */

enum as { AS_COUNT, AS_BYTES, AS_TIME };

static struct amount known_if(bool known, double v)
{
	return (struct amount) { known, v };
}

static struct amount copies_figure(const struct copy *x, size_t row)
{
	const struct transfer_cost *c = &x->c;
	bool f = c->has_files;

	switch (row) {
	case 0:
		return known_if(x->ns > 0, x->ns);
	case 1:
		return c->ops;
	case 2:
		return c->calls;
	case 3:
		return known_if(f, (double)c->read.bytes);
	case 4:
		return known_if(f, (double)c->write.bytes);
	case 5:
		return known_if(f, (double)c->sendfile.bytes);
	case 6:
		return known_if(f, (double)c->range.bytes);
	case 7:
		return c->client_cpu;
	case 8:
		return c->server_cpu;
	case 9:
		return known_if(f, (double)c->read.ns);
	case 10:
		return known_if(f, (double)c->write.ns);
	default:
		return known_if(c->has_times, (double)c->column[ACCOUNT_DISK]);
	}
}

static const struct {
	const char *what;
	enum as as;
} rows[] = {
	{ "time (of the median)", AS_TIME },
	{ "{protocol} commands", AS_COUNT },
	{ "system calls of {server}", AS_COUNT },
	{ "read from the file", AS_BYTES },
	{ "written to the file", AS_BYTES },
	{ "sent by sendfile", AS_BYTES },
	{ "by copy_file_range and the like", AS_BYTES },
	{ "the client's CPU time", AS_TIME },
	{ "{server}'s CPU time", AS_TIME },
	{ "{server} in read", AS_TIME },
	{ "{server} in write", AS_TIME },
	{ "{server} waiting for files", AS_TIME },
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static struct cell copies_value(const struct copies *two, const struct copy *x, size_t row)
{
	struct amount a = copies_figure(x, row);
	double v = x->gigas > 0 ? a.v / x->gigas : 0;
	struct cell c = { .kind = CELL_NUMBER, .v = v, .unit = "B" };

	if (!a.known || x->gigas <= 0)
		return cell_na();
	if (rows[row].as == AS_TIME)
		return a.v > 0 ? cell_time(v) : cell_zero();
	if (rows[row].as == AS_COUNT)
		return v < 100 ? cell_short(v) : cell_count((uint64_t)(v + 0.5));
	if (a.v <= 0)
		return cell_zero();
	snprintf(c.text, sizeof(c.text), "%.3f %s", v / two->unit.giga, two->unit.gb);
	return c;
}

static const struct section_column columns[] = {
	{ .name = "what" },
	{ .name = "server_copy" },
	{ .name = "copy" },
};

static const struct section_type copies_section = {
	.key = "copies",
	.title = "ServerCopy explained",
	SECTION_OF(columns),
	.gap = 3,
};

/* One blank is where a head is cut in two. */
static void copies_head(char *head, size_t len, const char *work, const struct copy *x)
{
	char size[RUN_SIZE_MAX];

	snprintf(head, len, "%s %s", work, run_size(x->phase->transfer->size, size));
	*strrchr(head, ' ') = GLUE[0];
}

static void copies_put_table(struct section *s, const struct copies *two)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		struct cell *cell = section_row(s)->cell;
		char what[sizeof(cell->text)];

		cell[0] = cell_name(run_text(s->p->view.run, rows[i].what, what, sizeof(what)));
		cell[1] = copies_value(two, &two->server, i);
		if (two->client.phase)
			cell[2] = copies_value(two, &two->client, i);
	}
}

/* How often one copy makes this call, when that is a whole number; else 0. */
static uint64_t calls_of_one(const struct copy *x, const struct transfer_calls *c)
{
	uint64_t files = (uint64_t)(x->c.bytes.v / (double)x->phase->transfer->moved + 0.5);

	return files && c->calls % files == 0 ? c->calls / files : 0;
}

/*
 * "4 reads of 262,144 bytes" for one file; parts: the number of calls, if known. One more call
 * finds the end of the file. If the calls' sizes differ, only the sum is given: "65 reads, 64.0
 * MiB".
 */
static void copies_say_calls(struct section *s, const struct copies *two,
			     const struct transfer_calls *c, const char *what, uint64_t parts)
{
	const struct copy *x = &two->server;
	double files = x->c.bytes.v / (double)x->phase->transfer->moved;
	uint64_t n = calls_of_one(x, c), full = n == parts + 1 ? parts : n;
	uint64_t copies = (uint64_t)(files + 0.5);

	if (full > 1 && c->bytes % (full * copies))
		full = n - 1;
	if (full && c->bytes % (full * copies) == 0) {
		section_more(s, "%s" GLUE "%s%s of %s" GLUE "bytes", cell_count(full).text, what,
			     full == 1 ? "" : "s", cell_count(c->bytes / (full * copies)).text);
		if (full < n)
			section_more(s, " and 1" GLUE "that finds the end");
		return;
	}
	section_more(s, "%s" GLUE "%ss, %.1f" GLUE "%s",
		     n ? cell_count(n).text : cell_short((double)c->calls / files).text, what,
		     (double)c->bytes / files / two->unit.mega, two->unit.mb);
}

/* The sentence that sums up the table. */
static void copies_say_how(struct section *s, const struct copies *two)
{
	const struct copy *x = &two->server;
	const struct transfer_cost *c = &x->c;
	double all = c->bytes.v;

	if (!c->has_files || !c->bytes.known || all <= 0) {
		section_more(
		    s,
		    "How {server} copies was not seen: its calls were not counted with their bytes.");
		return;
	}
	if ((double)c->range.bytes >= MOST * all) {
		section_more(s, "{server} has the kernel copy (copy_file_range): ");
		copies_say_calls(s, two, &c->range, "call", 0);
		section_more(s, " for a file; no byte goes through its memory.");
	} else if ((double)c->read.bytes >= MOST * all && (double)c->write.bytes >= MOST * all) {
		section_more(s, "{server} copies by read and write: ");
		copies_say_calls(s, two, &c->read, "read", calls_of_one(x, &c->write));
		section_more(s, ", ");
		copies_say_calls(s, two, &c->write, "write", calls_of_one(x, &c->write));
		section_more(s,
			     " for a file; every byte goes through its memory, in and out again.");
	} else if ((double)(c->read.bytes + c->write.bytes + c->range.bytes) < (1 - MOST) * all) {
		section_more(
		    s,
		    "No read, write or copy_file_range moved the data: the file system shares or "
		    "clones it, or another process copied.");
	} else {
		section_more(
		    s,
		    "{server} copies in more than one way: %.0f %% of the bytes were read, %.0f %% "
		    "written, %.0f %% went by copy_file_range.",
		    100 * (double)c->read.bytes / all, 100 * (double)c->write.bytes / all,
		    100 * (double)c->range.bytes / all);
	}
}

static void copies_say_beside(struct section *s, const struct copies *two)
{
	const struct copy *own = &two->server, *c = &two->client;

	if (!c->phase || own->gigas <= 0 || c->gigas <= 0 || c->ns <= 0)
		return;
	section_more(s, " Beside Copy it takes %.0f" GLUE "%% of the time",
		     100 * (own->ns / own->gigas) / (c->ns / c->gigas));
	if (own->c.server_cpu.known && c->c.server_cpu.known && c->c.server_cpu.v > 0)
		section_more(s, ", %.0f" GLUE "%% of {server}'s CPU",
			     100 * (own->c.server_cpu.v / own->gigas) /
				 (c->c.server_cpu.v / c->gigas));
	if (own->c.client_cpu.known && c->c.client_cpu.known && c->c.client_cpu.v > 0)
		section_more(s, ", %.2g" GLUE "%% of the client's",
			     100 * (own->c.client_cpu.v / own->gigas) /
				 (c->c.client_cpu.v / c->gigas));
	section_more(s, ".");
}

int paint_copies(const struct paint *p)
{
	char rest[64], head[2][RUN_SIZE_MAX + 16];
	struct section s;
	struct copies two;

	if (copies_make(&two, p->view.run))
		return -ENOMEM;
	if (!two.server.phase)
		return 0;
	section_open(&s, p, &copies_section);
	snprintf(rest, sizeof(rest), "  for each %s copied", two.unit.gb);
	s.rest = rest;
	copies_head(head[0], sizeof(head[0]), "ServerCopy", &two.server);
	s.column[1].head = head[0];
	s.column[2].off = !two.client.phase;
	if (two.client.phase) {
		copies_head(head[1], sizeof(head[1]), "Copy", &two.client);
		s.column[2].head = head[1];
	}
	copies_put_table(&s, &two);
	section_text(&s, INK_NONE, "%s", "");
	section_below(&s);
	section_indented(&s, "", 2);
	copies_say_how(&s, &two);
	copies_say_beside(&s, &two);
	return section_close(&s);
}
