/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of a server that keeps the truth: each request and each call is one, and what finds no
 * room is counted. Tests bpf/records.h, trace.h, user/watch/bpf/ring.c.
 */
#include "watched.h"

#include "bpf/paths.h"
#include "ref/driver.h"
#include "run/account.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* Of a wait or a call: role, account, class or user, object. */
#define N_KEYS (AFS_N_ROLES * AFS_N_ACCOUNTS * AFS_N_STATES)

/* What the records add up to. */
struct sums {
	uint64_t n[AFS_N_STREAMS];
	struct ref_cell call[N_KEYS];
	uint64_t blocked_ns[N_KEYS], runq_ns[N_KEYS];
	uint64_t served[AFS_N_ACCOUNTS]; /* calls that request records tell of */
	struct ref_account account[AFS_N_ACCOUNTS];
	uint64_t ns[AFS_N_ACCOUNTS], part_ns[AFS_N_ACCOUNTS][AFS_N_COLUMNS];
	uint64_t named[AFS_N_ACCOUNTS]; /* requests that name something */
	uint64_t n_odd;                 /* requests whose parts are not its time */
	uint64_t n_jumps;               /* ids that do not follow each other */
	uint64_t
	    n_orphan; /* calls of requests whose id is not that of the next record of a request */
	uint16_t last_id, call_id, named_id;
	bool call_open;
	struct afs_record_sessions session[2];
};

struct rig {
	struct ref_plan plan;
	struct ref_files files;
	struct ref_shared *s;
	struct ref_tally *before, *made;
	struct ref_driver driver;
	struct ref_mix mix;
	struct watched x;
	struct sums *sums;
	int client, server;
	uint16_t port; /* of the client */
	bool stop;
};

/* One for the test and, copied, its child. */
static struct rig rig;

static uint32_t key_of(uint32_t role, uint32_t account, uint32_t class, uint32_t object)
{
	return (role * AFS_N_ACCOUNTS + account) * AFS_N_STATES + AFS_STATE(class, object);
}

/* As bpf/count.h has it: what rt_sigreturn returns says nothing. */
static bool is_error(const struct afs_record_calls *c)
{
	return c->ret < 0 && c->ret >= -4095 && c->nr != SYS_rt_sigreturn;
}

static void add_call(struct sums *s, const struct afs_record_calls *c)
{
	struct ref_cell *cell = &s->call[key_of(c->role, c->command, c->class, c->object)];

	assert_true(c->class < AFS_N_CLASSES && c->timestamp == c->t + c->time_ns);
	assert_int_equal(c->session, rig.x.pid);
	cell->calls++;
	cell->errors += is_error(c);
	if (!account_is_request(c->command)) {
		assert_int_equal(c->dsi_id, 0);
		return;
	}
	s->n_orphan += s->call_open && s->call_id != c->dsi_id;
	s->call_id = c->dsi_id;
	s->call_open = true;
}

static void add_request(struct sums *s, const struct afs_record_requests *r)
{
	struct ref_account *a = &s->account[r->command];
	const __u64 *part = &r->own_ns;
	uint64_t sum = 0;

	assert_int_equal(r->session, rig.x.pid);
	assert_int_equal(r->port, rig.port);
	assert_int_equal(r->timestamp, r->t + r->time_ns);
	for (int i = 0; i < AFS_N_COLUMNS; i++) {
		sum += part[i];
		s->part_ns[r->command][i] += part[i];
	}
	s->n_odd += sum != r->time_ns;
	s->n_jumps += s->n[AFS_STREAM_REQUESTS] > 1 && r->dsi_id != (uint16_t)(s->last_id + 1);
	s->last_id = r->dsi_id;
	s->n_orphan += s->call_open && s->call_id != r->dsi_id;
	s->call_open = false;
	s->ns[r->command] += r->time_ns;
	s->served[r->command] += r->calls;
	a->answered++;
	a->errors += r->result != 0;
	a->bytes_in += r->bytes_in;
	a->bytes_out += r->bytes_out;
}

/* Requests follow each other, so those that name something do by their ids. */
static void add_named(struct sums *s, const struct afs_named *n)
{
	s->named[n->command]++;
	assert_int_equal(n->session, rig.x.pid);
	assert_true(n->timestamp && n->len <= AFS_NAMED_LEN);
	if (s->n[AFS_STREAM_NAMES] > 1)
		assert_true((uint16_t)(n->dsi_id - s->named_id) < 1000);
	s->named_id = n->dsi_id;
}

static void put(void *user, unsigned int stream, const void *record)
{
	const struct afs_record_waits *w = record;
	struct sums *s = user;
	uint32_t key;

	s->n[stream]++;
	if (stream == AFS_STREAM_CALLS)
		add_call(s, record);
	else if (stream == AFS_STREAM_REQUESTS)
		add_request(s, record);
	else if (stream == AFS_STREAM_NAMES)
		add_named(s, record);
	else if (stream == AFS_STREAM_SESSIONS && s->n[stream] <= 2)
		memcpy(&s->session[s->n[stream] - 1], record, sizeof(s->session[0]));
	if (stream != AFS_STREAM_WAITS)
		return;
	assert_true(w->ns && w->timestamp == w->t + w->ns);
	key = key_of(w->role, w->command, w->class, w->object);
	if (w->kind == AFS_KIND_BLOCKED)
		s->blocked_ns[key] += w->ns;
	else
		s->runq_ns[key] += w->ns;
}

static void serve_step(struct watched_shared *s)
{
	(void)s;
	ref_serve(rig.server, &rig.plan, &rig.files, rig.s);
}

static void rig_connect(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
	rig.client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(rig.client, (struct sockaddr *)&addr, sizeof(addr)), 0);
	rig.server = accept(listener, NULL, NULL);
	assert_true(rig.server >= 0);
	assert_int_equal(getsockname(rig.client, (struct sockaddr *)&addr, &len), 0);
	rig.port = ntohs(addr.sin_port);
	setsockopt(rig.client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(rig.server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(listener);
	if (rig.plan.waits)
		assert_int_equal(
		    fcntl(rig.server, F_SETFL, fcntl(rig.server, F_GETFL) | O_NONBLOCK), 0);
}

static void rig_start(const struct ref_plan *plan, unsigned int what, size_t ring_len)
{
	struct watch_opts opts = { .mode = WATCH_BPF };
	struct target t = { 0 };
	struct err e = { 0 };
	struct stat st;

	memset(&rig, 0, sizeof(rig));
	rig.plan = *plan;
	rig.before = calloc(1, sizeof(*rig.before));
	rig.made = calloc(1, sizeof(*rig.made));
	rig.sums = calloc(1, sizeof(*rig.sums));
	assert_true(rig.before && rig.made && rig.sums);
	rig.s = ref_shared_new();
	ref_files_open(&rig.files);
	rig_connect();
	watched_start(&rig.x, serve_step);
	ref_driver_init(&rig.driver, rig.client, &rig.plan, rig.s);
	assert_int_equal(fstat(rig.server, &st), 0);
	t.server = rig.x.pid;
	t.client = st.st_ino;
	t.decoder = AFS_DECODER_DSI;
	opts.sink = (struct watch_sink) {
		.what = what, .ring_len = ring_len, .user = rig.sums, .put = put
	};
	if (watch_open_traced(&rig.x.w, &opts, &t, &e))
		fail_msg("%s", e.text);
}

static void *drive(void *arg)
{
	(void)arg;
	ref_driver_run(&rig.driver, &rig.mix);
	ref_driver_close(&rig.driver);
	return NULL;
}

static void *pull(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&rig.stop, __ATOMIC_ACQUIRE))
		assert_int_equal(watch_pull(rig.x.w, 100), 0);
	return NULL;
}

/* One call of ref_serve. rig.made is the truth about it, rig.x.diff the ledger, rig.sums ours. */
static void rig_step(const struct ref_mix *mix, bool pulls)
{
	pthread_t driver, puller;
	struct ref_cell *waits;

	rig.mix = *mix;
	*rig.before = rig.s->tally;
	ledger_fini(&rig.x.diff);
	assert_true(watch_settle(rig.x.w));
	assert_int_equal(watch_pull(rig.x.w, 0), 0);
	memset(rig.sums, 0, sizeof(*rig.sums));
	rig.stop = false;
	if (pulls)
		assert_int_equal(pthread_create(&puller, NULL, pull, NULL), 0);
	assert_int_equal(pthread_create(&driver, NULL, drive, NULL), 0);
	watched_step(&rig.x);
	pthread_join(driver, NULL);
	__atomic_store_n(&rig.stop, true, __ATOMIC_RELEASE);
	if (pulls)
		pthread_join(puller, NULL);
	assert_int_equal(watch_pull(rig.x.w, 0), 0);
	*rig.made = rig.s->tally;
	ref_tally_subtract(rig.made, rig.before);
	/* The step's own. */
	waits =
	    &rig.made->cell[AFS_ROLE_SERVER][AFS_ACCOUNT_BETWEEN][AFS_CLASS_WAIT][AFS_OBJECT_NONE];
	waits->calls += rig.x.shared->waits - rig.x.waits_before;
}

/* may: this may be lost, and how much was is added to *n. */
static void rig_stop(const char *may, uint64_t *n)
{
	struct run r;

	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_true(watch_settle(rig.x.w));
	assert_int_equal(watch_finish(rig.x.w, &r), 0);
	assert_true(run_books_closed(&r));
	for (size_t i = 0; i < r.n_losses; i++) {
		if (may && strstr(r.loss[i].what, may))
			*n += r.loss[i].n;
		else if (r.loss[i].n)
			fail_msg("%s: %llu", r.loss[i].what, (unsigned long long)r.loss[i].n);
	}
	run_fini(&r);
	watch_free(rig.x.w);
	kill(rig.x.pid, SIGKILL);
	waitpid(rig.x.pid, NULL, 0);
	munmap(rig.x.shared, sizeof(*rig.x.shared));
	ledger_fini(&rig.x.diff);
	ref_driver_fini(&rig.driver);
	ref_files_close(&rig.files);
	ref_shared_free(rig.s);
	close(rig.client);
	close(rig.server);
	free(rig.before);
	free(rig.made);
	free(rig.sums);
}

/* Each call of the truth is a record, and no other. */
static void check_calls(void)
{
	const struct ref_cell *want, *got;
	uint32_t class, object;

	for (uint32_t account = 0; account < AFS_N_ACCOUNTS; account++)
		for (uint32_t state = 0; state < AFS_STATE(AFS_N_CLASSES, 0); state++) {
			class = state / AFS_N_OBJECTS;
			object = state % AFS_N_OBJECTS;
			want = &rig.made->cell[AFS_ROLE_SERVER][account][class][object];
			got = &rig.sums->call[key_of(AFS_ROLE_SERVER, account, class, object)];
			if (want->calls != got->calls || want->errors != got->errors)
				fail_msg("account %u, %s on %s: %llu records, %llu errors; made: "
					 "%llu, %llu",
					 account, ledger_class_name(class),
					 ledger_object_name(object), (unsigned long long)got->calls,
					 (unsigned long long)got->errors,
					 (unsigned long long)want->calls,
					 (unsigned long long)want->errors);
		}
}

static void check_named(void)
{
	for (uint32_t i = 0; i < AFS_ACCOUNT_BETWEEN; i++)
		assert_int_equal(rig.sums->named[i],
				 i < 256 && afs_path_at[i] ? rig.made->account[i].answered : 0);
}

static void check_requests(void)
{
	uint64_t column[ACCOUNT_N_COLUMNS];
	const struct ledger_account *l;
	struct ref_account *want, *got;

	for (uint32_t i = 0; i < AFS_ACCOUNT_BETWEEN; i++) {
		want = &rig.made->account[i];
		got = &rig.sums->account[i];
		assert_int_equal(got->answered, want->answered);
		assert_int_equal(got->errors, want->errors);
		assert_int_equal(got->bytes_in, want->bytes_in);
		assert_int_equal(got->bytes_out, want->bytes_out);
		assert_int_equal(
		    rig.sums->served[i],
		    ledger_part_sum(&rig.x.diff, AFS_ROLE_SERVER, i, LEDGER_ALL, LEDGER_ALL).calls);
		l = ledger_account(&rig.x.diff, i);
		if (!l)
			continue;
		assert_int_equal(rig.sums->ns[i], l->sum.ns);
		account_times(&rig.x.diff, AFS_ROLE_SERVER, i, column);
		for (int k = 0; k < ACCOUNT_N_COLUMNS; k++)
			assert_int_equal(rig.sums->part_ns[i][k], column[k]);
	}
	assert_int_equal(rig.sums->n_odd, 0);
	assert_int_equal(rig.sums->n_jumps, 0);
}

/* A wait that lasts over the border of the step counts by halves in the ledger: idle ones. */
static void check_waits(void)
{
	const struct ledger_part *p;
	uint32_t key;

	for (size_t i = 0; i < rig.x.diff.n_parts; i++) {
		p = &rig.x.diff.part[i];
		key = key_of(p->role, p->account, p->class, p->object);
		if (p->class == AFS_CLASS_WAIT && p->account >= AFS_ACCOUNT_BETWEEN)
			continue;
		assert_int_equal(rig.sums->blocked_ns[key], p->part.blocked_ns);
		assert_int_equal(rig.sums->runq_ns[key], p->part.runq_ns);
	}
}

static const struct ref_mix first = { .seed = 1, .n = 50, .batch_most = 5, .commands = 256 };

static void run_plan(const struct ref_plan *plan, const struct ref_mix *mix)
{
	rig_start(plan, AFS_TRACE_SMALL | AFS_TRACE_NAMES | AFS_TRACE_CALLS, 0);
	rig_step(&first, true);
	assert_int_equal(rig.sums->n[AFS_STREAM_SESSIONS], 1);
	assert_int_equal(rig.sums->session[0].event, AFS_EVENT_BEGIN);
	assert_int_equal(rig.sums->session[0].port, rig.port);
	assert_int_equal(rig.sums->session[0].family, AF_INET);
	assert_int_equal(rig.sums->session[0].address[0], 127);
	rig_step(mix, true);
	check_calls();
	check_requests();
	check_named();
	check_waits();
	if (!plan->n_noise && plan->reply != REF_REPLY_BATCH && mix->batch_most == 1)
		assert_int_equal(rig.sums->n_orphan, 0);
	rig_stop(NULL, NULL);
}

/* An emulated guest sets REF_TENTH and makes a tenth of the requests, as they are slow there. */
static void every_request_and_every_call_is_a_record(void **state)
{
	const struct ref_plan plan = { .read = REF_READ_RECV,
				       .reply = REF_REPLY_WRITEV,
				       .most = 300 };
	const struct ref_mix mix = { .seed = 51,
				     .n = getenv("REF_TENTH") ? 2000 : 20000,
				     .batch_most = 1 };

	(void)state;
	run_plan(&plan, &mix);
}

static void also_of_a_server_that_reads_ahead_and_waits_as_afpd(void **state)
{
	const struct ref_plan plan = { .read = REF_READ_RECV,
				       .reply = REF_REPLY_WRITEV,
				       .waits = true,
				       .tells = true,
				       .n_noise = 2,
				       .most = 3000 };
	const struct ref_mix mix = {
		.seed = 52, .n = 80000, .batch_most = 200, .bulk = 20, .bulk_most = 600
	};

	(void)state;
	run_plan(&plan, &mix);
}

static void also_of_several_replies_in_one_write(void **state)
{
	const struct ref_plan plan = { .read = REF_READ_ALL, .reply = REF_REPLY_BATCH, .most = 90 };
	const struct ref_mix mix = { .seed = 53,
				     .n = 40000,
				     .batch_most = 200,
				     .bulk = 20,
				     .bulk_most = 600,
				     .commands = 64,
				     .pieces = true };

	(void)state;
	run_plan(&plan, &mix);
}

static void requests_alone_are_the_same_requests(void **state)
{
	const struct ref_plan plan = { .read = REF_READ_RECV,
				       .reply = REF_REPLY_SEND,
				       .most = 300 };
	const struct ref_mix mix = { .seed = 54, .n = 20000, .batch_most = 20 };

	(void)state;
	rig_start(&plan, AFS_TRACE_SMALL, 0);
	rig_step(&first, true);
	rig_step(&mix, true);
	check_requests();
	assert_int_equal(rig.sums->n[AFS_STREAM_CALLS], 0);
	assert_int_equal(rig.sums->n[AFS_STREAM_WAITS], 0);
	rig_stop(NULL, NULL);
}

/* Nobody takes anything out: what is lost and what is there is all. */
static void what_finds_no_room_is_counted(void **state)
{
	const struct ref_plan plan = { .read = REF_READ_RECV,
				       .reply = REF_REPLY_SEND,
				       .most = 300 };
	const struct ref_mix mix = { .seed = 55, .n = 3000, .batch_most = 20 };
	uint64_t calls, requests, lost[AFS_N_STREAMS], n = 0;

	(void)state;
	rig_start(&plan, AFS_TRACE_SMALL | AFS_TRACE_CALLS, 4096);
	rig_step(&first, false);
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++)
		lost[i] = watch_pull_lost(rig.x.w, i);
	rig_step(&mix, false);
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++)
		lost[i] = watch_pull_lost(rig.x.w, i) - lost[i];
	calls = ledger_sum(&rig.x.diff, AFS_N_ROLES, AFS_N_CLASSES, AFS_N_OBJECTS).calls;
	requests = 0;
	for (size_t i = 0; i < rig.x.diff.n_accounts; i++)
		requests += rig.x.diff.account[i].sum.answered;
	assert_int_equal(rig.sums->n[AFS_STREAM_CALLS] + lost[AFS_STREAM_CALLS], calls);
	assert_int_equal(rig.sums->n[AFS_STREAM_REQUESTS] + lost[AFS_STREAM_REQUESTS], requests);
	assert_true(lost[AFS_STREAM_CALLS] > 10000 && rig.sums->n[AFS_STREAM_CALLS] > 10);
	rig_stop("records of", &n);
	assert_true(n >= lost[AFS_STREAM_CALLS] + lost[AFS_STREAM_REQUESTS]);
}

static void the_end_of_a_session_is_a_record(void **state)
{
	const struct ref_plan plan = { .read = REF_READ_RECV,
				       .reply = REF_REPLY_SEND,
				       .most = 300 };
	uint64_t end = 0;

	(void)state;
	rig_start(&plan, AFS_TRACE_SMALL, 0);
	rig_step(&first, true);
	memset(rig.sums, 0, sizeof(*rig.sums));
	kill(rig.x.pid, SIGTERM);
	kill(rig.x.pid, SIGKILL);
	while (!rig.sums->n[AFS_STREAM_SESSIONS] && end++ < 100)
		watch_pull(rig.x.w, 100);
	assert_int_equal(rig.sums->n[AFS_STREAM_SESSIONS], 1);
	assert_int_equal(rig.sums->session[0].event, AFS_EVENT_END);
	assert_int_equal(rig.sums->session[0].session, rig.x.pid);
	assert_int_equal(rig.sums->session[0].port, rig.port);
	watch_free(rig.x.w);
	waitpid(rig.x.pid, NULL, 0);
	ledger_fini(&rig.x.diff);
	ref_driver_fini(&rig.driver);
}

static void a_watch_without_a_sink_makes_no_records(void **state)
{
	struct watch_opts opts = { .mode = WATCH_PROC };
	struct target t = { .server = getpid() };
	struct err e = { 0 };
	struct watch *w;

	(void)state;
	assert_int_equal(watch_open_traced(&w, &opts, &t, &e), 0);
	assert_int_equal(watch_pull(w, 0), -ENOTSUP);
	assert_int_equal(watch_pull_lost(w, AFS_STREAM_CALLS), 0);
	watch_free(w);
	opts.mode = WATCH_BPF;
	assert_int_equal(watch_open_traced(&w, &opts, &t, &e), 0);
	assert_int_equal(watch_pull(w, 0), -ENOTSUP);
	watch_free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_request_and_every_call_is_a_record),
		cmocka_unit_test(also_of_a_server_that_reads_ahead_and_waits_as_afpd),
		cmocka_unit_test(also_of_several_replies_in_one_write),
		cmocka_unit_test(requests_alone_are_the_same_requests),
		cmocka_unit_test(what_finds_no_room_is_counted),
		cmocka_unit_test(the_end_of_a_session_is_a_record),
		cmocka_unit_test(a_watch_without_a_sink_makes_no_records),
	};

	ref_reserve();
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
