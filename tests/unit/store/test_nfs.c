/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories of NFS servers: what a URL says, what is said where there is no library, and which
 * error a text of libnfs is. What the verbs do is in tests/integration/smallfile/test_nfs.py. Tests
 * client/store/nfs.c, nfs_ops.c.
 */
#include "store/nfs_priv.h"
#include "store/store_priv.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define N(array) (sizeof(array) / sizeof((array)[0]))

static void a_url_names_host_port_path_and_how_it_is_used(void **state)
{
	static const struct {
		const char *where, *host, *path;
		int port, version, mountport, uid, gid;
	} row[] = {
		{ "nas/srv/data", "nas", "/srv/data", 2049, 3, 0, -1, -1 },
		{ "nas", "nas", "", 2049, 3, 0, -1, -1 },
		{ "nas/e/?version=4", "nas", "/e", 2049, 4, 0, -1, -1 },
		{ "[::1]:2050/a%20b?mountport=20048&version=3", "::1", "/a b", 2050, 3, 20048, -1,
		  -1 },
		{ "h:1/e/d?uid=0&gid=2147483647", "h", "/e/d", 1, 3, 0, 0, INT32_MAX },
		{ "h/what%3fname?version=4", "h", "/what?name", 2049, 4, 0, -1, -1 },
	};
	struct nfs_place p;
	struct err e;

	(void)state;
	for (size_t i = 0; i < N(row); i++) {
		assert_int_equal(nfs_place_parse(&p, row[i].where, &e), 0);
		assert_string_equal(p.at.host, row[i].host);
		assert_string_equal(p.at.path, row[i].path);
		assert_int_equal(p.at.port, row[i].port);
		assert_int_equal(p.version, row[i].version);
		assert_int_equal(p.mountport, row[i].mountport);
		assert_int_equal(p.uid, row[i].uid);
		assert_int_equal(p.gid, row[i].gid);
	}
}

static void a_wrong_url_is_refused_with_its_form(void **state)
{
	static const struct {
		const char *where, *why;
	} row[] = {
		{ "/export", "there is no host" },
		{ "me@h/export", "it has no users" },
		{ "h:0/export", "the port is not in 1..65535" },
		{ "h/export/%0g", "two hex digits" },
		{ "h/e?version=2", "'version=2' is none of its parameters" },
		{ "h/e?version=4&version=4.1", "'version=4.1' is none of its parameters" },
		{ "h/e?mountport=0", "'mountport=0' is none" },
		{ "h/e?mountport=65536", "'mountport=65536' is none" },
		{ "h/e?uid=-1", "'uid=-1' is none" },
		{ "h/e?gid=2147483648", "'gid=2147483648' is none" },
		{ "h/e?gid= 1", "'gid= 1' is none" },
		{ "h/e?nfsport=2049", "'nfsport=2049' is none" },
		{ "h/e?uid", "'uid' is none" },
		{ "h/e?", "'' is none" },
	};
	struct store_place_login login;
	struct err e;

	(void)state;
	for (size_t i = 0; i < N(row); i++) {
		char place[128];

		snprintf(place, sizeof(place), NFS_PREFIX "%s", row[i].where);
		assert_int_equal(store_place_login(&login, place, &e), -EINVAL);
		assert_non_null(strstr(e.text, row[i].why));
		assert_non_null(strstr(e.text, "nfs://HOST[:PORT]/EXPORT[/PATH]"));
	}
	assert_int_equal(store_place_login(&login, "nfs://h/e", &e), 0); /* nobody logs in */
}

static void a_library_that_cannot_be_used_is_named(void **state)
{
	static const char *const none[] = { "libnfs-of-nobody.so.0", NULL };
	static const char *const libc[] = { "libc.so.6", NULL };
	struct nfs_calls c;
	struct err e;

	(void)state;
	assert_int_equal(nfs_load(&c, none, none, &e), -ENOENT);
	assert_non_null(strstr(e.text, "Debian 12: package libnfs13"));
	assert_non_null(strstr(e.text, "libnfs-of-nobody.so.0"));
	assert_int_equal(nfs_load(&c, libc, none, &e), -ENOENT);
	assert_non_null(strstr(e.text, "libc.so.6 is too old, or another library: it has no nfs_"));
	assert_int_equal(nfs_load(&c, none, libc, &e), -ENOENT);
	assert_non_null(strstr(e.text, "the libnfs here is libc.so.6, whose calls take"));
	assert_non_null(strstr(e.text, "Debian 13: package libnfs14"));
}

static void an_error_is_what_the_server_has_said(void **state)
{
	static const struct {
		int status;
		const char *said;
		int code;
	} row[] = {
		{ -ENOENT, "NFS: Lookup of /a failed with NFS3ERR_NOENT(-2)", ENOENT },
		{ -EFAULT, "NFS: Write failed with NFS3ERR_NOSPC(-28)", ENOSPC },
		{ -EFAULT, "NFS: Write failed with NFS3ERR_DQUOT(-34)", EDQUOT },
		{ -ERANGE, "NFS: CREATE of /a/b failed with NFS3ERR_DQUOT(-34)", EDQUOT },
		{ -EFAULT, "NFS: Read failed with NFS3ERR_ACCES(-13)", EACCES },
		{ -EFAULT, "NFS: Read failed with NFS3ERR_STALE(-116)", ESTALE },
		{ -EFAULT, "NFS: Read failed with NFS3ERR_SERVERFAULT(-5)", EIO },
		{ -EFAULT, "NFS: Write failed. No bytes written!", EIO },
		{ -EAGAIN, "NFS: Lookup of /a failed with NFS3ERR_JUKEBOX(-11)", EBUSY },
		{ -EINVAL, "NFS: SYMLINK failed with NFS3ERR_NOTSUPP(-22)", EOPNOTSUPP },
		{ -ERANGE, "NFS4: OPEN (path /a) failed with NFS4ERR_GRACE(-5)", EBUSY },
		{ -ERANGE, "NFS4: READ (path (null)) failed with NFS4ERR_EXPIRED(-11)", ESTALE },
		{ -ERANGE, "NFS4: OPEN (path /a) failed with NFS4ERR_CLID_INUSE(-5)", EIO },
		{ -EINVAL, "Insufficient ACCESS. Wanted 0000000d but got 00000001.", EACCES },
		{ -EFAULT, "", ECONNRESET },
		{ -EFAULT, "RPC ERROR: Failed to reconnect async", ECONNRESET },
		{ -EINTR, "", ECONNRESET },
		{ -ELOOP, "Symbolic link encountered", ELOOP },
	};

	(void)state;
	for (size_t i = 0; i < N(row); i++)
		assert_int_equal(nfs_errno(row[i].status, row[i].said), row[i].code);
}

/* ---- a library that answers at once ---- */

static struct {
	int status, opened, closed;
	char path[64], text[64];
} fake;

static int fake_open(struct nfs_context *c, const char *path, int flags, nfs_callback done,
		     void *user)
{
	(void)flags;
	fake.opened++;
	snprintf(fake.path, sizeof(fake.path), "%s", path);
	done(fake.status, c, &fake, user);
	return 0;
}

static int fake_close(struct nfs_context *c, struct nfsfh *file, nfs_callback done, void *user)
{
	assert_ptr_equal(file, &fake);
	fake.closed++;
	done(0, c, NULL, user);
	return 0;
}

static char *fake_error(struct nfs_context *c)
{
	(void)c;
	return fake.text;
}

static struct rpc_context *fake_rpc(struct nfs_context *c)
{
	(void)c;
	return NULL;
}

static char *fake_rpc_error(struct rpc_context *c)
{
	(void)c;
	return NULL;
}

static void a_client_that_says_nothing_is_kept_by_a_name_that_is_not_there(void **state)
{
	static const struct {
		int status;
		const char *text;
		int closed;
		bool is_lost;
	} row[] = {
		{ -ENOENT, "NFS: Lookup of /x failed with NFS3ERR_NOENT(-2)", 0, false },
		{ 0, "", 1, false },
		{ -EFAULT, "", 0, true },
	};
	const struct nfs_calls calls = { .open_async = fake_open,
					 .close_async = fake_close,
					 .get_error = fake_error,
					 .get_rpc_context = fake_rpc,
					 .get_rpc_error = fake_rpc_error };

	(void)state;
	for (size_t i = 0; i < N(row); i++) {
		struct nfs n = { .call = &calls, .is_v4 = i == 0 };
		uint64_t due_ns = nfs_keep_ns(&n.r);

		assert_int_equal(due_ns, n.is_v4 ? 20000000000 : 120000000000);
		memset(&fake, 0, sizeof(fake));
		fake.status = row[i].status;
		snprintf(fake.text, sizeof(fake.text), "%s", row[i].text);
		nfs_keep(&n.r);
		assert_int_equal(fake.opened, 1);
		assert_string_equal(fake.path, "/afpscope-still-here");
		assert_int_equal(fake.closed, row[i].closed);
		assert_int_equal(n.r.is_lost, row[i].is_lost);
		assert_true(nfs_keep_ns(&n.r) > due_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_url_names_host_port_path_and_how_it_is_used),
		cmocka_unit_test(a_wrong_url_is_refused_with_its_form),
		cmocka_unit_test(a_library_that_cannot_be_used_is_named),
		cmocka_unit_test(an_error_is_what_the_server_has_said),
		cmocka_unit_test(a_client_that_says_nothing_is_kept_by_a_name_that_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
