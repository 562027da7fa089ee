/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the server copies a file, compared with a copy through the client. */
#include "report/grid.h"
#include "report/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SAID_MAX 2000 /* bytes of the sentences */
#define MOST     0.9  /* of the bytes moved: "every byte" */

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
	{ "{server} waiting for disk", AS_TIME },
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static struct cell copies_value(const struct copies *two, const struct copy *x, size_t row)
{
	struct amount a = copies_figure(x, row);
	double v = x->gigas > 0 ? a.v / x->gigas : 0;
	struct cell c;

	if (!a.known || x->gigas <= 0)
		return cell_na();
	if (rows[row].as == AS_TIME)
		return a.v > 0 ? cell_time(v) : (struct cell) { "-" };
	if (rows[row].as == AS_COUNT)
		return v < 100 ? cell_short(v) : cell_count((uint64_t)(v + 0.5));
	if (a.v <= 0)
		return (struct cell) { "-" };
	snprintf(c.text, sizeof(c.text), "%.3f %s", v / two->unit.giga, two->unit.gb);
	return c;
}

static int copies_put_table(const struct paint *p, const struct copies *two)
{
	struct grid g = { .n_columns = 3, .gap = 3 };
	struct grid_row *row;
	char size[2][RUN_SIZE_MAX], head[2][RUN_SIZE_MAX + 16];

	run_size(two->server.phase->transfer->size, size[0]);
	snprintf(head[0], sizeof(head[0]), "ServerCopy %s", size[0]);
	/* One blank is where a head is cut in two. */
	*strrchr(head[0], ' ') = GLUE[0];
	g.column[1].head = head[0];
	g.column[2].off = !two->client.phase;
	if (two->client.phase) {
		run_size(two->client.phase->transfer->size, size[1]);
		snprintf(head[1], sizeof(head[1]), "Copy %s", size[1]);
		*strrchr(head[1], ' ') = GLUE[0];
		g.column[2].head = head[1];
	}
	for (size_t i = 0; i < N_ROWS; i++) {
		row = grid_row(&g);
		if (!row) {
			grid_clear(&g);
			return -ENOMEM;
		}
		run_text(p->view.run, rows[i].what, row->cell[0].text, sizeof(row->cell[0].text));
		row->cell[1] = copies_value(two, &two->server, i);
		if (two->client.phase)
			row->cell[2] = copies_value(two, &two->client, i);
	}
	grid_put(&g, p);
	grid_clear(&g);
	return 0;
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
static void print_calls(FILE *to, const struct copies *two, const struct transfer_calls *c,
			const char *what, uint64_t parts)
{
	const struct copy *x = &two->server;
	double files = x->c.bytes.v / (double)x->phase->transfer->moved;
	uint64_t n = calls_of_one(x, c), full = n == parts + 1 ? parts : n;
	uint64_t copies = (uint64_t)(files + 0.5);

	if (full > 1 && c->bytes % (full * copies))
		full = n - 1;
	if (full && c->bytes % (full * copies) == 0) {
		fprintf(to, "%s" GLUE "%s%s of %s" GLUE "bytes", cell_count(full).text, what,
			full == 1 ? "" : "s", cell_count(c->bytes / (full * copies)).text);
		if (full < n)
			fputs(" and 1" GLUE "that finds the end", to);
		return;
	}
	fprintf(to, "%s" GLUE "%ss, %.1f" GLUE "%s",
		n ? cell_count(n).text : cell_short((double)c->calls / files).text, what,
		(double)c->bytes / files / two->unit.mega, two->unit.mb);
}

/* The sentence that sums up the table. */
static void print_how(FILE *to, const struct copies *two)
{
	const struct copy *x = &two->server;
	const struct transfer_cost *c = &x->c;
	double all = c->bytes.v;

	if (!c->has_files || !c->bytes.known || all <= 0) {
		fputs(
		    "How {server} copies was not seen: its calls were not counted with their bytes.",
		    to);
		return;
	}
	if ((double)c->range.bytes >= MOST * all) {
		fputs("{server} has the kernel copy (copy_file_range): ", to);
		print_calls(to, two, &c->range, "call", 0);
		fputs(" for a file; no byte goes through its memory.", to);
	} else if ((double)c->read.bytes >= MOST * all && (double)c->write.bytes >= MOST * all) {
		fputs("{server} copies by read and write: ", to);
		print_calls(to, two, &c->read, "read", calls_of_one(x, &c->write));
		fputs(", ", to);
		print_calls(to, two, &c->write, "write", calls_of_one(x, &c->write));
		fputs(" for a file; every byte goes through its memory, in and out again.", to);
	} else if ((double)(c->read.bytes + c->write.bytes + c->range.bytes) < (1 - MOST) * all) {
		fputs("No read, write or copy_file_range moved the data: the file system shares or "
		      "clones it, or another process copied.",
		      to);
	} else {
		fprintf(
		    to,
		    "{server} copies in more than one way: %.0f %% of the bytes were read, %.0f %% "
		    "written, %.0f %% went by copy_file_range.",
		    100 * (double)c->read.bytes / all, 100 * (double)c->write.bytes / all,
		    100 * (double)c->range.bytes / all);
	}
}

static void print_beside(FILE *to, const struct copies *two)
{
	const struct copy *s = &two->server, *c = &two->client;

	if (!c->phase || s->gigas <= 0 || c->gigas <= 0 || c->ns <= 0)
		return;
	fprintf(to, " Beside Copy it takes %.0f" GLUE "%% of the time",
		100 * (s->ns / s->gigas) / (c->ns / c->gigas));
	if (s->c.server_cpu.known && c->c.server_cpu.known && c->c.server_cpu.v > 0)
		fprintf(to, ", %.0f" GLUE "%% of {server}'s CPU",
			100 * (s->c.server_cpu.v / s->gigas) / (c->c.server_cpu.v / c->gigas));
	if (s->c.client_cpu.known && c->c.client_cpu.known && c->c.client_cpu.v > 0)
		fprintf(to, ", %.2g" GLUE "%% of the client's",
			100 * (s->c.client_cpu.v / s->gigas) / (c->c.client_cpu.v / c->gigas));
	fputc('.', to);
}

int paint_copies(const struct paint *p)
{
	struct copies two;
	char *text = NULL, rest[64], said[SAID_MAX];
	size_t len;
	FILE *to;
	int e;

	if (copies_make(&two, p->view.run))
		return -ENOMEM;
	if (!two.server.phase)
		return 0;
	to = open_memstream(&text, &len);
	if (!to)
		return -ENOMEM;
	print_how(to, &two);
	print_beside(to, &two);
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	snprintf(rest, sizeof(rest), "  for each %s copied", two.unit.gb);
	paint_heading(p, "ServerCopy explained", rest);
	e = copies_put_table(p, &two);
	fputc('\n', p->out);
	put_indented(p->out, "", run_text(p->view.run, text, said, sizeof(said)), 2, p->width);
	free(text);
	return e;
}
