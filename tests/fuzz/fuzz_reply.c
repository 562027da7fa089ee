/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a hostile server into everything that reads replies: parameters, entries, the answers
 * of single commands, frames, server information, and a whole session. The first byte chooses.
 *
 *	clang -fsanitize=fuzzer,address,undefined ... fuzz_reply.c    then: fuzz_reply
 *-max_total_time=10 gcc -DFUZZ_STANDALONE ...                                     then: fuzz_reply
 *[SECONDS | FILE...]
 *
 * Without libFuzzer it makes up its own input, from a fixed seed, for so many seconds.
 */
#include "afp/afp.h"
#include "dsi/dsi.h"
#include "fake/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What a parser hands out must be whole strings. */
static void look_at(const struct afp_params *p)
{
	if (strnlen(p->name, sizeof(p->name)) == sizeof(p->name) ||
	    strnlen(p->long_name, sizeof(p->long_name)) == sizeof(p->long_name))
		abort();
}

static void params(const uint8_t *data, size_t len)
{
	struct rbuf b = rbuf_of(data, len);
	uint16_t bitmap = rbuf_u16(&b);
	bool is_dir = rbuf_u8(&b) & 1;
	struct afp_params p;

	afp_params_parse(&p, &b, bitmap, is_dir);
	look_at(&p);
}

static void entries(const uint8_t *data, size_t len)
{
	struct afp_op op = { .code = AFP_Enumerate };
	struct afp_entries it;
	struct afp_params p;
	unsigned int n = 0;

	op.dsi.reply = (void *)(uintptr_t)data;
	op.dsi.reply_len = len;
	if (!afp_entries_begin(&it, &op))
		return;
	while (afp_entries_next(&it, &p)) {
		look_at(&p);
		if (++n > len)
			abort(); /* more entries than bytes */
	}
}

static void answers(const uint8_t *data, size_t len)
{
	struct afp_op op = { .code = AFP_WriteExt };
	struct afp_params p = { .bitmap = 0 };
	uint64_t end;
	uint32_t dir;
	uint16_t fork;

	op.dsi.reply = (void *)(uintptr_t)data;
	op.dsi.reply_len = len;
	afp_get_created_dir(&op, &dir);
	if (afp_get_opened_fork(&op, &fork, &p))
		look_at(&p);
	if (afp_get_fork_params(&op, &p))
		look_at(&p);
	if (afp_get_file_params(&op, &p))
		look_at(&p);
	afp_get_written(&op, &end);
}

static void frames(const uint8_t *data, size_t len)
{
	struct dsi_frame f;
	uint8_t raw[DSI_HEADER_LEN];

	for (; len >= DSI_HEADER_LEN; data += DSI_HEADER_LEN, len -= DSI_HEADER_LEN) {
		if (dsi_frame_parse(&f, data))
			continue;
		dsi_frame_put(raw, &f);
		if (memcmp(raw, data, 12))
			abort();
		dsi_result(f.code);
	}
}

/* ---- a server that sends the bytes, whatever it is asked, and ends ---- */

struct sender {
	const uint8_t *data;
	size_t len;
};

static void send_it(void *user, int fd)
{
	const struct sender *s = user;
	uint8_t asked[4096];

	/* first what asks for an answer, so that the answer is not too early */
	if (recv(fd, asked, sizeof(asked), 0) > 0 &&
	    send(fd, s->data, s->len, MSG_NOSIGNAL) == (ssize_t)s->len)
		shutdown(fd, SHUT_WR);
	while (recv(fd, asked, sizeof(asked), 0) > 0)
		;
}

static void dialogue(const uint8_t *data, size_t len, void (*client)(const struct dsi_opts *opts))
{
	struct sender s = { data, len };
	struct serve serve = { .port = "" };
	const struct dsi_opts opts = {
		.host = "127.0.0.1", .port = serve.port, .window = 4, .timeout_ms = 2000
	};

	serve_start(&serve, send_it, &s);
	client(&opts);
	serve_stop(&serve);
}

static void information(const struct dsi_opts *opts)
{
	struct afp_server server;
	struct err e;

	if (afp_server_info(&server, opts, &e))
		return;
	if (server.n_versions > 16 || server.n_uams > 16)
		abort();
	for (unsigned int i = 0; i < server.n_uams; i++) {
		if (strnlen(server.uam[i], sizeof(server.uam[i])) == sizeof(server.uam[i]))
			abort();
	}
}

static void session(const struct dsi_opts *opts)
{
	const struct afp_login login = { .uam = "guest", .version = 7 };
	struct afp_server server = { .n_uams = 1, .uam = { "No User Authent" } };
	uint8_t listing[AFP_ENUMERATE_MAX];
	const struct afp_enumerate what = { AFP_ROOT_ID, 0x2140, 0x2140, 10, 1, false };
	struct afp_entries it;
	struct afp_params p;
	enum afp_stage stage;
	struct afp_op op;
	struct err e;
	struct afp a;

	if (afp_open(&a, opts, &server, &login, "V", &stage, &e))
		return;
	afp_prep_enumerate(&op, &a, &what, listing);
	if (!afp_call(&a, &op, &e) && afp_entries_begin(&it, &op)) {
		while (afp_entries_next(&it, &p))
			look_at(&p);
	}
	afp_close(&a);
}

/* A reply to the first request around the bytes, so that they are reached at all. */
static void with_header(const uint8_t *data, size_t len, uint8_t command,
			void (*client)(const struct dsi_opts *opts))
{
	const struct dsi_frame f = { DSI_REPLY, command, 0, 0, (uint32_t)len };
	uint8_t *whole = malloc(DSI_HEADER_LEN + len);

	if (!whole)
		abort();
	dsi_frame_put(whole, &f);
	if (len)
		memcpy(whole + DSI_HEADER_LEN, data, len);
	dialogue(whole, DSI_HEADER_LEN + len, client);
	free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *exact, which;

	if (!len || len > 65536)
		return 0;
	which = *data++;
	len--;
	exact = malloc(len ? len : 1); /* of exactly this size, for the sanitizer */
	if (!exact)
		abort();
	if (len)
		memcpy(exact, data, len);
	if (which < 80)
		params(exact, len);
	else if (which < 160)
		entries(exact, len);
	else if (which < 220)
		answers(exact, len);
	else if (which < 250)
		frames(exact, len);
	else if (which < 252)
		with_header(exact, len, DSI_STATUS, information);
	else
		dialogue(exact, len, session);
	free(exact);
	return 0;
}

#ifdef FUZZ_STANDALONE

#include <time.h>

static int run_file(const char *path)
{
	static uint8_t data[65536];
	FILE *f = fopen(path, "re");
	size_t len;

	if (!f) {
		perror(path);
		return 1;
	}
	len = fread(data, 1, sizeof(data), f);
	fclose(f);
	return LLVMFuzzerTestOneInput(data, len);
}

static uint32_t next_random(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

/* Mostly small numbers: lengths, offsets and counts that almost fit. */
static size_t make_up(uint8_t data[static 512])
{
	size_t len = 1 + next_random() % 511;
	uint32_t r;

	for (size_t i = 0; i < len; i++) {
		r = next_random();
		data[i] = r & 3 ? (uint8_t)(r >> 8) % 48 : (uint8_t)(r >> 8);
		if (r >> 28 == 0)
			data[i] = 0;
	}
	r = next_random();
	data[0] = (uint8_t)(r % 500 ? r % 250 : 250 + (r >> 16) % 6);
	return len;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc == 2 ? atoi(argv[1]) : 10);
	unsigned long n = 0;
	uint8_t data[512];
	int r = 0;

	if (argc > 1 && !atoi(argv[1])) {
		for (int i = 1; i < argc; i++)
			r |= run_file(argv[i]);
		return r;
	}
	for (; n % 1000 || time(NULL) < end; n++)
		LLVMFuzzerTestOneInput(data, make_up(data));
	printf("%lu inputs\n", n);
	return 0;
}

#endif
