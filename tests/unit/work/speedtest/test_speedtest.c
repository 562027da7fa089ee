/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The works of speedtest on a store in memory: the operations and their order, any window, any
 * order of answers, and nothing left behind whichever operation fails.
 * Also tests client/work/speedtest/pump.c, speed_works.c.
 */
#include "unit/memory_store.h"

#include "work/speedtest/speedtest.h"

#define CHUNK 100

struct rig {
	struct memory_store m;
	struct load_hooks hooks;
	struct load load;
	struct run run;
	struct err e;
	char base[2][32];
};

static struct rig rig;

static struct speedtest_opts opts_of(enum speed_work work, const uint64_t *size)
{
	return (struct speedtest_opts) {
		.n_works = 1,
		.work = { work },
		.n_sizes = 1,
		.size = size,
		.iterations = 2,
		.warmups = 1,
		.window = 1,
		.flush = true,
	};
}

static void begin(size_t chunk)
{
	memset(&rig, 0, sizeof(rig));
	memory_begin(&rig.m, chunk);
	rig.m.s.creates_open = true;
	assert_int_equal(run_init(&rig.run, "speedtest", SPEEDTEST_SET), 0);
	rig.load = (struct load) { .store = &rig.m.s, .run = &rig.run, .hooks = &rig.hooks };
}

static int work(const struct speedtest_opts *o)
{
	memset(rig.base, 'x', sizeof(rig.base));
	return speedtest_run(&rig.load, o, rig.base, &rig.e);
}

static void end(void)
{
	memory_end(&rig.m);
	run_fini(&rig.run);
}

static void must_work(const struct speedtest_opts *o)
{
	if (work(o))
		fail_msg("%s", rig.e.text);
	assert_int_equal(memory_left(&rig.m), 0);
	assert_string_equal(rig.base[0], "");
	assert_string_equal(rig.base[1], "");
	assert_int_equal(rig.m.s.in_flight, 0);
}

static const struct run_transfer *transfer(void)
{
	assert_int_equal(rig.run.n_phases, 1);
	assert_non_null(rig.run.phase[0]->transfer);
	return rig.run.phase[0]->transfer;
}

static void operations_in_the_peers_order(void **state)
{
	static const struct {
		enum speed_work work;
		bool recreate, sparse, peer;
		const char *log;
	} rows[] = {
		{ SPEED_WRITE, false, false, true,
		  "room stat mkdir create open write write flush close open write write flush close "
		  "delete delete" },
		{ SPEED_WRITE, true, false, true,
		  "room stat mkdir create open write write flush close delete create "
		  "open write write flush close delete create delete delete" },
		{ SPEED_READ, false, false, true,
		  "room stat mkdir create open write write flush read read close open read read close "
		  "delete delete" },
		{ SPEED_READ, false, true, true,
		  "room stat mkdir create open setlen read read close open read read close delete "
		  "delete" },
		{ SPEED_READ, true, false, true,
		  "room stat mkdir create open write write flush read read close delete create "
		  "open write write flush read read close delete create delete delete" },
		{ SPEED_COPY, false, false, true,
		  "room stat mkdir create create open open write write flush read write read write "
		  "close close open open read write read write close close delete delete delete" },
		{ SPEED_SERVER_COPY, false, false, true,
		  "room stat mkdir create open write write flush close copy delete open close copy "
		  "delete delete delete delete" },
		{ SPEED_SERVER_COPY, false, false, false,
		  "room stat mkdir create open write write flush close copy delete open close copy "
		  "delete delete delete" },
		{ SPEED_SERVER_COPY, true, false, true,
		  "room stat mkdir create open write write flush close copy delete create delete "
		  "open write write flush close copy delete create delete delete delete delete" },
	};
	const uint64_t size = CHUNK + 1;
	struct speedtest_opts o;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(CHUNK);
		o = opts_of(rows[i].work, &size);
		o.recreate = rows[i].recreate;
		o.sparse = rows[i].sparse;
		o.peer = rows[i].peer;
		o.warmups = 0;
		if (rows[i].sparse)
			rig.m.s.len_max = MEMORY_DATA;
		must_work(&o);
		assert_string_equal(rig.m.log, rows[i].log);
		end();
	}
}

/* Both volumes are looked at before a directory is made on one. */
static void two_volumes_in_the_peers_order(void **state)
{
	const uint64_t size = CHUNK;
	struct speedtest_opts o = opts_of(SPEED_SERVER_COPY, &size);

	(void)state;
	begin(CHUNK);
	o.second = o.peer = true;
	o.warmups = 0;
	o.iterations = 1;
	must_work(&o);
	assert_string_equal(rig.m.log,
			    "room room stat stat mkdir mkdir create open write flush close copy "
			    "delete delete delete delete delete");
	end();
}

static int leave_out_all(void *user, enum speed_work work, uint64_t size, struct err *e)
{
	(void)user, (void)work, (void)size, (void)e;
	return 1;
}

static void a_work_can_be_left_out(void **state)
{
	const uint64_t size = CHUNK;
	struct speedtest_opts o = opts_of(SPEED_SERVER_COPY, &size);

	(void)state;
	begin(CHUNK);
	o.next = leave_out_all;
	must_work(&o);
	assert_string_equal(rig.m.log, "room");
	assert_int_equal(rig.run.n_phases, 0);
	end();
}

/* Twice what is needed is enough; a byte less, and nothing is begun, in either set. */
static void a_volume_is_not_filled_up(void **state)
{
	static const struct {
		enum speed_work work;
		bool sparse, second;
		uint64_t need; /* on each volume it needs any room on */
	} rows[] = {
		{ SPEED_READ, false, false, CHUNK },
		{ SPEED_WRITE, false, false, CHUNK },
		{ SPEED_WRITE, true, false, CHUNK },
		{ SPEED_COPY, false, false, 2 * CHUNK },
		{ SPEED_COPY, true, false, CHUNK },
		{ SPEED_COPY, false, true, CHUNK },
		{ SPEED_SERVER_COPY, false, false, 2 * CHUNK },
		{ SPEED_SERVER_COPY, false, true, CHUNK },
	};
	const uint64_t sizes[] = { 1, CHUNK, 7 };
	struct speedtest_opts o;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned int less = 0; less < 2; less++) {
			begin(CHUNK);
			o = opts_of(rows[i].work, sizes);
			o.n_sizes = 3;
			o.sparse = rows[i].sparse;
			o.second = rows[i].second;
			rig.m.s.len_max = MEMORY_DATA;
			o.peer = less && rows[i].work == SPEED_WRITE;
			rig.m.room = 2 * rows[i].need - less;
			assert_int_equal(work(&o), less ? LOAD_REFUSED : 0);
			if (less) {
				assert_string_equal(rig.m.log, "room");
				assert_non_null(strstr(rig.e.text, "free"));
			}
			end();
		}
}

static void backups_are_not_disturbed(void **state)
{
	const uint64_t size = CHUNK;
	struct speedtest_opts o = opts_of(SPEED_WRITE, &size);

	(void)state;
	begin(CHUNK);
	rig.m.room = 100 * CHUNK;
	rig.m.keeps_backups = true;
	assert_int_equal(work(&o), LOAD_REFUSED);
	assert_non_null(strstr(rig.e.text, "Time Machine"));
	assert_string_equal(rig.m.log, "room");
	end();
}

static void who_forces_it_is_not_asked(void **state)
{
	const uint64_t size = CHUNK;
	struct speedtest_opts o = opts_of(SPEED_WRITE, &size);

	(void)state;
	begin(CHUNK);
	rig.m.room = 1;
	rig.m.keeps_backups = true;
	o.force = true;
	must_work(&o);
	assert_null(strstr(rig.m.log, "room"));
	end();
}

/*
 * What is copied or checked is brought. Where nothing was asked for, so are a lone request, what
 * netatalk's tool would copy, and what comes from this host, where dropping would leave work to
 * the server. A store that cannot drop is not said to.
 */
static void reads_nobody_looks_at_are_told_so(void **state)
{
	static const struct {
		enum speed_work work;
		enum speed_receive receive;
		bool near, verify, peer;
		uint64_t size;
		unsigned int discarded;
		size_t from;
	} rows[] = {
		{ SPEED_READ, SPEED_RECEIVE_AUTO, false, false, false, 5 * CHUNK, 2 * 5, 1 },
		{ SPEED_READ, SPEED_RECEIVE_AUTO, false, false, false, CHUNK, 0, 1 },
		{ SPEED_READ, SPEED_RECEIVE_AUTO, false, true, false, 5 * CHUNK, 0, 1 },
		{ SPEED_READ, SPEED_RECEIVE_AUTO, false, false, true, 5 * CHUNK, 0, 1 },
		{ SPEED_READ, SPEED_RECEIVE_AUTO, true, false, false, 5 * CHUNK, 0, 1 },
		{ SPEED_READ, SPEED_RECEIVE_COPY, false, false, false, 5 * CHUNK, 0, 1 },
		{ SPEED_READ, SPEED_RECEIVE_DROP, true, false, false, 5 * CHUNK, 2 * 5, 1 },
		{ SPEED_READ, SPEED_RECEIVE_DROP, true, false, true, 5 * CHUNK, 2 * 5, 1 },
		{ SPEED_READ, SPEED_RECEIVE_DROP, true, false, false, CHUNK, 2, 1 },
		{ SPEED_READ, SPEED_RECEIVE_DROP, true, false, false, 5 * CHUNK, 0, CHUNK + 1 },
		{ SPEED_READ, SPEED_RECEIVE_AUTO, false, false, false, 5 * CHUNK, 0, 0 },
		{ SPEED_WRITE, SPEED_RECEIVE_AUTO, false, true, false, 5 * CHUNK, 0, 1 },
		{ SPEED_COPY, SPEED_RECEIVE_DROP, false, false, false, 5 * CHUNK, 0, 1 },
		{ SPEED_COPY, SPEED_RECEIVE_AUTO, false, true, false, 5 * CHUNK, 0, 1 },
	};
	struct speedtest_opts o;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(CHUNK);
		o = opts_of(rows[i].work, &rows[i].size);
		o.warmups = 0;
		rig.m.s.near = rows[i].near;
		rig.m.s.discard_from = rows[i].from;
		o.receive = rows[i].receive;
		o.peer = rows[i].peer;
		o.verify = rows[i].verify;
		o.data = rows[i].verify ? SPEED_PATTERN : SPEED_ZERO;
		must_work(&o);
		assert_int_equal(rig.m.n_discarded, rows[i].discarded);
		assert_int_equal(transfer()->dropped, rows[i].discarded > 0);
		end();
	}
}

static void any_window_moves_every_byte(void **state)
{
	static const unsigned int windows[] = { 1, 2, 3, 8, 64, 128 };
	static const uint64_t sizes[] = {
		1, CHUNK - 1, CHUNK, CHUNK + 1, 7 * CHUNK, 999 * CHUNK + 3
	};
	struct speedtest_opts o;

	(void)state;
	for (enum speed_work w = 0; w < N_SPEED_WORKS; w++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (size_t k = 0; k < sizeof(windows) / sizeof(windows[0]); k++) {
				begin(CHUNK);
				rig.m.order = (unsigned int)(k + 1);
				o = opts_of(w, &sizes[i]);
				o.window = windows[k];
				o.verify = true;
				o.data = SPEED_PATTERN;
				must_work(&o);
				assert_true(rig.m.most_lent <= windows[k]);
				assert_int_equal(rig.run.phase[0]->value[METRIC_BYTES],
						 2 * sizes[i] * (w == SPEED_COPY ? 2 : 1));
				end();
			}
}

/* Also where fewer would do as well: on one host, for data that then waits. */
static void as_many_requests_are_in_flight_as_were_asked_for(void **state)
{
	static const unsigned int windows[] = { 1, 3, 8, 21 };
	const uint64_t size = 21 << 18;
	struct speedtest_opts o;

	(void)state;
	for (enum speed_work w = SPEED_READ; w <= SPEED_COPY; w++)
		for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++)
			for (unsigned int peer = 0; peer < 2; peer++) {
				begin(1 << 18);
				rig.m.s.near = true;
				o = opts_of(w, &size);
				o.window = windows[i];
				o.peer = peer;
				must_work(&o);
				assert_int_equal(rig.m.most_lent, windows[i]);
				assert_int_equal(transfer()->window, windows[i]);
				end();
			}
}

static void samples_and_sums(void **state)
{
	const uint64_t size = 5 * CHUNK + 1;
	struct speedtest_opts o = opts_of(SPEED_WRITE, &size);
	const struct run_transfer *t;

	(void)state;
	begin(CHUNK);
	o.iterations = 3;
	o.warmups = 2;
	must_work(&o);
	t = transfer();
	assert_string_equal(t->work, "Write");
	assert_string_equal(rig.run.phase[0]->title, "Write 501 B");
	assert_int_equal(t->requests, 6);
	assert_int_equal(t->n_samples, 5);
	assert_true(t->sample[0].warmup && t->sample[1].warmup);
	for (unsigned int i = 2; i < 5; i++) {
		assert_false(t->sample[i].warmup);
		assert_int_equal(t->sample[i].iteration, i - 1);
		assert_int_equal(t->sample[i].bytes, size);
		assert_true(t->sample[i].complete && t->sample[i].ns > 0);
	}
	/* 6 writes and a flush each; warm-ups are in no sum. */
	assert_int_equal(rig.run.phase[0]->value[METRIC_OPS], 3 * 7);
	assert_int_equal(rig.run.phase[0]->value[METRIC_BYTES], 3 * size);
	assert_int_equal(rig.run.phase[0]->n_commands, 2);
	end();
}

/* However it fails, nothing stays: but for what cannot be deleted, which is said. */
static void whatever_fails_nothing_stays(void **state)
{
	static const enum store_result how[] = { STORE_FULL, STORE_NONE, STORE_SHORT,
						 STORE_DENIED };
	const uint64_t size = 3 * CHUNK + 1;
	struct speedtest_opts o;
	unsigned int n_ops;
	int r;

	(void)state;
	for (enum speed_work w = 0; w < N_SPEED_WORKS; w++) {
		begin(CHUNK);
		o = opts_of(w, &size);
		o.window = 3;
		o.recreate = true;
		o.second = true;
		must_work(&o);
		n_ops = rig.m.n_ops;
		end();
		for (unsigned int n = 1; n <= n_ops; n++) {
			begin(CHUNK);
			rig.m.fail_at = n;
			rig.m.fail_with = how[n % 4];
			r = work(&o);
			/* Room need not be told; that the directory is not there is wanted. */
			assert_true(r == LOAD_REFUSED ||
				    (!r && (n <= 2 || rig.m.fail_with == STORE_NONE)));
			if (r)
				assert_true(strlen(rig.e.text) > 20);
			for (int i = 2; i < MEMORY_NODES; i++)
				assert_int_equal(rig.m.node[i].opened, 0);
			assert_int_equal(rig.m.n_lent, 0);
			if (memory_left(&rig.m))
				fail_msg("%s: operation %u of %u failed: %u left\n%s",
					 speedtest_name(w), n, n_ops, memory_left(&rig.m),
					 rig.m.log);
			end();
		}
	}
}

static void a_lost_connection_is_said_and_keeps_the_name(void **state)
{
	const uint64_t size = 3 * CHUNK + 1;
	struct speedtest_opts o;
	unsigned int n_ops;

	(void)state;
	for (enum speed_work w = 0; w < N_SPEED_WORKS; w++) {
		begin(CHUNK);
		o = opts_of(w, &size);
		must_work(&o);
		n_ops = rig.m.n_ops;
		end();
		for (unsigned int n = 2; n <= 2 * n_ops + 1; n++) {
			begin(CHUNK);
			rig.m.fail_at = n / 2;
			rig.m.late = n % 2; /* also a directory whose making nobody confirmed */
			rig.m.dead = true;
			assert_int_equal(work(&o), -ECONNRESET);
			if (memory_left(&rig.m) && !*rig.base[0])
				fail_msg("operation %u: nobody names what is left", n / 2);
			end();
		}
	}
}

/* The comparison only goes unmeasured, and none of its requests outlives its memory. */
static void a_comparison_that_breaks_off_is_left_out(void **state)
{
	const uint64_t size = 9 * CHUNK;
	struct speedtest_opts o = opts_of(SPEED_READ, &size);
	struct memory_store null;

	(void)state;
	for (unsigned int n = 1; n < 60; n++) {
		begin(CHUNK);
		memory_begin(&null, CHUNK);
		null.node[1].opened = 1;
		null.node[1].data = calloc(1, MEMORY_DATA);
		null.node[1].len = size;
		null.fail_at = n;
		null.fail_with = STORE_FULL;
		o.window = 4;
		o.null = &null.s;
		must_work(&o);
		assert_int_equal(null.s.in_flight, 0);
		assert_int_equal(transfer()->null_ns > 0, n > 6 * 9);
		free(null.node[1].data);
		end();
	}
}

static void a_wrong_byte_is_found(void **state)
{
	const uint64_t size = 3 * CHUNK;
	struct speedtest_opts o;
	unsigned int found = 0;

	(void)state;
	for (enum speed_work w = 0; w < N_SPEED_WORKS; w++)
		for (unsigned int n = 1; n < 40; n++) {
			begin(CHUNK);
			o = opts_of(w, &size);
			o.verify = true;
			o.data = SPEED_PATTERN;
			rig.m.corrupt_at = n;
			if (work(&o)) {
				assert_non_null(strstr(rig.e.text, "came back wrong"));
				found++;
			}
			assert_int_equal(memory_left(&rig.m), 0);
			end();
		}
	assert_true(found >= 4 * 6);
}

static void a_file_of_others_is_only_read(void **state)
{
	const uint64_t size = 250, larger = 251;
	struct speedtest_opts o;

	(void)state;
	for (enum speed_work w = 0; w < N_SPEED_WORKS; w++) {
		if (w == SPEED_WRITE)
			continue;
		begin(CHUNK);
		memory_add(&rig.m, rig.m.s.root[0], "big.bin", false);
		rig.m.node[2].len = 250;
		o = opts_of(w, &size);
		o.file = "big.bin";
		o.n_sizes = 0;
		if (work(&o))
			fail_msg("%s", rig.e.text);
		assert_int_equal(transfer()->size, 250);
		assert_int_equal(memory_left(&rig.m), 1);
		o.size = &larger;
		o.n_sizes = 1;
		assert_int_equal(work(&o), LOAD_REFUSED);
		assert_non_null(strstr(rig.e.text, "250"));
		assert_non_null(strstr(rig.e.text, "251"));
		end();
	}
}

static void what_the_store_cannot_do_is_said_before(void **state)
{
	const uint64_t size = MEMORY_DATA + 1;
	struct speedtest_opts o = opts_of(SPEED_WRITE, &size);

	(void)state;
	begin(CHUNK);
	assert_int_equal(speedtest_check(&rig.m.s, &o, &rig.e), -EINVAL);
	o.n_sizes = 0;
	o.chunk = CHUNK + 1;
	assert_int_equal(speedtest_check(&rig.m.s, &o, &rig.e), -EINVAL);
	assert_non_null(strstr(rig.e.text, "101"));
	o.chunk = CHUNK;
	assert_int_equal(speedtest_check(&rig.m.s, &o, &rig.e), 0);
	assert_int_equal(rig.m.n_ops, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_in_the_peers_order),
		cmocka_unit_test(two_volumes_in_the_peers_order),
		cmocka_unit_test(a_work_can_be_left_out),
		cmocka_unit_test(a_volume_is_not_filled_up),
		cmocka_unit_test(backups_are_not_disturbed),
		cmocka_unit_test(who_forces_it_is_not_asked),
		cmocka_unit_test(reads_nobody_looks_at_are_told_so),
		cmocka_unit_test(any_window_moves_every_byte),
		cmocka_unit_test(as_many_requests_are_in_flight_as_were_asked_for),
		cmocka_unit_test(samples_and_sums),
		cmocka_unit_test(whatever_fails_nothing_stays),
		cmocka_unit_test(a_lost_connection_is_said_and_keeps_the_name),
		cmocka_unit_test(a_comparison_that_breaks_off_is_left_out),
		cmocka_unit_test(a_wrong_byte_is_found),
		cmocka_unit_test(a_file_of_others_is_only_read),
		cmocka_unit_test(what_the_store_cannot_do_is_said_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
