/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose a connection of SMB2 is, by its requests and replies. Tests bpf/decode/smb2.h,
 * bpf/volume.h, user/watch/bpf/sessions.c.
 */
#include "smb2_frames.h"

#include <uchar.h>

#define FIRST_USER  5001
#define SECOND_USER 5002

static void put16(uint8_t *at, unsigned int word)
{
	at[0] = (uint8_t)word;
	at[1] = (uint8_t)(word >> 8);
}

/* A TREE_CONNECT of this path, read in pieces, and its reply. */
static void tree_connect(uint64_t id, const char16_t *path, uint32_t status, size_t piece)
{
	struct bytes in = { 0 }, out = { 0 };
	size_t len = 0;

	while (path[len])
		len++;
	request(&in, AFS_SMB2_TREE_CONNECT, id, 8 + 2 * len);
	put16(in.at + 4 + 68, 72);
	put16(in.at + 4 + 70, (unsigned int)(2 * len));
	for (size_t i = 0; i < len; i++)
		put16(in.at + 4 + 72 + 2 * i, path[i]);
	come(&in, piece);
	reply(&out, AFS_SMB2_TREE_CONNECT, id, status, 16);
	go(&out, sizeof(out.at));
}

static void negotiate(uint64_t id, unsigned int dialect, size_t piece)
{
	struct bytes in = { 0 }, out = { 0 };

	request(&in, AFS_SMB2_NEGOTIATE, id, 40);
	come(&in, sizeof(in.at));
	reply(&out, AFS_SMB2_NEGOTIATE, id, 0, 64);
	put16(out.at + 4 + 68, dialect);
	go(&out, piece);
}

/* In the name of a user; 0: root. */
static void serve_as(uid_t uid, uint64_t id)
{
	come_as_to_smbd(AFS_SMB2_CREATE, id);
	if (setresuid(uid, uid, 0))
		_exit(1);
	go_one(AFS_SMB2_CREATE, id);
	if (setresuid(0, 0, 0))
		_exit(1);
}

static void serve_users_and_shares(struct watched_shared *s)
{
	(void)s;
	connect_one(0);
	negotiate(0, 0x2ff, 4096);
	negotiate(1, 0x302, 68);
	tree_connect(2, u"\\\\127.0.0.1\\資料 📚", 0, 4096);
	tree_connect(3, u"\\\\server.example\\資料 📚", 0, 4096);
	tree_connect(4, u"\\\\127.0.0.1\\none", 0xc00000cc, 4096);
	tree_connect(5, u"\\\\h\\0123456789012345678901234567890123", 0, 4096);
	/* The path comes in two reads: it is not known, but that there was one is. */
	tree_connect(6, u"\\\\127.0.0.1\\split", 0, 80);
	serve_as(0, 7);
	serve_as(FIRST_USER, 8);
	serve_as(SECOND_USER, 9);
	serve_as(FIRST_USER, 10);
}

static void users_shares_and_the_dialect_are_those_of_the_requests(void **state)
{
	const struct run_session *is;
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SMB2, serve_users_and_shares, &r);
	assert_int_equal(r.n_sessions, 1);
	is = &r.session[0];
	assert_int_equal(is->dialect, 0x302);
	assert_string_equal(is->user, "uid 5001, uid 5002");
	assert_int_equal(is->n_volumes, 2);
	assert_string_equal(is->volume[0], "資料 📚");
	assert_string_equal(is->volume[1], "…456789012345678901234567890123");
	assert_int_equal(is->more_volumes, 1);
	assert_string_equal(is->volume_from, "TREE_CONNECT");
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_shares_and_the_dialect_are_those_of_the_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
