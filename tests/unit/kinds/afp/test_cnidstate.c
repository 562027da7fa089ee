/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process with a root and a network of its own is the server; its files are invented. */
#include "kinds/afp/looks.h"

#include "unit/began.h"
#include "unit/invented_tree.h"
#include "unit/loopback.h"
#include "unit/wait.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define CONF   "/etc/netatalk/afp.conf"
#define FOLDER "/var/lib/netatalk/CNID"

struct host {
	pid_t server, metad; /* metad has one child */
	struct servers_entry entry;
	struct run_figures f;
};

static void listen_on(int family, uint16_t port)
{
	struct sockaddr_storage at;
	socklen_t len = loopback_addr(&at, family, htons(port));
	int fd = socket(family, SOCK_STREAM, 0);

	/* The loopback device is down. */
	((struct sockaddr_in *)&at)->sin_addr.s_addr = INADDR_ANY;
	if (family == AF_INET6)
		((struct sockaddr_in6 *)&at)->sin6_addr = in6addr_any;
	if (fd < 0 || bind(fd, (void *)&at, len) || listen(fd, 1))
		_exit(1);
}

static pid_t child(void (*fn)(uint16_t port), uint16_t port)
{
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(port);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

/* port 0: nobody listens. */
static void be_server(uint16_t port)
{
	if (unshare(CLONE_NEWNET) || chroot(invented_root))
		_exit(1);
	if (port)
		listen_on(AF_INET, port);
}

static void be_server_v6(uint16_t port)
{
	if (unshare(CLONE_NEWNET) || chroot(invented_root))
		_exit(1);
	listen_on(AF_INET6, port);
}

static void be_metad(uint16_t port)
{
	pid_t metad = getpid(), dbd;

	(void)port;
	signal(SIGCHLD, SIG_IGN); /* waits for it */
	dbd = fork();
	if (dbd)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == metad) /* it may have ended before */
		pause();
	_exit(0);
}

static void host_begin(struct host *h, void (*server)(uint16_t port), uint16_t port)
{
	memset(h, 0, sizeof(*h));
	h->server = child(server, port);
	h->metad = child(be_metad, 0);
	h->entry = (struct servers_entry) {
		.master = h->server, .started = began_now(), .conf = CONF, .cnid_metad = h->metad
	};
}

static int kill_child(void *arg, pid_t pid)
{
	(void)arg;
	return kill(pid, SIGKILL) + 1;
}

static void host_end(const struct host *h)
{
	/* The last of them first: nobody else may wait for orphans. */
	kill(h->metad, SIGCONT);
	wait_until(!procfs_each_child(h->metad, kill_child, NULL));
	kill(h->server, SIGKILL);
	kill(h->metad, SIGKILL);
	waitpid(h->server, NULL, 0);
	waitpid(h->metad, NULL, 0);
}

static void look(struct host *h)
{
	struct settings set = { 0 };

	memset(&h->f, 0, sizeof(h->f));
	settings_read(&set, &h->entry);
	cnidstate_look(&h->f, &h->entry, &set);
	settings_fini(&set);
}

/* -1: not known. */
static double is(const struct host *h, enum run_figure which)
{
	return h->f.known[which] ? h->f.value[which] : -1;
}

/* afp.conf has these lines; a process listens on the port, or none. */
static struct host seen(const char *conf, void (*server)(uint16_t port), uint16_t port)
{
	struct host h;

	invented_file(CONF, conf);
	invented_file(FOLDER "/vol1/file", "");
	host_begin(&h, server, port);
	look(&h);
	host_end(&h);
	return h;
}

#define VOLUME       "[vol1]\npath = /srv\n"
#define OTHER        "[vol2]\npath = /srv2\n"
#define GLOBAL(line) "[Global]\n" line "\n" VOLUME

static const struct {
	const char *conf;
	uint16_t port;
	double down;
	const char *who;
} cases[] = {
	/* By default, at its default port; and by the settings. */
	{ VOLUME, 0, 1, "port 4700" },
	{ VOLUME, 4700, 0, NULL },
	{ VOLUME, 4701, 1, "port 4700" },
	{ VOLUME "cnid scheme = dbd\n", 0, 2, "port 4700" },
	{ VOLUME "cnid scheme = dbd\n", 4700, 0, NULL },
	/* Of a volume, or its preset; in [Global] it says nothing. With SQLite there is none. */
	{ VOLUME "cnid scheme = sqlite\n", 0, 0, NULL },
	{ GLOBAL("cnid scheme = dbd") "cnid scheme = sqlite\n", 0, 0, NULL },
	{ GLOBAL("cnid scheme = mysql") "cnid scheme = dbd\n", 0, 2, "port 4700" },
	{ GLOBAL("cnid scheme = sqlite"), 0, 1, "port 4700" },
	{ "[my]\ncnid scheme = sqlite\n" GLOBAL("vol preset = my"), 0, 0, NULL },
	{ "[my]\ncnid scheme = sqlite\n" VOLUME "vol preset = my\n", 0, 0, NULL },
	{ GLOBAL("cnid server = localhost:4709") "cnid server = localhost:4701\n", 4701, 0, NULL },
	/* Where it is. */
	{ GLOBAL("cnid server = localhost:4701"), 4701, 0, NULL },
	{ GLOBAL("cnid server = localhost"), 4700, 0, NULL },
	{ GLOBAL("cnid server = 127.0.0.1:4702"), 4700, 1, "port 4702" },
	{ GLOBAL("cnid server = [::1]:4701"), 4701, 0, NULL },
	{ GLOBAL("cnid server = [::1]:4701"), 4700, 1, "port 4701" },
	{ GLOBAL("cnid server = [::1]"), 4700, 0, NULL },
	{ GLOBAL("cnid server = ::1"), 4700, 0, NULL },
	/* On another host: what it does cannot be seen. */
	{ GLOBAL("cnid server = 192.0.2.9:4700"), 0, -1, NULL },
	{ GLOBAL("cnid server = [2001:db8::1]:4700"), 0, -1, NULL },
	{ GLOBAL("cnid server = cnid.example.com"), 0, -1, NULL },
	/* Each volume may have its own. */
	{ VOLUME "cnid server = localhost:4701\n" OTHER, 4700, 1, "port 4701" },
	{ VOLUME OTHER "cnid server = localhost:4701\n", 4700, 1, "port 4701" },
	{ VOLUME OTHER "cnid server = localhost:4701\n", 4701, 1, "port 4700" },
	{ VOLUME "cnid scheme = dbd\n" OTHER "cnid server = localhost:4701\n", 4701, 2,
	  "port 4700" },
	{ VOLUME "cnid scheme = dbd\n" OTHER "cnid server = localhost:4701\n", 4700, 1,
	  "port 4701" },
	{ VOLUME OTHER "cnid scheme = sqlite\ncnid server = localhost:4701\n", 4700, 0, NULL },
	{ VOLUME OTHER "cnid server = localhost:4700\n", 4700, 0, NULL },
	{ GLOBAL("cnid server = 192.0.2.9") "cnid server = localhost\n", 4700, 0, NULL },
	{ VOLUME OTHER "cnid server = 192.0.2.9\n", 4700, -1, "on another host" },
	{ VOLUME "cnid server = 192.0.2.9\n" OTHER, 4700, -1, "on another host" },
	{ VOLUME OTHER "cnid scheme = mysql\n", 4700, -1, "database server" },
};

static void a_server_that_nobody_listens_for_is_down(void **state)
{
	struct host h;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		h = seen(cases[i].conf, be_server, cases[i].port);
		if (is(&h, RUN_FIGURE_CNID_DOWN) != cases[i].down ||
		    is(&h, RUN_FIGURE_CNID_HELD) != (cases[i].down < 0 ? -1 : 0))
			fail_msg("case %zu: down %g, held %g", i, is(&h, RUN_FIGURE_CNID_DOWN),
				 is(&h, RUN_FIGURE_CNID_HELD));
		if (cases[i].who)
			assert_non_null(strstr(h.f.who[RUN_FIGURE_CNID_DOWN], cases[i].who));
		assert_true(is(&h, RUN_FIGURE_CNID_FOLDER) == 0);
	}
}

/* The one that is down is named, whatever the others do; whether one is paused is not known. */
static void beside_one_that_is_not_seen_one_is_down(void **state)
{
	static const char *const confs[] = { VOLUME OTHER "cnid server = 192.0.2.9\n",
					     VOLUME OTHER "cnid scheme = mysql\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(confs) / sizeof(confs[0]); i++) {
		struct host h = seen(confs[i], be_server, 0);

		assert_true(is(&h, RUN_FIGURE_CNID_DOWN) == 1);
		assert_non_null(strstr(h.f.who[RUN_FIGURE_CNID_DOWN], "port 4700"));
		assert_true(is(&h, RUN_FIGURE_CNID_HELD) == -1);
	}
}

/* Where the server has not read that port, nobody has to listen there. */
static void settings_that_it_may_not_have_read_say_nothing_of_its_cnid_server(void **state)
{
	struct host h;

	(void)state;
	for (int metad = 0; metad < 2; metad++) {
		invented_file(CONF, GLOBAL("cnid server = localhost:4709") "cnid scheme = dbd\n");
		invented_file(FOLDER "/vol1/file", "");
		host_begin(&h, be_server, 4700);
		h.entry.started = 0; /* with the machine */
		if (!metad)
			h.entry.cnid_metad = 0;
		look(&h);
		/* It may ask another one: that a CNID server lives says nothing of that. */
		assert_true(is(&h, RUN_FIGURE_CNID_DOWN) == -1);
		assert_string_equal(h.f.who[RUN_FIGURE_CNID_DOWN], SETTINGS_MAY_DIFFER);
		assert_true(is(&h, RUN_FIGURE_CNID_HELD) == (metad ? 0 : -1));
		assert_true(is(&h, RUN_FIGURE_CNID_FOLDER) == -1);
		assert_string_equal(h.f.who[RUN_FIGURE_CNID_FOLDER], SETTINGS_MAY_DIFFER);
		host_end(&h);
	}
}

/* Unless one of its processes is known, whether there is one cannot be seen. */
static void a_database_server_is_not_down_while_a_process_of_it_serves(void **state)
{
	struct host h;

	(void)state;
	h = seen(VOLUME "cnid scheme = mysql\n", be_server, 0);
	assert_true(is(&h, RUN_FIGURE_CNID_DOWN) == -1);
	assert_true(is(&h, RUN_FIGURE_CNID_HELD) == -1);
	host_begin(&h, be_server, 0);
	cnidstate_held(&h.f, h.server, &h.entry);
	assert_true(is(&h, RUN_FIGURE_CNID_DOWN) == 0);
	assert_true(is(&h, RUN_FIGURE_CNID_HELD) == 0);
	host_end(&h);
	/* That of another volume may be. */
	h = seen(VOLUME "cnid scheme = mysql\n" OTHER "cnid server = 192.0.2.9\n", be_server, 0);
	h.server = child(be_server, 0);
	cnidstate_held(&h.f, h.server, &h.entry);
	kill(h.server, SIGKILL);
	waitpid(h.server, NULL, 0);
	assert_true(is(&h, RUN_FIGURE_CNID_DOWN) == -1 && is(&h, RUN_FIGURE_CNID_HELD) == -1);
	/* Beside a CNID server that runs there is no other. */
	h = seen(VOLUME OTHER "cnid scheme = mysql\n", be_server, 4700);
	assert_true(is(&h, RUN_FIGURE_CNID_DOWN) == -1 && is(&h, RUN_FIGURE_CNID_HELD) == -1);
	h.server = child(be_server, 0);
	cnidstate_held(&h.f, h.server, &h.entry);
	kill(h.server, SIGKILL);
	waitpid(h.server, NULL, 0);
	assert_true(is(&h, RUN_FIGURE_CNID_DOWN) == 0 && is(&h, RUN_FIGURE_CNID_HELD) == 0);
}

static void a_listener_of_ipv6_is_one(void **state)
{
	struct host h;

	(void)state;
	if (access("/proc/net/tcp6", R_OK))
		skip();
	h = seen("[Global]\ncnid server = [::1]:4701\n" VOLUME, be_server_v6, 4701);
	assert_true(is(&h, RUN_FIGURE_CNID_DOWN) == 0);
}

static pid_t first_child;

static int take_child(void *arg, pid_t pid)
{
	(void)arg;
	first_child = pid;
	return 1;
}

static void a_stopped_process_of_it_is_named(void **state)
{
	struct host h;
	char name[64];

	(void)state;
	invented_file(CONF, VOLUME);
	host_begin(&h, be_server, 4700);
	assert_int_equal(procfs_each_child(h.metad, take_child, NULL), 1);
	look(&h);
	assert_true(is(&h, RUN_FIGURE_CNID_HELD) == 0);
	kill(h.metad, SIGSTOP);
	wait_until(wait_state(h.metad) == 'T');
	look(&h);
	assert_true(is(&h, RUN_FIGURE_CNID_HELD) == 1);
	snprintf(name, sizeof(name), "cnid_metad (pid %d)", h.metad);
	assert_string_equal(h.f.who[RUN_FIGURE_CNID_HELD], name);
	/* It still listens. */
	assert_true(is(&h, RUN_FIGURE_CNID_DOWN) == 0);
	kill(first_child, SIGSTOP);
	wait_until(wait_state(first_child) == 'T');
	look(&h);
	assert_true(is(&h, RUN_FIGURE_CNID_HELD) == 2);
	kill(h.metad, SIGCONT);
	wait_until(wait_state(h.metad) == 'S');
	look(&h);
	assert_true(is(&h, RUN_FIGURE_CNID_HELD) == 1);
	snprintf(name, sizeof(name), "cnid_dbd (pid %d)", first_child);
	assert_string_equal(h.f.who[RUN_FIGURE_CNID_HELD], name);
	host_end(&h);
}

/* false: the file system has no such attribute. */
static bool make_immutable(const char *path, bool immutable)
{
	char folder[PATH_MAX];
	int fd, flags, r;

	snprintf(folder, sizeof(folder), "%s%s", invented_root, path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	r = ioctl(fd, FS_IOC_GETFLAGS, &flags);
	flags = immutable ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
	r = r ? r : ioctl(fd, FS_IOC_SETFLAGS, &flags);
	close(fd);
	return !r;
}

static void an_immutable_folder_is_named(void **state)
{
	static const char *const folders[] = { FOLDER, FOLDER "/vol2" };
	struct host h;

	(void)state;
	invented_file(FOLDER "/vol2/file", "");
	for (int i = 0; i < 2; i++) {
		if (!make_immutable(folders[i], true))
			skip();
		/* The databases of SQLite are there, too. */
		h = seen(i ? VOLUME : VOLUME "cnid scheme = sqlite\n", be_server, 0);
		make_immutable(folders[i], false);
		assert_true(is(&h, RUN_FIGURE_CNID_FOLDER) == 1);
		assert_int_equal(
		    strncmp(h.f.who[RUN_FIGURE_CNID_FOLDER], folders[i], strlen(folders[i])), 0);
		assert_non_null(strstr(h.f.who[RUN_FIGURE_CNID_FOLDER], ": it is immutable"));
		assert_true(is(&h, RUN_FIGURE_CNID_MYSQL) == 0);
	}
	/* A database server has its files elsewhere. */
	assert_true(make_immutable(FOLDER, true));
	h = seen(VOLUME "cnid scheme = mysql\n", be_server, 0);
	make_immutable(FOLDER, false);
	assert_false(h.f.known[RUN_FIGURE_CNID_FOLDER]);
	assert_true(is(&h, RUN_FIGURE_CNID_MYSQL) == 1);
}

static void is_refused_by(unsigned long flags, const char *options, bool fill, const char *why)
{
	/* For all volumes, or for one of them. */
	static const char *const confs[] = { "[Global]\nvol dbpath = /dbs\n" VOLUME,
					     VOLUME "vol dbpath = /dbs\n" OTHER,
					     VOLUME OTHER "vol dbpath = /dbs\n" };
	char folder[PATH_MAX], file[PATH_MAX + 8];
	struct host h;
	int fd;

	invented_folders(folder, "/dbs/");
	if (mount("afpscope", folder, "tmpfs", 0, options))
		skip();
	for (int i = 0; i < 3; i++) {
		snprintf(file, sizeof(file), "%s/%d", folder, i);
		fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		while (fill && write(fd, file, sizeof(file)) > 0)
			;
		close(fd);
	}
	if (flags)
		assert_int_equal(mount(NULL, folder, NULL, MS_REMOUNT | flags, options), 0);
	for (size_t i = 0; i < sizeof(confs) / sizeof(confs[0]); i++) {
		h = seen(confs[i], be_server, 4700);
		if (is(&h, RUN_FIGURE_CNID_FOLDER) != 1)
			fail_msg("case %zu: %g", i, is(&h, RUN_FIGURE_CNID_FOLDER));
		assert_string_equal(h.f.who[RUN_FIGURE_CNID_FOLDER], why);
	}
	umount2(folder, MNT_DETACH);
}

static void a_folder_without_room_is_named(void **state)
{
	(void)state;
	is_refused_by(MS_RDONLY, "size=64k", false, "/dbs: its file system is read-only");
	is_refused_by(0, "size=64k", true, "/dbs: its file system is full");
	is_refused_by(0, "size=64k,nr_inodes=4", false, "/dbs: its file system has no inode left");
}

static void what_cannot_be_seen_is_not_known(void **state)
{
	struct host h;

	(void)state;
	/* No such folder: netatalk makes it. */
	h = seen("[Global]\nvol dbpath = /not/there\n" VOLUME, be_server, 4700);
	assert_true(is(&h, RUN_FIGURE_CNID_FOLDER) == -1);
	assert_true(is(&h, RUN_FIGURE_CNID_DOWN) == 0);
	/* Of one volume; or the databases are in the volumes. */
	h = seen(VOLUME "vol dbpath = /not/there\n" OTHER, be_server, 4700);
	assert_true(is(&h, RUN_FIGURE_CNID_FOLDER) == -1);
	h = seen(GLOBAL("vol dbnest = yes"), be_server, 4700);
	assert_true(is(&h, RUN_FIGURE_CNID_FOLDER) == -1);
	assert_non_null(strstr(h.f.who[RUN_FIGURE_CNID_FOLDER], "dbnest"));
	h = seen(GLOBAL("vol dbpath = /dbs/$v"), be_server, 4700);
	assert_true(is(&h, RUN_FIGURE_CNID_FOLDER) == -1);
	h = seen(GLOBAL("vol dbnest = no"), be_server, 4700);
	assert_true(is(&h, RUN_FIGURE_CNID_FOLDER) == 0);
	host_begin(&h, be_server, 0);
	strcpy(h.entry.conf, "/etc/not-there.conf");
	look(&h);
	assert_true(is(&h, RUN_FIGURE_CNID_DOWN) == -1);
	h.entry.conf[0] = '\0';
	look(&h);
	assert_true(is(&h, RUN_FIGURE_CNID_DOWN) == -1);
	/* Its settings are known, its CNID server is not. */
	strcpy(h.entry.conf, CONF);
	h.entry.cnid_metad = 0;
	look(&h);
	assert_true(is(&h, RUN_FIGURE_CNID_DOWN) == 1);
	assert_true(is(&h, RUN_FIGURE_CNID_HELD) == -1);
	host_end(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_nobody_listens_for_is_down),
		cmocka_unit_test(beside_one_that_is_not_seen_one_is_down),
		cmocka_unit_test(settings_that_it_may_not_have_read_say_nothing_of_its_cnid_server),
		cmocka_unit_test(a_database_server_is_not_down_while_a_process_of_it_serves),
		cmocka_unit_test(a_listener_of_ipv6_is_one),
		cmocka_unit_test(a_stopped_process_of_it_is_named),
		cmocka_unit_test(an_immutable_folder_is_named),
		cmocka_unit_test(a_folder_without_room_is_named),
		cmocka_unit_test(what_cannot_be_seen_is_not_known),
	};

	return cmocka_run_group_tests(tests, invented_tree, invented_gone);
}
