/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who serves a connection: real sockets between real processes.
 * Tests user/kinds/target.c.
 */
#include "watched.h"

#include "host/net/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Listens on a loopback address of the family; "any": on :: for both families. */
struct server {
	int fd;
	struct sockaddr_storage at;
	socklen_t at_len;
};

static struct server listen_at(int family, bool any)
{
	struct server s = { .at_len = sizeof(s.at) };
	struct sockaddr_in *v4 = (void *)&s.at;
	struct sockaddr_in6 *v6 = (void *)&s.at;

	memset(&s.at, 0, sizeof(s.at));
	s.at.ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		s.at_len = sizeof(*v4);
	} else {
		v6->sin6_addr = any ? in6addr_any : in6addr_loopback;
		s.at_len = sizeof(*v6);
	}
	s.fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s.fd < 0 || bind(s.fd, (void *)&s.at, s.at_len) || listen(s.fd, 64))
		return (struct server) { .fd = -1 };
	getsockname(s.fd, (void *)&s.at, &s.at_len);
	return s;
}

static int connect_to(const struct server *s, struct watch_opts *o)
{
	socklen_t local_len = sizeof(o->local), peer_len = sizeof(o->peer);
	int fd = socket(s->at.ss_family, SOCK_STREAM, 0);

	memset(o, 0, sizeof(*o));
	assert_int_equal(connect(fd, (const void *)&s->at, s->at_len), 0);
	assert_int_equal(getsockname(fd, (void *)&o->local, &local_len), 0);
	assert_int_equal(getpeername(fd, (void *)&o->peer, &peer_len), 0);
	return fd;
}

/* Takes one connection, in a process of its own that holds nothing else of it. */
static pid_t serve(const struct server *s)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A pipe of whoever started the test would make it a program that may carry on. */
	if (s->fd > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned int)s->fd - 1, 0);
	close_range((unsigned int)s->fd + 1, ~0u, 0);
	if (accept(s->fd, NULL, NULL) < 0)
		_exit(1);
	for (;;)
		pause();
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The connection is accepted soon after connect() has returned. */
static int find(struct target *t, const struct watch_opts *o, struct err *e)
{
	int r = -1;

	for (int i = 0; i < 200; i++) {
		r = target_find(t, &o->local, &o->peer, e);
		if (r != -ENXIO)
			return r;
		usleep(5000);
	}
	return r;
}

static void check_family(int family)
{
	struct server s = listen_at(family, false);
	struct watch_opts o;
	struct err e = {};
	struct target t;
	pid_t pid;
	int fd;

	if (s.fd < 0)
		skip();
	pid = serve(&s);
	fd = connect_to(&s, &o);
	if (find(&t, &o, &e))
		fail_msg("%s", e.text);
	assert_int_equal(t.server, pid);
	assert_true(t.client != 0);
	assert_string_equal(t.way.note, "");
	close(fd);
	close(s.fd);
	end(pid);
}

static void the_owner_of_the_other_end_is_found_v4(void **state)
{
	(void)state;
	check_family(AF_INET);
}

static void the_owner_of_the_other_end_is_found_v6(void **state)
{
	(void)state;
	check_family(AF_INET6);
}

/* The client speaks IPv4, the server's socket is IPv6. */
static void a_mapped_address_is_found(void **state)
{
	struct server s = listen_at(AF_INET6, true), v4 = { .at_len = sizeof(struct sockaddr_in) };
	struct sockaddr_in *to = (void *)&v4.at;
	struct watch_opts o;
	struct err e = {};
	struct target t;
	pid_t pid;
	int fd;

	(void)state;
	if (s.fd < 0)
		skip();
	to->sin_family = AF_INET;
	to->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to->sin_port = ((struct sockaddr_in6 *)&s.at)->sin6_port;
	pid = serve(&s);
	fd = connect_to(&v4, &o);
	if (find(&t, &o, &e))
		fail_msg("%s", e.text);
	assert_int_equal(t.server, pid);
	close(fd);
	close(s.fd);
	end(pid);
}

/* A program that inherits the connection, as a login helper would. */
static void be_helper(int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fcntl(fd, F_SETFD, 0);
	execl("/bin/sleep", "sleep", "100", NULL);
	_exit(1);
}

/* Like afpd's master, which keeps the connection here, its session, and the helper of that. */
static void be_master(const struct server *s, pid_t *session, pid_t *helper)
{
	int fd = accept(s->fd, NULL, NULL);
	pid_t pid;

	prctl(PR_SET_NAME, "afpd");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pid = fork();
		if (!pid)
			be_helper(fd);
		*helper = pid;
	} else {
		*session = pid;
	}
	for (;;)
		pause();
}

static void the_session_is_chosen_among_its_relatives_and_decoys(void **state)
{
	struct server s = listen_at(AF_INET, false);
	struct watch_opts o, other;
	struct procstat st;
	pid_t pid, decoy[10], *shared;
	struct err e = {};
	struct target t;
	int fd[11];

	(void)state;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 5; i++) {
		decoy[i] = serve(&s);
		fd[i] = connect_to(&s, &other);
		usleep(20000);
	}
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_master(&s, &shared[0], &shared[1]);
	}
	fd[10] = connect_to(&s, &o);
	/* Until the helper is another program. */
	for (int i = 0; i < 400; i++) {
		if (shared[1] && !procstat_read(&st, shared[1]) && !strcmp(st.comm, "sleep"))
			break;
		usleep(5000);
	}
	for (int i = 5; i < 10; i++) {
		decoy[i] = serve(&s);
		fd[i] = connect_to(&s, &other);
	}
	if (find(&t, &o, &e))
		fail_msg("%s", e.text);
	assert_int_equal(t.server, shared[0]);
	assert_string_equal(t.way.note, "");
	for (int i = 0; i < 10; i++)
		end(decoy[i]);
	for (int i = 0; i < 11; i++)
		close(fd[i]);
	kill(shared[1], SIGKILL);
	kill(shared[0], SIGKILL);
	end(pid);
	close(s.fd);
}

/* afpd's side: connects to its CNID server, then waits. */
static void be_afpd(const char *name, const struct server *clients, const struct server *cnid)
{
	int fd, to = socket(cnid->at.ss_family, SOCK_STREAM, 0);

	prctl(PR_SET_NAME, name);
	fd = accept(clients->fd, NULL, NULL);
	if (fd < 0 || connect(to, (const void *)&cnid->at, cnid->at_len))
		_exit(1);
	for (;;)
		pause();
}

static void be_cnid(const struct server *s, const char *name)
{
	int fd = accept(s->fd, NULL, NULL);

	prctl(PR_SET_NAME, name);
	if (fd < 0)
		_exit(1);
	for (;;)
		pause();
}

/* Of a server that is called so. n_inodes: those that the kernel's programs have to be given. */
static void check_cnid_of(const char *server, struct server *cnid, const char *name, bool want,
			  uint32_t n_inodes)
{
	struct server s = listen_at(AF_INET, false);
	struct watch_opts o;
	struct err e = {};
	struct target t;
	pid_t afpd, dbd;
	int fd;

	dbd = fork();
	if (!dbd) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_cnid(cnid, name);
	}
	afpd = fork();
	if (!afpd) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_afpd(server, &s, cnid);
	}
	fd = connect_to(&s, &o);
	if (find(&t, &o, &e))
		fail_msg("%s", e.text);
	assert_int_equal(t.server, afpd);
	for (int i = 0; i < (want ? 400 : 20) && t.n < 2; i++) {
		usleep(5000);
		target_look(&t);
	}
	assert_int_equal(target_count(&t, AFS_ROLE_BACKEND), want);
	assert_int_equal(t.known.n, n_inodes);
	if (want)
		assert_int_equal(t.process[1].pid, dbd);
	assert_int_equal(t.process[1].foreign, want && strcmp(name, "cnid_dbd") != 0);
	close(fd);
	close(s.fd);
	end(afpd);
	end(dbd);
}

static void check_cnid(struct server *cnid, const char *name, bool want, uint32_t n_inodes)
{
	check_cnid_of("afpd", cnid, name, want, n_inodes);
}

/* Another program with connections of its own carries on what it reads. */
static void what_asks_a_cnid_server_is_a_server_by_any_name(void **state)
{
	struct server cnid = listen_at(AF_INET, false);

	(void)state;
	check_cnid_of("lt-afpd", &cnid, "cnid_dbd", true, 3);
	close(cnid.fd);
}

static void the_cnid_server_is_found_by_its_connection(void **state)
{
	struct server cnid = listen_at(AF_INET, false);

	(void)state;
	check_cnid(&cnid, "cnid_dbd", true, 3);
	check_cnid(&cnid, "cnid_metad", false, 1);
	close(cnid.fd);
}

static bool has_unix_diag(void)
{
	struct sockets all;
	bool found = false;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(sockets_read(&all, NULL), 0);
	for (size_t i = 0; i < all.n; i++)
		found |= all.entry[i].peer != 0;
	sockets_fini(&all);
	close(pair[0]);
	close(pair[1]);
	return found;
}

static void check_unix(const char *path, const char *name, bool want, uint32_t n_inodes)
{
	struct server s = { .fd = socket(AF_UNIX, SOCK_STREAM, 0) };
	struct sockaddr_un *at = (void *)&s.at;

	if (!has_unix_diag())
		skip();
	at->sun_family = AF_UNIX;
	snprintf(at->sun_path, sizeof(at->sun_path), "%s", path);
	unlink(path);
	s.at_len = sizeof(*at);
	assert_int_equal(bind(s.fd, (void *)at, s.at_len), 0);
	assert_int_equal(listen(s.fd, 4), 0);
	check_cnid(&s, name, want, n_inodes);
	unlink(path);
	close(s.fd);
}

static void a_cnid_server_on_a_unix_socket_is_found(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/afpscope-cnid-%d", getpid());
	check_unix(path, "cnid_dbd", true, 3);
	check_unix(path, "somebody", false, 1);
}

/* Whatever it is called: afpd is connected to it, and it is bound where MySQL is. */
static void a_database_server_is_found_by_its_socket(void **state)
{
	char dir[64], path[96];

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/afpscope-mysql-%d", getpid());
	snprintf(path, sizeof(path), "%s/mysqld.sock", dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	check_unix(path, "somebody", true, 2);
	rmdir(dir);
}

static void a_database_server_is_found_by_its_port(void **state)
{
	struct server s = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	struct sockaddr_in *at = (void *)&s.at;

	(void)state;
	at->sin_family = AF_INET;
	at->sin_port = htons(3306);
	inet_pton(AF_INET, "127.3.3.6", &at->sin_addr);
	s.at_len = sizeof(*at);
	if (bind(s.fd, (void *)at, s.at_len))
		skip(); /* another has it, on all addresses */
	assert_int_equal(listen(s.fd, 4), 0);
	check_cnid(&s, "somebody", true, 1);
	close(s.fd);
}

enum { SESSION, END_SESSION }; /* indices of "value": its number, and whether it is to end */

/* A server's parent: a session comes, or goes. */
static void sessions_come_and_go(struct watched_shared *s)
{
	pid_t pid;

	if (s->value[END_SESSION])
		return end((pid_t)s->value[SESSION]);
	pid = fork();
	if (pid) {
		s->value[SESSION] = (uint64_t)pid;
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

#define STRANGERS_CALLS 5000

/* Makes its calls once *go is 1, and says so by 2. */
static void be_a_stranger(volatile uint64_t *go)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!*go)
		usleep(1000);
	for (int i = 0; i < STRANGERS_CALLS; i++)
		syscall(SYS_getppid);
	*go = 2;
	for (;;)
		pause();
}

static pid_t fork_numbered(pid_t number)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&number,
		.set_tid_size = 1,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* Place: process number that comes again | exact */
static void the_number_of_a_session_that_ended_is_anothers(void **state)
{
	volatile uint64_t *go;
	pid_t session, stranger;
	struct watched x;

	(void)state;
	watched_start(&x, sessions_come_and_go);
	watched_open(&x, (struct target) { .whole = true });
	watched_step(&x);
	ledger_fini(&x.diff);
	watch_tick(x.w);
	session = (pid_t)x.shared->value[SESSION];
	assert_int_equal(watch_process(x.w, AFS_ROLE_SERVER, &(size_t) { 1 }), session);
	x.shared->value[END_SESSION] = 1;
	watched_step(&x);
	ledger_fini(&x.diff);

	/* By its number and its start, in ticks of 10 ms, the kernel tells a process. */
	usleep(20000);
	go = &x.shared->value[2];
	stranger = fork_numbered(session);
	assert_true(stranger >= 0);
	if (!stranger)
		be_a_stranger(go);
	assert_int_equal(stranger, session);
	x.shared->value[END_SESSION] = 0;
	watched_step(&x);
	ledger_fini(&x.diff);
	watch_tick(x.w);
	/* The place of one that ended is used again. */
	assert_int_equal(watch_process(x.w, AFS_ROLE_SERVER, &(size_t) { 1 }),
			 x.shared->value[SESSION]);

	assert_int_equal(watch_read(x.w, &x.before), 0);
	for (*go = 1; *go != 2;)
		usleep(1000);
	assert_int_equal(watch_read(x.w, &x.after), 0);
	assert_int_equal(ledger_diff(&x.diff, &x.after, &x.before), 0);
	watched_check(&x, AFS_ROLE_SERVER, NULL, 0);
	ledger_fini(&x.before);
	ledger_fini(&x.after);
	end(stranger);
	watched_end(&x);
}

/* A server to which clients log in until *stop is 1; then it says how many. */
static void be_a_busy_server(volatile uint64_t *stop)
{
	uint64_t n = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (; !*stop; n++) {
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		usleep(2000);
	}
	stop[1] = n;
	for (;;)
		pause();
}

/* Place: sessions that begin while the watch opens | exact */
static void sessions_that_begin_while_the_watch_opens_are_watched(void **state)
{
	volatile uint64_t *stop = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct target t = { .whole = true };
	struct err e = {};
	struct watch *w;
	size_t n = 0;

	(void)state;
	t.server = fork();
	if (!t.server)
		be_a_busy_server(stop);
	usleep(20000);
	if (watch_open_target(&w, WATCH_BPF, &t, &e))
		fail_msg("%s", e.text);
	*stop = 1;
	while (!stop[1])
		usleep(1000);
	watch_tick(w);
	for (size_t at = 1; watch_process(w, AFS_ROLE_SERVER, &at);)
		n++;
	assert_int_equal(n, stop[1]);
	watch_free(w);
	end(t.server);
	munmap((void *)stop, 4096);
}

static void a_server_elsewhere_is_said_to_be(void **state)
{
	struct watch_opts o = { .mode = WATCH_AUTO };
	struct sockaddr_in *local = (void *)&o.local, *peer = (void *)&o.peer;
	struct err e = {};
	struct watch *w;
	struct target t;
	struct run r;

	(void)state;
	local->sin_family = peer->sin_family = AF_INET;
	local->sin_port = peer->sin_port = htons(1);
	inet_pton(AF_INET, "127.0.0.1", &local->sin_addr);
	inet_pton(AF_INET, "192.0.2.7", &peer->sin_addr);
	assert_int_equal(target_find(&t, &o.local, &o.peer, &e), -ENXIO);
	assert_non_null(strstr(e.text, "192.0.2.7"));
	assert_non_null(strstr(e.text, "not on this host"));
	inet_pton(AF_INET, "127.0.0.1", &peer->sin_addr);
	assert_int_equal(target_find(&t, &o.local, &o.peer, &e), -ENXIO);
	assert_non_null(strstr(e.text, "network namespace"));
	/* Which turns the watch off, unless it was asked for. */
	assert_int_equal(watch_open(&w, &o, &e), 0);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(watch_finish(w, &r), 0);
	assert_non_null(strstr(run_note_find(&r.absent, "*"), "network namespace"));
	run_fini(&r);
	watch_free(w);
	o.mode = WATCH_BPF;
	assert_int_equal(watch_open(&w, &o, &e), -ENXIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_owner_of_the_other_end_is_found_v4),
		cmocka_unit_test(the_owner_of_the_other_end_is_found_v6),
		cmocka_unit_test(a_mapped_address_is_found),
		cmocka_unit_test(the_session_is_chosen_among_its_relatives_and_decoys),
		cmocka_unit_test(what_asks_a_cnid_server_is_a_server_by_any_name),
		cmocka_unit_test(the_cnid_server_is_found_by_its_connection),
		cmocka_unit_test(a_cnid_server_on_a_unix_socket_is_found),
		cmocka_unit_test(a_database_server_is_found_by_its_socket),
		cmocka_unit_test(a_database_server_is_found_by_its_port),
		cmocka_unit_test(the_number_of_a_session_that_ended_is_anothers),
		cmocka_unit_test(sessions_that_begin_while_the_watch_opens_are_watched),
		cmocka_unit_test(a_server_elsewhere_is_said_to_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
