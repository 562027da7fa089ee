/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rxperf: OpenAFS's tool of that name. "rxperf client" and "rxperf server" take its options and
 * have its messages and exit codes. What the client does is in rxperf_client.c; the server is that
 * of afpscope rx --serve.
 */
#include "compat/rxperf_tool.h"

#include "drive/rxperf.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 128
#define ARGS_MAX    24 /* of afpscope rx --serve */
#define PROCS_MAX   4096
#define UDP_KIB_MAX (1 << 20)
#define USAGE       (-1)

/* What both have: where a number is, and what the message calls it. */
struct rxperf_number {
	char letter;
	int *to;
	const char *what;
};

/* As the original: it does not say what is wrong. */
static int rxperf_tool_usage(FILE *out, const char *self)
{
	fprintf(out,
		"usage: %s client -c send -b <bytes>\n"
		"usage: %s client -c recv -b <bytes>\n"
		"usage: %s client -c rpc  -S <sendbytes> -R <recvbytes>\n"
		"usage: %s client -c file -f filename\n"
		"%s: usage:\tcommon option to the client -w <write-bytes> -r <read-bytes> "
		"-T times -p port -s server -D\n"
		"usage: %s server -p port\n",
		self, self, self, self, self, self);
	return 1;
}

/* Any base that C knows. -ERANGE also where it does not fit: the original takes its low bits. */
static int rxperf_tool_number(int *out, const char *text)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 0);
	if (*end || errno || n < INT_MIN || n > INT_MAX)
		return -ERANGE;
	*out = (int)n;
	return 0;
}

/* 0; 1: refused, and said; USAGE: no such option. */
static int rxperf_tool_take(const struct rxperf_number *all, int letter)
{
	for (; all->letter; all++) {
		if (all->letter != letter)
			continue;
		if (!rxperf_tool_number(all->to, optarg))
			return 0;
		warnx("can't resolve %s", all->what);
		return 1;
	}
	return USAGE;
}

/* Pieces that a call asks for; of none it would never end. */
static int rxperf_tool_check_piece(int len, const char *what)
{
	if (len > (int)RX_PERF_CHUNK)
		warnx("%d > sizeof(somebuf) (%u)", len, RX_PERF_CHUNK);
	else if (len < 1)
		warnx("can't resolve %s", what);
	else
		return 0;
	return 1;
}

/* It is made, and stays empty: this program has no log of packets. */
static int rxperf_tool_debug_file(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f) {
		warn("fopen %s", path);
		return 1;
	}
	fclose(f);
	return 0;
}

/* ---- client ---- */

static int rxperf_tool_command(struct rxperf_tool *t)
{
	for (int c = 0; c <= RX_PERF_FILE; c++) {
		if (!rx_perf_name((unsigned int)c) ||
		    strcasecmp(rx_perf_name((unsigned int)c), optarg) != 0)
			continue;
		t->command = c;
		return 0;
	}
	warnx("unknown command %s", optarg);
	return 1;
}

static int rxperf_tool_output(struct rxperf_tool *t)
{
	if (t->out != stdout) {
		warnx("-o option given more than once, ignoring -o %s", optarg);
		return 0;
	}
	t->out = fopen(optarg, "w");
	if (t->out)
		return 0;
	t->out = stdout;
	warn("can't open %s", optarg);
	return 1;
}

/* The options without a number. As rxperf_tool_take(). */
static int rxperf_tool_client_option(struct rxperf_tool *t, int letter)
{
	switch (letter) {
	case 'c':
		return rxperf_tool_command(t);
	case 'd':
		return rxperf_tool_debug_file(optarg);
	case 'o':
		return rxperf_tool_output(t);
	case 's':
		t->host = optarg;
		return 0;
	case 'f':
		t->file = optarg;
		return 0;
	case 'D':
		t->stats = true;
		return 0;
	case 'N':
		t->no_stats = true;
		return 0;
	case 'j':
		t->no_jumbo = true;
		return 0;
	case 'H': /* which thread listens; how it reads; which version of IP */
	case 'V':
	case '4':
		return 0;
	default:
		return USAGE;
	}
}

static int rxperf_tool_check_client(const struct rxperf_tool *t)
{
	const char *why = NULL;

	if (t->threads > THREADS_MAX)
		why = "too many threads";
	else if (t->no_stats && t->stats)
		why = "cannot set both -N and -D";
	else if (t->threads > 1 && t->command == RX_PERF_FILE)
		why = "cannot use multiple threads with file command";
	else if (t->command < 0)
		why = "no command given to the client";
	else if (t->bytes < 0 || t->sent < 0 || t->received < 0)
		why = "a number of bytes is less than 0";
	else if (t->threads < 1)
		why = "can't resolve number of threads to execute";
	if (why)
		warnx("%s", why);
	return why != NULL;
}

/* argv: from "client" on. */
static int rxperf_tool_parse(struct rxperf_tool *t, int argc, char **argv, const char *self)
{
	const struct rxperf_number numbers[] = {
		{ 'b', &t->bytes, "number of bytes to transfer" },
		{ 'S', &t->sent, "number of bytes to send" },
		{ 'R', &t->received, "number of bytes to receive" },
		{ 'T', &t->times, "number of times to execute rpc" },
		{ 't', &t->threads, "number of threads to execute" },
		{ 'r', &t->read_len, "readsize" },
		{ 'w', &t->write_len, "writesize" },
		{ 'u', &t->udp_kib, "upd buffer size (Kbytes)" },
		{ 'W', &t->window, "max send/recv window size (packets)" },
		{ 'm', &t->mtu, "rx maxmtu to use" },
		{ 'P', &t->least_rtt_ms, "min peer timeout" },
		{ 'p', &t->port, "portname" },
		{ 0, NULL, NULL },
	};
	int letter, r = 0;

	while (!r &&
	       (letter = getopt(argc, argv, "T:S:R:b:c:d:o:p:P:r:s:w:W:f:HDNjm:u:4:t:V")) != -1) {
		r = rxperf_tool_client_option(t, letter);
		r = r == USAGE ? rxperf_tool_take(numbers, letter) : r;
	}
	if (r == USAGE || (!r && optind != argc))
		return rxperf_tool_usage(stderr, self);
	r = r ? r : rxperf_tool_check_piece(t->read_len, "readsize");
	r = r ? r : rxperf_tool_check_piece(t->write_len, "writesize");
	return r ? r : rxperf_tool_check_client(t);
}

static int rxperf_tool_run_client(int argc, char **argv, const char *self)
{
	struct rxperf_tool t = { .command = -1,
				 .bytes = 1 << 20,
				 .sent = 3,
				 .received = 30,
				 .times = 100,
				 .threads = 1,
				 .read_len = RX_PERF_CHUNK,
				 .write_len = RX_PERF_CHUNK,
				 .port = RX_PERF_PORT,
				 .host = "127.0.0.1",
				 .out = stdout };
	int r = rxperf_tool_parse(&t, argc, argv, self);

	r = r ? r : rxperf_tool_client(&t);
	if (t.out != stdout && fclose(t.out) && !r) {
		warn("fclose");
		r = 1;
	}
	return r;
}

/* ---- server ---- */

struct rxperf_tool_server {
	int least, most, port, udp_kib, window, mtu, read_len, write_len, timeout;
	bool no_jumbo;
};

/* The options without a number. As rxperf_tool_take(). */
static int rxperf_tool_server_option(struct rxperf_tool_server *s, int letter)
{
	if (letter == 'd')
		return rxperf_tool_debug_file(optarg);
	if (!strchr("jHNV4", letter))
		return USAGE;
	s->no_jumbo |= letter == 'j';
	return 0;
}

/* argv: from "server" on. */
static int rxperf_tool_parse_server(struct rxperf_tool_server *s, int argc, char **argv,
				    const char *self)
{
	const struct rxperf_number numbers[] = {
		{ 's', &s->least, "minprocs" },
		{ 'S', &s->most, "maxprocs" },
		{ 'p', &s->port, "portname" },
		{ 'P', &s->timeout, "min peer timeout" },
		{ 'r', &s->read_len, "readsize" },
		{ 'w', &s->write_len, "writesize" },
		{ 'm', &s->mtu, "rx maxmtu to use" },
		{ 'u', &s->udp_kib, "upd buffer size (Kbytes)" },
		{ 'W', &s->window, "max send/recv window size (packets)" },
		{ 0, NULL, NULL },
	};
	int letter, r = 0;

	while (!r && (letter = getopt(argc, argv, "r:d:p:P:w:W:HNjm:u:4:s:S:V")) != -1) {
		r = rxperf_tool_server_option(s, letter);
		r = r == USAGE ? rxperf_tool_take(numbers, letter) : r;
	}
	if (r == USAGE || (!r && optind != argc))
		return rxperf_tool_usage(stderr, self);
	return r;
}

/* afpscope is beside this program, or is this program. Returns only if it cannot be run. */
static int rxperf_tool_exec(char **args)
{
	char self[PATH_MAX], program[PATH_MAX + 16];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[len > 0 ? len : 0] = '\0';
	snprintf(program, sizeof(program), "%s/afpscope", dirname(self));
	execv(program, args);
	warn("cannot run %s", program);
	return 1;
}

static int rxperf_tool_within(int n, int least, int most)
{
	return n < least ? least : n > most ? most : n;
}

static int rxperf_tool_run_server(int argc, char **argv, const char *self)
{
	struct rxperf_tool_server s = {
		.least = 2, .most = 20, .port = RX_PERF_PORT, .udp_kib = 64, .window = RX_WINDOW
	};
	char text[6][16], *args[ARGS_MAX];
	static char name[] = "afpscope", rx[] = "rx", serve[] = "--serve", jumbo[] = "-j";
	static char flags[6][3] = { "-s", "-S", "-p", "-u", "-W", "-m" };
	int n = 0, value[6], r = rxperf_tool_parse_server(&s, argc, argv, self);

	if (r)
		return r;
	value[0] = rxperf_tool_within(s.least, 0, PROCS_MAX);
	value[1] = rxperf_tool_within(s.most, 1, PROCS_MAX);
	value[2] = (uint16_t)s.port;
	value[3] = rxperf_tool_within(s.udp_kib, 64, UDP_KIB_MAX);
	value[4] = s.window > 0 ? rxperf_tool_within(s.window, 1, RX_WINDOW_MAX) : (int)RX_WINDOW;
	value[5] = (int)rxperf_tool_packet(s.mtu);
	args[n++] = name;
	args[n++] = rx;
	args[n++] = serve;
	if (s.no_jumbo)
		args[n++] = jumbo;
	for (int i = 0; i < 6; i++) {
		snprintf(text[i], sizeof(text[i]), "%d", value[i]);
		args[n++] = flags[i];
		args[n++] = text[i];
	}
	args[n] = NULL;
	return rxperf_tool_exec(args);
}

int cmd_rxperf_tool(int argc, char **argv)
{
	const char *self = program_invocation_short_name;
	const char *what = argc > 1 ? argv[1] : "";

	optind = 0; /* the options begin anew, and getopt() says what is wrong */
	opterr = 1;
	if (!strcmp(what, "client"))
		return rxperf_tool_run_client(argc - 1, argv + 1, self);
	if (!strcmp(what, "server"))
		return rxperf_tool_run_server(argc - 1, argv + 1, self);
	return rxperf_tool_usage(stderr, self);
}
