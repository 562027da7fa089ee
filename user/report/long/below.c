/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Below the system calls: which AFP command causes disk I/O. The calls themselves: calls.c. */
#include "report/below.h"
#include "report/section.h"
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

/* What a column shows; SHOW_MEAN: "field" divided by "by". drop: as in struct section_column. */
static const struct show_column {
	const char *head, *name;
	enum show show;
	enum afs_storage_field field, by;
	unsigned int drop;
} shown[] = {
#define F(field) AFS_STORAGE_##field
	{ "file reads", NULL, SHOW_COUNT, F(file_reads), 0, 7 },
	{ "MB", "file_read_mb", SHOW_MB, F(file_read_bytes), 0, 1 },
	{ "file writes", NULL, SHOW_COUNT, F(file_writes), 0, 6 },
	{ "MB", "file_write_mb", SHOW_MB, F(file_write_bytes), 0, 2 },
	{ "send- files", "sendfiles", SHOW_COUNT, F(sendfiles), 0, 8 },
	{ "MB", "sendfile_mb", SHOW_MB, F(sendfile_bytes), 0, 3 },
	{ "syncs", NULL, SHOW_COUNT, F(syncs), 0, 0 },
	{ "mean", "sync_mean", SHOW_MEAN, F(sync_ns), F(syncs), 9 },
	{ "pages cached", NULL, SHOW_COUNT, F(cache_pages), 0, 11 },
	{ "metadata pages", NULL, SHOW_COUNT, F(cache_meta_pages), 0, 5 },
	{ "block reads", NULL, SHOW_COUNT, F(bio_reads), 0, 0 },
	{ "MB", "block_read_mb", SHOW_MB, F(bio_read_bytes), 0, 15 },
	{ "mean", "block_read_mean", SHOW_MEAN, F(bio_read_ns), F(bio_reads), 0 },
	{ "block writes", NULL, SHOW_COUNT, F(bio_writes), 0, 0 },
	{ "MB", "block_write_mb", SHOW_MB, F(bio_write_bytes), 0, 14 },
	{ "mean", "block_write_mean", SHOW_MEAN, F(bio_write_ns), F(bio_writes), 13 },
	{ "flushes", NULL, SHOW_COUNT, F(bio_flushes), 0, 0 },
	{ "mean", "flush_mean", SHOW_MEAN, F(bio_flush_ns), F(bio_flushes), 12 },
	{ "discards", NULL, SHOW_COUNT, F(bio_others), 0, 4 },
#undef F
};
#define N_SHOWN    (sizeof(shown) / sizeof(shown[0]))
#define BLOCK_TIME 10 /* the drop of the column */

enum { COL_NAME, COL_ROLE, COL_SHOWN, COL_TIME = COL_SHOWN + N_SHOWN, COL_SHARE };

static const struct section_column columns[] = {
	[COL_NAME] = { .head = "command" },
	[COL_ROLE] = { .head = "process", .left = true },
	[COL_TIME] = { .head = "block time", .drop = BLOCK_TIME },
	[COL_SHARE] = { .head = "time%", .name = "time", .unit = "%" },
};

static const struct section_type below_section = {
	.key = "below",
	.title = "Below the system calls",
	.rest = "  what reached files, page cache, block devices;\n"
		"       block time: queued to done, summed, with read-ahead, but without\n"
		"       what kernel threads write back later",
	SECTION_OF(columns),
};

static const struct section_type below_unknown = {
	.key = "below",
	.title = "Below the system calls: n/a",
};

/* A command, all roles together. */
struct below_command {
	unsigned int number;
	struct afs_storage sum;
};

struct below {
	struct section s;
	const struct ledger *l;
	bool known[AFS_N_STORAGE];
	struct afs_storage all;
	size_t n;
	struct below_command *command; /* requests, the disks' most time first */
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

	b->l = &p->view.all;
	b->n = 0;
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
	section_open(&b->s, p, &below_section);
	return 0;
}

static struct cell long_below_show(const struct show_column *c, const struct afs_storage *s)
{
	uint64_t v = below_get(s, c->field);

	if (!v)
		return cell_zero();
	if (c->show == SHOW_MB)
		return v < 5000 ? cell_little((double)v / 1e6) : cell_short((double)v / 1e6);
	if (c->show == SHOW_COUNT)
		return v < 1000000 ? cell_count(v) : cell_short((double)v);
	return below_get(s, c->by) ? cell_time((double)v / (double)below_get(s, c->by)) : cell_na();
}

/* A row with nothing in any column that is shown is left out. */
static void long_below_put_row(struct below *b, const char *name, const char *role,
			       const struct afs_storage *s)
{
	struct cell *cell;
	bool any = false;

	for (size_t k = 0; k < N_SHOWN; k++)
		any |= !b->s.column[COL_SHOWN + k].off && below_get(s, shown[k].field);
	if (!any)
		return;
	cell = section_row(&b->s)->cell;
	cell[COL_NAME] = cell_name(name);
	cell[COL_ROLE] = cell_name(role);
	for (size_t k = 0; k < N_SHOWN; k++)
		cell[COL_SHOWN + k] = long_below_show(&shown[k], s);
	cell[COL_TIME] = cell[COL_SHARE] = cell_zero();
	if (!bio_ns(s))
		return;
	cell[COL_TIME] = cell_time((double)bio_ns(s));
	cell[COL_SHARE] = cell_fixed(requests_percent(bio_ns(s), bio_ns(&b->all)), 1);
}

static void long_below_put_command(struct below *b, unsigned int number)
{
	const struct run *r = b->s.p->view.run;
	char name[ACCOUNT_NAME_MAX];

	for (unsigned int role = 0; role < AFS_N_ROLES; role++) {
		struct afs_storage s = sum_of(b, role, number);

		long_below_put_row(b, run_account_name(r, number, name), view_role_name(r, role),
				   &s);
	}
}

static void long_below_add(struct afs_storage *to, const struct afs_storage *from)
{
	for (size_t i = 0; i < AFS_N_STORAGE; i++)
		((__u64 *)to)[i] += ((const __u64 *)from)[i];
}

static void long_below_put_outside(struct below *b)
{
	for (unsigned int role = 0; role < AFS_N_ROLES; role++) {
		struct afs_storage sum = { 0 };

		for (unsigned int i = AFS_ACCOUNT_BETWEEN; i < AFS_N_ACCOUNTS; i++) {
			struct afs_storage s = sum_of(b, role, i);

			long_below_add(&sum, &s);
		}
		long_below_put_row(b, "outside requests", view_role_name(b->s.p->view.run, role),
				   &sum);
	}
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

static void long_below_fill(struct section *s)
{
	struct below *b = s->of;
	struct afs_storage rest = { 0 };
	size_t others = 0;
	char name[32];

	for (size_t i = 0; i < b->n; i++)
		others += long_below_is_little(&b->command[i].sum, &b->all);
	if (others == 1)
		others = 0;
	for (size_t i = 0; i < b->n; i++) {
		if (others && long_below_is_little(&b->command[i].sum, &b->all))
			long_below_add(&rest, &b->command[i].sum);
		else
			long_below_put_command(b, b->command[i].number);
	}
	snprintf(name, sizeof(name), "%zu others", others);
	long_below_put_row(b, name, "", &rest);
	long_below_put_outside(b);
	if (s->n_rows > 1)
		long_below_put_row(b, "all", "", &b->all);
}

static void long_below_table(struct below *b)
{
	struct section_column *column = b->s.column;

	for (size_t k = 0; k < N_SHOWN; k++)
		column[COL_SHOWN + k] = (struct section_column) {
			.head = shown[k].head,
			.name = shown[k].name,
			.unit = shown[k].show == SHOW_MB ? "MB" : NULL,
			.drop = shown[k].drop,
			.off = !below_get(&b->all, shown[k].field),
		};
	column[COL_TIME].off = column[COL_SHARE].off = !bio_ns(&b->all);
	b->s.fill = long_below_fill;
	b->s.of = b;
}

/* The answers before the table */

/* ", fsync of cnid_dbd 12.0 %", unless it would round to 0. */
static void say_share(struct section *s, const char **comma, const char *what, uint64_t ns,
		      uint64_t all)
{
	double percent = requests_percent(ns, all);

	if (percent < 0.05)
		return;
	section_more(s, "%s%s" GLUE "%.1f" GLUE "%%", *comma, what, percent);
	*comma = ", ";
}

static int say_waited(struct below *b)
{
	struct section *s = &b->s;
	uint64_t disk, log, all, sum;
	const char *comma = ": ";
	struct requests r;
	const __u64 *inside;
	char fsync[64];

	if (!b->l->has_requests || !run_is_by_session(s->p->view.run))
		return 0;
	if (requests_init(&r, b->l))
		return -ENOMEM;
	all = r.all.service_ns;
	inside = r.all.a.sum.inside;
	disk = r.all.time_ns[ACCOUNT_DISK];
	log = r.all.time_ns[ACCOUNT_LOG];
	sum = disk + log + inside[AFS_INSIDE_SYNC] + inside[AFS_INSIDE_IO];
	if (all) {
		section_note(s, "Disk",
			     "%.1f" GLUE
			     "%% of the requests' time blocked where a disk can be the reason",
			     requests_percent(sum, all));
		say_share(s, &comma, "files", disk, all);
		say_share(s, &comma, "log", log, all);
		snprintf(fsync, sizeof(fsync), "%s's" GLUE "fsync",
			 view_role_name(s->p->view.run, AFS_ROLE_BACKEND));
		say_share(s, &comma, fsync, inside[AFS_INSIDE_SYNC], all);
		say_share(s, &comma, "its" GLUE "other" GLUE "I/O", inside[AFS_INSIDE_IO], all);
	}
	requests_fini(&r);
	return 0;
}

/* "1,234 reads of 5.0 MB" */
static void say_bios(struct section *s, const char **comma, const char *what, uint64_t n,
		     uint64_t bytes)
{
	if (!n)
		return;
	section_more(s, "%s%s" GLUE "%s", *comma, cell_count(n).text, what);
	if (bytes)
		section_more(s, " (%s" GLUE "MB)", cell_short((double)bytes / 1e6).text);
	*comma = ", ";
}

static void say_nothing(struct below *b)
{
	const struct afs_storage *all = &b->all;
	bool idle = b->known[AFS_STORAGE_file_reads] && !all->file_reads && !all->sendfiles;

	section_more(&b->s, "nothing reached a block device");
	if (b->known[AFS_STORAGE_cache_pages] && !pages(all) && !idle)
		section_more(&b->s, "; all reads came from the page cache");
}

static void say_block(struct below *b)
{
	const struct afs_storage *all = &b->all, *most = b->n ? &b->command[0].sum : NULL;
	struct section *s = &b->s;
	char name[ACCOUNT_NAME_MAX];
	const char *comma = "";

	say_bios(s, &comma, "reads", all->bio_reads, all->bio_read_bytes);
	say_bios(s, &comma, "writes", all->bio_writes, all->bio_write_bytes);
	say_bios(s, &comma, "flushes", all->bio_flushes, 0);
	say_bios(s, &comma, "discards" GLUE "and" GLUE "the" GLUE "like", all->bio_others, 0);
	if (!bio_ns(all))
		return;
	section_more(s, "; %s in all", cell_time((double)bio_ns(all)).text);
	if (most && bio_ns(most))
		section_more(s, ", most for %s (%.1f" GLUE "%%)",
			     run_account_name(s->p->view.run, b->command[0].number, name),
			     requests_percent(bio_ns(most), bio_ns(all)));
	if (all->bio_done < bios(all) - all->bio_others - bios(all) / 100)
		section_more(s, "; only" GLUE "%s of them timed", cell_count(all->bio_done).text);
}

/* Items that could not be observed; the reasons are in the head of the report. */
static void say_not_seen(struct below *b)
{
	const char *comma = "";

	section_below(&b->s);
	section_note(&b->s, "Not seen", "%s", "");
	for (int i = 0; i < AFS_N_STORAGE_ITEMS; i++) {
		if (b->l->has_item[i])
			continue;
		section_more(&b->s, "%s%s", comma, item_texts[i]);
		comma = ", ";
	}
	if (*comma)
		section_more(&b->s, " (why: \"Observed by\", above)");
}

static bool any_item(const struct ledger *l)
{
	for (int i = 0; i < AFS_N_STORAGE_ITEMS; i++)
		if (l->has_storage && l->has_item[i])
			return true;
	return false;
}

static int put_na(const struct paint *p)
{
	const char *why = rungs_why(p->view.run, "storage");
	const struct ledger *l = &p->view.all;
	struct section s;

	section_open(&s, p, &below_unknown);
	if (!l->has_requests && !strcmp(why, rungs_why(p->view.run, "requests"))) {
		s.rest = " (for the same reason)";
		return section_close(&s);
	}
	if (l->has_storage)
		why = "nothing of it can be observed here (why: \"Observed by\", above)";
	section_note(&s, "because", "%s", why);
	return section_close(&s);
}

int paint_below(const struct paint *p)
{
	struct below b;
	int e, ret;

	if (!any_item(&p->view.all))
		return put_na(p);
	e = below_init(&b, p);
	if (e)
		return e;
	e = say_waited(&b);
	section_note(&b.s, "Block I/O", "%s", "");
	if (b.known[AFS_STORAGE_bio_reads]) {
		if (bios(&b.all))
			say_block(&b);
		else
			say_nothing(&b);
	}
	if (bios(&b.all) || pages(&b.all) || b.all.syncs)
		long_below_table(&b);
	say_not_seen(&b);
	ret = section_close(&b.s);
	free(b.command);
	return e ? e : ret;
}
