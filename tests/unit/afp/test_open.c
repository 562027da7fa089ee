/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session that is opened, used and ended by a caller who never waits in it. Tests
 * client/afp/open.c, client/dsi/link.c, look.c, net.c, session.c, user/base/io_wait.c.
 */
#include "afp/afp.h"
#include "base/clock.h"
#include "fake/peer.h"
#include "store/store.h"
#include <errno.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

#define MS       1000000ull
#define DELAY_MS 150 /* of each reply: whoever waits for one in a call takes longer */

struct rig {
	struct peer *peer;
	struct dsi_opts opts;
	struct afp_login login;
	struct afp_server server;
	struct afp a;
	struct err e;
	volatile sig_atomic_t stop;
	uint64_t longest_ns; /* call of afp_advance that has slept: others may have had the CPU */
	unsigned int n_advances;
};

static int setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	g->peer = peer_new();
	g->opts = (struct dsi_opts) { .host = "127.0.0.1",
				      .port = g->peer->serve.port,
				      .window = 4,
				      .timeout_ms = 5000,
				      .stop = &g->stop };
	g->login = (struct afp_login) { NULL, NULL, "guest", 7, NULL };
	g->server = (struct afp_server) {
		.n_uams = 1, .n_versions = 1, .version = { "AFP3.4" }, .uam = { "No User Authent" }
	};
	*state = g;
	return 0;
}

static int teardown(void **state)
{
	struct rig *g = *state;

	afp_close(&g->a);
	peer_stop(g->peer);
	assert_string_equal(g->peer->complaint, "");
	peer_free(g->peer);
	free(g);
	return 0;
}

/* How often this thread has waited for something. */
static long slept(void)
{
	struct rusage used;

	assert_int_equal(getrusage(RUSAGE_THREAD, &used), 0);
	return used.ru_nvcsw;
}

/* One wait, one advance. */
static int advance(struct rig *g)
{
	struct io_wait w;
	uint64_t start_ns, took_ns;
	short events;
	long before;
	int r;

	afp_wait(&g->a, &w);
	events = io_wait(&w, 6000 * MS);
	before = slept();
	start_ns = clock_now_ns();
	r = afp_advance(&g->a, events, &g->e);
	took_ns = clock_now_ns() - start_ns;
	if (took_ns > g->longest_ns && slept() != before)
		g->longest_ns = took_ns;
	g->n_advances++;
	return r;
}

static int begin(struct rig *g, const char *volume)
{
	if (!g->peer->serve.running)
		peer_start(g->peer);
	return afp_begin(&g->a, &g->opts, &g->server, &g->login, volume, &g->e);
}

static int open_it(struct rig *g, const char *volume)
{
	int r = begin(g, volume);

	while (!r && g->a.stage != AFP_STAGE_OPEN)
		r = advance(g);
	return r;
}

static void end_it(struct rig *g)
{
	afp_finish(&g->a);
	while (!afp_is_finished(&g->a))
		assert_int_equal(advance(g), 0);
}

static void nothing_waits_but_the_caller(void **state)
{
	struct rig *g = *state;
	struct afp_op op, *back = NULL;

	g->peer->delay_ms = DELAY_MS;
	assert_int_equal(open_it(g, "Fake"), 0);
	assert_true(g->a.volume_open);
	assert_null(g->a.step);
	afp_prep_get_params(&op, &g->a, AFP_ROOT_ID, "", 0, AFP_BIT_ID);
	assert_int_equal(afp_submit(&g->a, &op, &g->e), 0);
	assert_null(afp_take(&g->a));
	while (!(back = afp_take(&g->a)))
		assert_int_equal(advance(g), 0);
	assert_ptr_equal(back, &op);
	assert_int_equal(op.dsi.result, 0);
	end_it(g);
	assert_true(g->longest_ns < DELAY_MS * MS * 2 / 3);
	afp_close(&g->a);
	peer_stop(g->peer);
	assert_int_equal(g->peer->count[AFP_Login], 1);
	assert_int_equal(g->peer->count[AFP_OpenVol], 1);
	assert_int_equal(g->peer->count[AFP_Logout], 1);
	assert_int_equal(g->peer->n_closes, 1);
}

static void no_advance_is_asked_for_without_a_cause(void **state)
{
	struct rig *g = *state;

	g->peer->delay_ms = DELAY_MS;
	assert_int_equal(open_it(g, "Fake"), 0);
	/* the connection, and three answers: that to DSIOpenSession, FPLogin, FPOpenVol */
	assert_in_range(g->n_advances, 4, 12);
}

static void a_volume_that_is_refused_is_told_with_those_that_there_are(void **state)
{
	struct rig *g = *state;

	assert_int_equal(open_it(g, "Nowhere"), -ENOENT);
	assert_int_equal(g->a.stage, AFP_STAGE_VOLUME);
	assert_non_null(strstr(g->e.text, "cannot open volume \"Nowhere\""));
	assert_non_null(strstr(g->e.text, "\"Fake\""));
	end_it(g);
}

static void a_login_that_cannot_be_is_an_error_of_that_stage(void **state)
{
	struct rig *g = *state;

	g->login = (struct afp_login) { "me", "secret", "dhx2", 7, NULL };
	assert_int_equal(open_it(g, "Fake"), -EOPNOTSUPP);
	assert_int_equal(g->a.stage, AFP_STAGE_LOGIN);
}

/* The server ends the connection at the k-th answer: each start fails, and leaves nothing. */
static void a_connection_that_ends_at_any_answer_ends_the_start(void **state)
{
	struct rig *g = *state;

	for (unsigned int k = 1; k <= 3; k++) {
		g->peer->fault.reply = k;
		g->peer->fault.kind = k == 2 ? PEER_RESET : PEER_HANG_UP;
		assert_int_equal(open_it(g, "Fake"), -ECONNRESET);
		assert_int_not_equal(*g->e.text, '\0');
		end_it(g);
		afp_close(&g->a);
		peer_stop(g->peer);
		peer_free(g->peer);
		g->peer = peer_new();
		g->opts.port = g->peer->serve.port;
	}
}

static void a_server_at_its_limit_refuses_the_session(void **state)
{
	struct rig *g = *state;

	g->peer->busy = true;
	assert_int_equal(open_it(g, "Fake"), -EBUSY);
	assert_int_equal(g->a.stage, AFP_STAGE_CONNECT);
	assert_non_null(strstr(g->e.text, "max connections"));
}

/* What FPGetSessionToken said: a name, and when the client began. */
struct tokens {
	bool refused;
	unsigned int n;
	uint16_t type[4];
	char name[4][16];
	uint32_t began[4];
};

static bool take_token(void *user, struct peer *p, const struct peer_request *q,
		       struct peer_reply *out)
{
	static const uint8_t token[12] = { 0, 0, 0, 8 };
	struct tokens *t = user;
	struct rbuf b = rbuf_of(q->command, q->len);
	uint32_t len;

	(void)p;
	if (!q->len || rbuf_u8(&b) != AFP_GetSessionToken || t->n == 4)
		return false;
	rbuf_u8(&b);
	t->type[t->n] = rbuf_u16(&b);
	len = rbuf_u32(&b);
	t->began[t->n] = rbuf_u32(&b);
	snprintf(t->name[t->n++], sizeof(t->name[0]), "%.*s", (int)len,
		 (const char *)rbuf_bytes(&b, len));
	peer_reply_set(out, t->refused ? AFP_ERR_NOT_SUPPORTED : 0, token, sizeof(token));
	return true;
}

/* netatalk ends those that have the same name and another time. */
static void sessions_of_a_run_have_its_name_and_one_time_until_they_are_ended(void **state)
{
	struct rig *g = *state;
	struct tokens t = { 0 };

	g->login.run = "a run";
	g->peer->answer = take_token;
	g->peer->user = &t;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(open_it(g, "Fake"), 0);
		assert_int_equal(t.n, i + 1);
		if (i)
			assert_int_equal(afp_end_others(&g->a, "a run", &g->e), 0);
		end_it(g);
		afp_close(&g->a);
	}
	assert_int_equal(t.n, 3);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(t.type[i], 3);
		assert_string_equal(t.name[i], "a run");
	}
	assert_int_equal(t.began[1], t.began[0]);
	assert_int_not_equal(t.began[2], t.began[0]);
}

static void a_server_that_takes_no_name_is_used_without(void **state)
{
	struct rig *g = *state;
	struct tokens t = { .refused = true };

	g->login.run = "a run";
	g->peer->answer = take_token;
	g->peer->user = &t;
	assert_int_equal(open_it(g, "Fake"), 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(afp_end_others(&g->a, "a run", &g->e), -EOPNOTSUPP);
	assert_non_null(strstr(g->e.text, "FPGetSessionToken"));
	assert_int_equal(g->a.stage, AFP_STAGE_OPEN);
}

static void a_session_older_than_afp_3_1_has_no_name(void **state)
{
	struct rig *g = *state;
	struct tokens t = { 0 };

	g->login.run = "a run";
	g->login.version = 3;
	g->peer->answer = take_token;
	g->peer->user = &t;
	assert_int_equal(open_it(g, "Fake"), 0);
	assert_int_equal(afp_end_others(&g->a, "a run", &g->e), -EOPNOTSUPP);
	assert_int_equal(t.n, 0);
}

static bool refuse_login(void *user, struct peer *p, const struct peer_request *q,
			 struct peer_reply *out)
{
	(void)user;
	(void)p;
	if (!q->len || q->command[0] != AFP_Login)
		return false;
	peer_reply_set(out, AFP_ERR_NOT_AUTHENTICATED, NULL, 0);
	return true;
}

/* afpd ends a session at once whose login it refuses: both may be read together. */
static void an_answer_counts_also_where_the_session_ends_with_it(void **state)
{
	struct rig *g = *state;

	g->peer->answer = refuse_login;
	g->peer->fault.reply = 2;
	g->peer->fault.kind = PEER_THEN_CLOSE;
	assert_int_equal(open_it(g, "Fake"), -EACCES);
	assert_non_null(strstr(g->e.text, "login of guest"));
	end_it(g);
}

static void a_greeting_counts_also_where_the_connection_ends_with_it(void **state)
{
	struct rig *g = *state;

	g->peer->busy = true;
	g->peer->fault.reply = 1;
	g->peer->fault.kind = PEER_THEN_CLOSE;
	assert_int_equal(open_it(g, "Fake"), -EBUSY);
	assert_non_null(strstr(g->e.text, "max connections"));
}

static void an_end_while_the_login_is_answered_still_logs_out(void **state)
{
	struct rig *g = *state;
	struct io_wait w;

	g->peer->delay_ms = DELAY_MS;
	assert_int_equal(begin(g, "Fake"), 0);
	while (g->a.stage != AFP_STAGE_LOGIN)
		assert_int_equal(advance(g), 0);
	end_it(g);
	afp_wait(&g->a, &w);
	assert_int_equal(w.due_ns == UINT64_MAX ? w.fd : 0, -1);
	afp_close(&g->a);
	peer_stop(g->peer);
	assert_int_equal(g->peer->count[AFP_Login], 1);
	assert_int_equal(g->peer->count[AFP_Logout], 1);
	assert_int_equal(g->peer->count[AFP_OpenVol], 0);
}

static void the_next_address_is_tried_where_one_refuses(void **state)
{
	struct rig *g = *state;
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *good, *bad;

	peer_start(g->peer);
	/* port 1 of this host: nobody listens */
	assert_int_equal(getaddrinfo("127.0.0.1", g->peer->serve.port, &hints, &good), 0);
	assert_int_equal(getaddrinfo("127.0.0.1", "1", &hints, &bad), 0);
	bad->ai_next = good;
	g->opts.address = bad;
	assert_int_equal(open_it(g, "Fake"), 0);
	end_it(g);
	afp_close(&g->a);
	bad->ai_next = NULL;
	g->opts.address = bad;
	assert_int_equal(open_it(g, "Fake"), -ECONNREFUSED);
	assert_non_null(strstr(g->e.text, "is the server running"));
	afp_close(&g->a);
	freeaddrinfo(good);
	freeaddrinfo(bad);
}

/* What one session has received is never looked for in the shared memory of another. */
static void sessions_share_their_scratch_memory(void **state)
{
	struct rig *g = *state, other = *g;
	uint8_t *scratch = malloc(DSI_SCRATCH_LEN);
	struct afp_op op, op2;
	struct rig *both[] = { g, &other };

	other.peer = peer_new();
	other.opts.port = other.peer->serve.port;
	g->peer->piece = other.peer->piece = 5; /* bytes */
	g->opts.scratch = other.opts.scratch = scratch;
	assert_int_equal(open_it(g, "Fake"), 0);
	assert_int_equal(open_it(&other, "Fake"), 0);
	for (int k = 0; k < 50; k++) {
		afp_prep_get_params(&op, &g->a, AFP_ROOT_ID, "", 0, AFP_BIT_ID);
		afp_prep_get_params(&op2, &other.a, AFP_ROOT_ID, "", 0, AFP_BIT_ID);
		assert_int_equal(afp_submit(&g->a, &op, &g->e), 0);
		assert_int_equal(afp_submit(&other.a, &op2, &other.e), 0);
		for (unsigned int i = 0, done = 0; done < 2; i++) {
			memset(scratch, 0xee, DSI_SCRATCH_LEN);
			if (!dsi_lent(both[i % 2]->a.dsi))
				continue;
			assert_int_equal(advance(both[i % 2]), 0);
			done += afp_take(&both[i % 2]->a) != NULL;
		}
		assert_int_equal(op.dsi.reply_len, op2.dsi.reply_len);
		assert_memory_equal(op.reply, op2.reply, op.dsi.reply_len);
	}
	afp_close(&g->a);
	afp_close(&other.a);
	peer_stop(other.peer);
	peer_free(other.peer);
	free(scratch);
}

/* ---- as a store ---- */

static void a_store_with_a_session_of_its_own_opens_works_and_ends(void **state)
{
	struct rig *g = *state;
	struct store_afp_begin how = {
		.dsi = &g->opts, .server = &g->server, .login = &g->login, .volume = "Fake"
	};
	struct store_op op = { .verb = STORE_MKDIR, .name = "d" };
	struct store *s;
	struct io_wait w;
	int r = 0;

	peer_start(g->peer);
	assert_int_equal(store_begin_afp(&s, &how, &g->e), 0);
	while (!r && s->state == STORE_OPENING) {
		store_wait(s, &w);
		r = store_advance(s, io_wait(&w, 1000 * MS), &g->e);
	}
	assert_int_equal(r, 0);
	assert_int_equal(s->state, STORE_IS_OPEN);
	assert_int_equal(s->chunk_read, 1u << 20);
	op.dir = s->root[0];
	assert_int_equal(store_submit(s, &op, &g->e), 0);
	while (!store_take(s)) {
		store_wait(s, &w);
		assert_int_equal(store_advance(s, io_wait(&w, 1000 * MS), &g->e), 0);
	}
	assert_int_equal(op.result, STORE_OK);
	store_finish(s);
	while (s->state != STORE_ENDED) {
		store_wait(s, &w);
		assert_int_equal(store_advance(s, io_wait(&w, 1000 * MS), &g->e), 0);
	}
	store_close(s);
	peer_stop(g->peer);
	assert_int_equal(g->peer->count[AFP_Logout], 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_waits_but_the_caller),
		TEST(no_advance_is_asked_for_without_a_cause),
		TEST(a_volume_that_is_refused_is_told_with_those_that_there_are),
		TEST(a_login_that_cannot_be_is_an_error_of_that_stage),
		TEST(a_connection_that_ends_at_any_answer_ends_the_start),
		TEST(a_server_at_its_limit_refuses_the_session),
		TEST(sessions_of_a_run_have_its_name_and_one_time_until_they_are_ended),
		TEST(a_server_that_takes_no_name_is_used_without),
		TEST(a_session_older_than_afp_3_1_has_no_name),
		TEST(an_answer_counts_also_where_the_session_ends_with_it),
		TEST(a_greeting_counts_also_where_the_connection_ends_with_it),
		TEST(an_end_while_the_login_is_answered_still_logs_out),
		TEST(the_next_address_is_tried_where_one_refuses),
		TEST(sessions_share_their_scratch_memory),
		TEST(a_store_with_a_session_of_its_own_opens_works_and_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
