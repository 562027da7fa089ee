/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Below the system calls: which AFP command causes disk I/O. The calls themselves: calls.c. */
#include "report/below.h"
#include "report/grid.h"
#include "run/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LITTLE 100 /* a command with less than this part of everything has no row of its own */

static const char *const item_texts[AFS_N_STORAGE_ITEMS] = {
#define X(name, key, text) text,
	AFS_STORAGE_ITEMS(X)
#undef X
};

enum show { SHOW_COUNT, SHOW_MB, SHOW_MEAN };

/* What a column shows; SHOW_MEAN: "field" divided by "by". */
static const struct show_column {
	const char *head;
	enum show show;
	enum afs_storage_field field, by;
} columns[] = {
#define F(field) AFS_STORAGE_##field
	{ "file reads", SHOW_COUNT, F(file_reads), 0 },
	{ "MB", SHOW_MB, F(file_read_bytes), 0 },
	{ "file writes", SHOW_COUNT, F(file_writes), 0 },
	{ "MB", SHOW_MB, F(file_write_bytes), 0 },
	{ "send- files", SHOW_COUNT, F(sendfiles), 0 },
	{ "MB", SHOW_MB, F(sendfile_bytes), 0 },
	{ "syncs", SHOW_COUNT, F(syncs), 0 },
	{ "mean", SHOW_MEAN, F(sync_ns), F(syncs) },
	{ "pages cached", SHOW_COUNT, F(cache_pages), 0 },
	{ "metadata pages", SHOW_COUNT, F(cache_meta_pages), 0 },
	{ "block reads", SHOW_COUNT, F(bio_reads), 0 },
	{ "MB", SHOW_MB, F(bio_read_bytes), 0 },
	{ "mean", SHOW_MEAN, F(bio_read_ns), F(bio_reads) },
	{ "block writes", SHOW_COUNT, F(bio_writes), 0 },
	{ "MB", SHOW_MB, F(bio_write_bytes), 0 },
	{ "mean", SHOW_MEAN, F(bio_write_ns), F(bio_writes) },
	{ "flushes", SHOW_COUNT, F(bio_flushes), 0 },
	{ "mean", SHOW_MEAN, F(bio_flush_ns), F(bio_flushes) },
	{ "discards", SHOW_COUNT, F(bio_others), 0 },
#undef F
};
#define N_SHOWN (sizeof(columns) / sizeof(columns[0]))

enum { COL_NAME, COL_ROLE, COL_SHOWN, COL_TIME = COL_SHOWN + N_SHOWN, COL_SHARE, N_COLS };

_Static_assert(N_COLS <= GRID_COLUMNS, "a grid has room for all columns");

/* What is left out when the terminal is too narrow, in this order; as in columns[]. */
static const unsigned int drops[] = {
	COL_SHOWN + 1,  COL_SHOWN + 3,  COL_SHOWN + 5,  /* MB of files */
	COL_SHOWN + 18, COL_SHOWN + 9,                  /* discards, metadata pages */
	COL_SHOWN + 2,  COL_SHOWN + 0,  COL_SHOWN + 4,  /* files */
	COL_SHOWN + 7,  COL_TIME,       COL_SHOWN + 8,  /* mean sync, block time, pages */
	COL_SHOWN + 17, COL_SHOWN + 15, COL_SHOWN + 14, /* mean flush; of writes: mean, MB */
	COL_SHOWN + 11,                                 /* MB of block reads */
};

/* A command, all roles together. */
struct below_command {
	unsigned int number;
	struct afs_storage sum;
};

struct below {
	const struct paint *p;
	const struct ledger *l;
	bool known[AFS_N_STORAGE];
	struct afs_storage all;
	size_t n;
	struct below_command *command; /* requests, the disks' most time first */
	struct grid g;
};

static uint64_t bios(const struct afs_storage *s)
{
	return s->bio_reads + s->bio_writes + s->bio_flushes + s->bio_others;
}

static uint64_t bio_ns(const struct afs_storage *s)
{
	return s->bio_read_ns + s->bio_write_ns + s->bio_flush_ns;
}

static uint64_t pages(const struct afs_storage *s)
{
	return s->cache_pages + s->cache_meta_pages;
}

static int long_below_by_weight(const void *a, const void *b)
{
	const struct below_command *x = a, *y = b;
	const uint64_t p[] = { bio_ns(&x->sum), bios(&x->sum), x->sum.sync_ns, pages(&x->sum),
			       x->sum.file_reads + x->sum.file_writes + x->sum.sendfiles };
	const uint64_t q[] = { bio_ns(&y->sum), bios(&y->sum), y->sum.sync_ns, pages(&y->sum),
			       y->sum.file_reads + y->sum.file_writes + y->sum.sendfiles };

	for (size_t i = 0; i < sizeof(p) / sizeof(p[0]); i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? 1 : -1;
	return (int)x->number - (int)y->number;
}

/* What is not known of all phases is 0. */
static struct afs_storage sum_of(const struct below *b, unsigned int role, unsigned int account)
{
	struct afs_storage sum = ledger_storage_sum(b->l, role, account);

	for (size_t i = 0; i < AFS_N_STORAGE; i++)
		if (!b->known[i])
			((__u64 *)&sum)[i] = 0;
	return sum;
}

/* 0 or -ENOMEM (then nothing is to be freed). */
static int below_init(struct below *b, const struct paint *p)
{
	const struct afs_storage none = { 0 };

	*b = (struct below) { .p = p, .l = &p->view.all, .g = { .n_columns = N_COLS, .gap = 2 } };
	b->command = calloc(AFS_ACCOUNT_BETWEEN, sizeof(*b->command));
	if (!b->command)
		return -ENOMEM;
	below_known(b->l, b->known);
	b->all = sum_of(b, LEDGER_ALL, LEDGER_ALL);
	for (unsigned int i = 0; i < AFS_ACCOUNT_BETWEEN; i++) {
		struct below_command c = { i, sum_of(b, LEDGER_ALL, i) };

		if (memcmp(&c.sum, &none, sizeof(none)) != 0)
			b->command[b->n++] = c;
	}
	qsort(b->command, b->n, sizeof(*b->command), long_below_by_weight);
	return 0;
}

static struct cell long_below_show(const struct show_column *c, const struct afs_storage *s)
{
	uint64_t v = below_get(s, c->field);

	if (!v)
		return (struct cell) { "-" };
	if (c->show == SHOW_MB)
		return v < 5000 ? (struct cell) { "<.01" } : cell_short((double)v / 1e6);
	if (c->show == SHOW_COUNT)
		return v < 1000000 ? cell_count(v) : cell_short((double)v);
	return below_get(s, c->by) ? cell_time((double)v / (double)below_get(s, c->by)) : cell_na();
}

/* A row with nothing in any column that is shown is left out. */
static int long_below_put_row(struct below *b, const char *name, const char *role,
			      const struct afs_storage *s)
{
	struct grid_row *row;
	bool any = false;

	for (size_t k = 0; k < N_SHOWN; k++)
		any |= !b->g.column[COL_SHOWN + k].off && below_get(s, columns[k].field);
	if (!any)
		return 0;
	row = grid_row(&b->g);
	if (!row)
		return -ENOMEM;
	snprintf(row->cell[COL_NAME].text, sizeof(row->cell[COL_NAME].text), "%s", name);
	snprintf(row->cell[COL_ROLE].text, sizeof(row->cell[COL_ROLE].text), "%s", role);
	for (size_t k = 0; k < N_SHOWN; k++)
		row->cell[COL_SHOWN + k] = long_below_show(&columns[k], s);
	if (!bio_ns(s)) {
		row->cell[COL_TIME] = row->cell[COL_SHARE] = (struct cell) { "-" };
		return 0;
	}
	row->cell[COL_TIME] = cell_time((double)bio_ns(s));
	row->cell[COL_SHARE] = cell_fixed(requests_percent(bio_ns(s), bio_ns(&b->all)), 1);
	return 0;
}

static int long_below_put_command(struct below *b, unsigned int number)
{
	char name[ACCOUNT_NAME_MAX];
	int e = 0;

	for (unsigned int role = 0; role < AFS_N_ROLES && !e; role++) {
		struct afs_storage s = sum_of(b, role, number);

		e = long_below_put_row(b, run_account_name(b->p->view.run, number, name),
				       view_role_name(b->p->view.run, role), &s);
	}
	return e;
}

static void long_below_add(struct afs_storage *to, const struct afs_storage *from)
{
	for (size_t i = 0; i < AFS_N_STORAGE; i++)
		((__u64 *)to)[i] += ((const __u64 *)from)[i];
}

static int long_below_put_outside(struct below *b)
{
	int e = 0;

	for (unsigned int role = 0; role < AFS_N_ROLES && !e; role++) {
		struct afs_storage sum = { 0 };

		for (unsigned int i = AFS_ACCOUNT_BETWEEN; i < AFS_N_ACCOUNTS; i++) {
			struct afs_storage s = sum_of(b, role, i);

			long_below_add(&sum, &s);
		}
		e = long_below_put_row(b, "outside requests", view_role_name(b->p->view.run, role),
				       &sum);
	}
	return e;
}

static bool long_below_is_little(const struct afs_storage *s, const struct afs_storage *all)
{
	const uint64_t part[] = { bio_ns(s), bios(s), s->syncs, pages(s) };
	const uint64_t whole[] = { bio_ns(all), bios(all), all->syncs, pages(all) };

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		if (part[i] && part[i] >= whole[i] / LITTLE)
			return false;
	return true;
}

static int long_below_fill(struct below *b)
{
	struct afs_storage rest = { 0 };
	size_t others = 0;
	char name[32];
	int e = 0;

	for (size_t i = 0; i < b->n; i++)
		others += long_below_is_little(&b->command[i].sum, &b->all);
	if (others == 1)
		others = 0;
	for (size_t i = 0; i < b->n && !e; i++) {
		if (others && long_below_is_little(&b->command[i].sum, &b->all))
			long_below_add(&rest, &b->command[i].sum);
		else
			e = long_below_put_command(b, b->command[i].number);
	}
	snprintf(name, sizeof(name), "%zu others", others);
	if (!e)
		e = long_below_put_row(b, name, "", &rest);
	if (!e)
		e = long_below_put_outside(b);
	return !e && b->g.n_rows > 1 ? long_below_put_row(b, "all", "", &b->all) : e;
}

static int long_below_put_table(struct below *b)
{
	int e;

	b->g.column[COL_NAME].head = "command";
	b->g.column[COL_ROLE] = (struct grid_column) { .head = "process", .left = true };
	for (size_t k = 0; k < N_SHOWN; k++)
		b->g.column[COL_SHOWN + k] = (struct grid_column) {
			.head = columns[k].head,
			.off = !below_get(&b->all, columns[k].field),
		};
	b->g.column[COL_TIME] = (struct grid_column) { .head = "block time",
						       .off = !bio_ns(&b->all) };
	b->g.column[COL_SHARE] = (struct grid_column) { .head = "time%", .off = !bio_ns(&b->all) };
	e = long_below_fill(b);
	if (!e) {
		grid_fit(&b->g, b->p->width, drops, sizeof(drops) / sizeof(drops[0]));
		/* Once more, to drop rows with values only in columns that were left out. */
		grid_clear(&b->g);
		e = long_below_fill(b);
	}
	if (!e && b->g.n_rows)
		grid_put(&b->g, b->p);
	grid_clear(&b->g);
	return e;
}

/* The answers before the table */

/* ", fsync of cnid_dbd 12.0 %", unless it would round to 0. */
static void print_share(FILE *to, const char **comma, const char *what, uint64_t ns, uint64_t all)
{
	double percent = requests_percent(ns, all);

	if (percent < 0.05)
		return;
	fprintf(to, "%s%s" GLUE "%.1f" GLUE "%%", *comma, what, percent);
	*comma = ", ";
}

static int put_waited(const struct below *b)
{
	struct requests r;
	uint64_t disk, log, all, sum;
	const __u64 *inside;
	const char *comma = ": ";
	char *text = NULL, fsync[64];
	size_t len;
	FILE *to;

	if (!b->l->has_requests || !run_is_by_session(b->p->view.run))
		return 0;
	to = open_memstream(&text, &len);
	if (!to || requests_init(&r, b->l)) {
		if (to)
			fclose(to);
		free(text);
		return -ENOMEM;
	}
	all = r.all.service_ns;
	inside = r.all.a.sum.inside;
	disk = r.all.time_ns[ACCOUNT_DISK];
	log = r.all.time_ns[ACCOUNT_LOG];
	sum = disk + log + inside[AFS_INSIDE_SYNC] + inside[AFS_INSIDE_IO];
	fprintf(to, "%.1f" GLUE "%% of the requests' time blocked where a disk can be the reason",
		requests_percent(sum, all));
	print_share(to, &comma, "files", disk, all);
	print_share(to, &comma, "log", log, all);
	snprintf(fsync, sizeof(fsync), "%s's" GLUE "fsync",
		 view_role_name(b->p->view.run, AFS_ROLE_BACKEND));
	print_share(to, &comma, fsync, inside[AFS_INSIDE_SYNC], all);
	print_share(to, &comma, "its" GLUE "other" GLUE "I/O", inside[AFS_INSIDE_IO], all);
	requests_fini(&r);
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	if (all)
		put_wrapped(b->p->out, "  Disk", text, b->p->width);
	free(text);
	return 0;
}

/* "1,234 reads of 5.0 MB" */
static void print_bios(FILE *to, const char **comma, const char *what, uint64_t n, uint64_t bytes)
{
	if (!n)
		return;
	fprintf(to, "%s%s" GLUE "%s", *comma, cell_count(n).text, what);
	if (bytes)
		fprintf(to, " (%s" GLUE "MB)", cell_short((double)bytes / 1e6).text);
	*comma = ", ";
}

static void print_nothing(const struct below *b, FILE *to)
{
	const struct afs_storage *s = &b->all;
	bool idle = b->known[AFS_STORAGE_file_reads] && !s->file_reads && !s->sendfiles;

	fputs("nothing reached a block device", to);
	if (b->known[AFS_STORAGE_cache_pages] && !pages(s) && !idle)
		fputs("; all reads came from the page cache", to);
}

static void print_block(const struct below *b, FILE *to)
{
	const struct afs_storage *s = &b->all, *most = b->n ? &b->command[0].sum : NULL;
	char name[ACCOUNT_NAME_MAX];
	const char *comma = "";

	print_bios(to, &comma, "reads", s->bio_reads, s->bio_read_bytes);
	print_bios(to, &comma, "writes", s->bio_writes, s->bio_write_bytes);
	print_bios(to, &comma, "flushes", s->bio_flushes, 0);
	print_bios(to, &comma, "discards" GLUE "and" GLUE "the" GLUE "like", s->bio_others, 0);
	if (!bio_ns(s))
		return;
	fprintf(to, "; %s in all", cell_time((double)bio_ns(s)).text);
	if (most && bio_ns(most))
		fprintf(to, ", most for %s (%.1f" GLUE "%%)",
			run_account_name(b->p->view.run, b->command[0].number, name),
			requests_percent(bio_ns(most), bio_ns(s)));
	if (s->bio_done < bios(s) - s->bio_others - bios(s) / 100)
		fprintf(to, "; only" GLUE "%s of them timed", cell_count(s->bio_done).text);
}

static int put_block(const struct below *b)
{
	char *text = NULL;
	size_t len;
	FILE *to;

	if (!b->known[AFS_STORAGE_bio_reads])
		return 0;
	to = open_memstream(&text, &len);
	if (!to)
		return -ENOMEM;
	if (bios(&b->all))
		print_block(b, to);
	else
		print_nothing(b, to);
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	put_wrapped(b->p->out, "  Block I/O", text, b->p->width);
	free(text);
	return 0;
}

/* Items that could not be observed; the reasons are in the head of the report. */
static void put_not_seen(const struct below *b)
{
	char text[64 * AFS_N_STORAGE_ITEMS] = "";
	size_t len = 0;

	for (int i = 0; i < AFS_N_STORAGE_ITEMS; i++)
		if (!b->l->has_item[i])
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						len ? ", " : "", item_texts[i]);
	if (!len)
		return;
	snprintf(text + len, sizeof(text) - len, " (why: \"Observed by\", above)");
	put_wrapped(b->p->out, "  Not seen", text, b->p->width);
}

static bool any_item(const struct ledger *l)
{
	for (int i = 0; i < AFS_N_STORAGE_ITEMS; i++)
		if (l->has_storage && l->has_item[i])
			return true;
	return false;
}

static void put_na(const struct paint *p)
{
	const char *why = rungs_why(p->view.run, "storage");
	const struct ledger *l = &p->view.all;

	if (!l->has_requests && !strcmp(why, rungs_why(p->view.run, "requests"))) {
		paint_heading(p, "Below the system calls: n/a", " (for the same reason)");
		return;
	}
	paint_heading(p, "Below the system calls: n/a", "");
	if (l->has_storage)
		why = "nothing of it can be observed here (why: \"Observed by\", above)";
	put_wrapped(p->out, "  because", why, p->width);
}

int paint_below(const struct paint *p)
{
	struct below b;
	int e;

	if (!any_item(&p->view.all)) {
		put_na(p);
		return 0;
	}
	e = below_init(&b, p);
	if (e)
		return e;
	paint_heading(p, "Below the system calls",
		      "  what reached files, page cache, block devices;\n"
		      "       block time: queued to done, summed, with read-ahead, but without\n"
		      "       what kernel threads write back later");
	e = put_waited(&b);
	if (!e)
		e = put_block(&b);
	if (!e && (bios(&b.all) || pages(&b.all) || b.all.syncs))
		e = long_below_put_table(&b);
	if (!e)
		put_not_seen(&b);
	free(b.command);
	return e;
}
