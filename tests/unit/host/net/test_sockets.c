/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's socket diagnostics and its tables in /proc say the same about a connection. */
#include "host/net/sockets.h"

#include "unit/loopback.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

static uint64_t inode(int fd)
{
	struct stat st;

	assert_return_code(fstat(fd, &st), 0);
	return st.st_ino;
}

static void check_kind(enum loopback_kind kind)
{
	const struct sockets_entry *dumped;
	const struct sockets_entry *found;
	struct sockets all, listed;
	struct sockets_addr addr;
	struct loopback l;
	struct err e = { 0 };

	if (!loopback_listen(&l, kind))
		skip();
	assert_true(loopback_connect(&l, kind, 0));
	l.server = accept4(l.listener, NULL, NULL, SOCK_CLOEXEC);
	assert_return_code(l.server, 0);
	assert_int_equal(sockets_read_proc(&listed, getpid()), 0);
	found = sockets_of_inode(&listed, inode(l.listener));
	assert_true(found && found->listens);
	sockets_fini(&listed);
	assert_int_equal(sockets_read_proc(&listed, 0), 0);
	found = sockets_of_inode(&listed, inode(l.client));
	assert_true(found && !found->listens);
	assert_true(sockets_addr(&addr, &l.local));
	assert_memory_equal(found->local.ip, addr.ip, sizeof(addr.ip));
	assert_int_equal(found->local.port, addr.port);
	assert_true(sockets_addr(&addr, &l.peer));
	assert_memory_equal(found->remote.ip, addr.ip, sizeof(addr.ip));
	assert_int_equal(found->remote.port, addr.port);
	assert_int_equal(found->uid, geteuid());

	assert_int_equal(sockets_read(&all, &e), 0);
	dumped = sockets_of_inode(&all, inode(l.client));
	assert_true(dumped && !dumped->listens);
	assert_memory_equal(dumped->local.ip, found->local.ip, sizeof(addr.ip));
	assert_memory_equal(dumped->remote.ip, found->remote.ip, sizeof(addr.ip));
	assert_int_equal(dumped->local.port, found->local.port);
	assert_int_equal(dumped->remote.port, found->remote.port);
	assert_int_equal(dumped->uid, found->uid);
	assert_int_equal(sockets_peer(&all, inode(l.client)), inode(l.server));
	dumped = sockets_of_inode(&all, inode(l.listener));
	assert_true(dumped && dumped->listens);
	assert_int_equal(sockets_peer(&all, inode(l.listener)), 0);
	sockets_fini(&all);
	sockets_fini(&listed);
	loopback_end(&l);
}

static void both_know_a_connection_and_its_ends_v4(void **state)
{
	(void)state;
	check_kind(LOOPBACK_V4);
}

static void both_know_a_connection_and_its_ends_v6(void **state)
{
	(void)state;
	check_kind(LOOPBACK_V6);
}

static void both_know_a_connection_and_its_ends_mapped(void **state)
{
	(void)state;
	check_kind(LOOPBACK_MAPPED);
}

/* Other than TCP ones these are in no table that is read here. */
static void a_unix_socket_is_known_by_its_path_and_its_other_end(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char folder[] = "/tmp/afpscope-sockets-XXXXXX";
	const struct sockets_entry *entry;
	int listener, client, server;
	struct sockets all;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", folder);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_return_code(bind(listener, (void *)&at, sizeof(at)), 0);
	assert_return_code(listen(listener, 1), 0);
	assert_return_code(connect(client, (void *)&at, sizeof(at)), 0);
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_return_code(server, 0);
	assert_return_code(stat(at.sun_path, &st), 0);
	assert_int_equal(sockets_read(&all, NULL), 0);
	assert_int_equal(sockets_peer(&all, inode(client)), inode(server));
	entry = sockets_of_inode(&all, inode(listener));
	assert_non_null(entry);
	assert_string_equal(entry->path, at.sun_path);
	assert_int_equal(entry->file_ino, st.st_ino);
	assert_int_equal(entry->peer, 0);
	sockets_fini(&all);
	close(client);
	close(server);
	close(listener);
	unlink(at.sun_path);
	rmdir(folder);
}

static void a_process_that_has_ended_has_no_sockets_to_list(void **state)
{
	struct sockets all;

	(void)state;
	/* No process has this number. */
	assert_int_equal(sockets_read_proc(&all, 1 << 30), -ENOENT);
	sockets_fini(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_know_a_connection_and_its_ends_v4),
		cmocka_unit_test(both_know_a_connection_and_its_ends_v6),
		cmocka_unit_test(both_know_a_connection_and_its_ends_mapped),
		cmocka_unit_test(a_unix_socket_is_known_by_its_path_and_its_other_end),
		cmocka_unit_test(a_process_that_has_ended_has_no_sockets_to_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
