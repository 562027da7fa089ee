/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rxperf: OpenAFS's tool of that name. "rxperf client" and "rxperf server" take its options and
 * have its exit codes, 0 and 1; the client prints one line for each test. The calls are those of
 * afpscope rx.
 */
#include "app/cmd.h"
#include "base/file.h"
#include "compat/peer.h"
#include "drive/rx_serve.h"
#include "drive/rxperf.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_MAX   64 /* of afpscope rx */
#define OF_IP_UDP  28 /* headers that an MTU includes */
#define LIST_LEN   4096
#define NS_PER_MS  1e6
#define BYTES_A_MB 1e6

/* The command line of afpscope rx. */
struct args {
	int n;
	char *word[ARGS_MAX];
	char flag[ARGS_MAX][3]; /* "-c" */
	char packet[16], list[LIST_LEN];
};

static const char usage[] =
    "Usage: rxperf client -c COMMAND [-s HOST] [-p PORT] [-t THREADS] [-T CALLS] [-b BYTES]\n"
    "                     [-S BYTES] [-R BYTES] [-f FILE] [-u KIB] [-W PACKETS] [-j] [-m MTU]\n"
    "                     [-r BYTES] [-w BYTES]\n"
    "       rxperf server [-p PORT] [-s LEAST] [-S MOST] [-u KIB] [-W PACKETS] [-j] [-m MTU]\n"
    "In place of OpenAFS's rxperf. COMMAND: send, recv, rpc, file. afpscope rx does the same and\n"
    "shows more. -d FILE, -D, -H, -N, -v and -V are accepted and have no effect.\n";

static int rxperf_tool_put(struct args *a, char *word, struct err *e)
{
	if (a->n == ARGS_MAX - 1)
		return err_set(e, -E2BIG, "too many options");
	a->word[a->n++] = word;
	return 0;
}

/* The numbers in a file, with commas between, as -f of afpscope rx has them. */
static int read_list(struct args *a, const char *path, struct err *e)
{
	char *text;
	int r = file_read(&text, path, LIST_LEN - 1, e);
	size_t n;

	if (r)
		return r;
	n = strlen(strcpy(a->list, text));
	free(text);
	while (n && isspace((unsigned char)a->list[n - 1]))
		n--;
	a->list[n] = '\0';
	for (char *at = a->list; *at; at++)
		if (isspace((unsigned char)*at))
			*at = ',';
	return 0;
}

/* afpscope rx has the length of a packet without the headers of IP and UDP. */
static int packet_of_mtu(struct args *a, const char *text, struct err *e)
{
	const struct opt row = { .type = OPT_UINT, .min = 156, .max = 16384 + OF_IP_UDP };
	uint64_t mtu;
	int r = opt_number(&row, "-m", text, &mtu, e);

	if (!r)
		snprintf(a->packet, sizeof(a->packet), "%u", (unsigned int)mtu - OF_IP_UDP);
	return r;
}

static int rxperf_tool_take_option(struct args *a, int letter, struct err *e)
{
	char *value = optarg, *flag = a->flag[a->n];
	int r = 0;

	if (letter == '?' || letter == ':')
		return err_set(e, -EINVAL, "-%c: %s", optopt,
			       letter == ':' ? "its value is missing" : "there is no such option");
	if (strchr("dDHNvV", letter)) {
		cmd_say("-%c has no effect here", letter);
		return 0;
	}
	if (letter == 'm') {
		r = packet_of_mtu(a, value, e);
		value = a->packet;
	} else if (letter == 'f') {
		r = read_list(a, value, e);
		value = a->list;
	}
	snprintf(flag, sizeof(a->flag[0]), "-%c", letter);
	r = r ? r : rxperf_tool_put(a, flag, e);
	return r || !value ? r : rxperf_tool_put(a, value, e);
}

/* argv: from "client" or "server" on. */
static int translate(struct args *a, int argc, char **argv, const char *letters, struct err *e)
{
	int letter, r = 0;

	optind = 0;
	opterr = 0;
	while (!r && (letter = getopt(argc, argv, letters)) != -1)
		r = rxperf_tool_take_option(a, letter, e);
	if (!r && optind < argc)
		r = err_set(e, -EINVAL, "'%s' is no option", argv[optind]);
	return r;
}

/* ---- client ---- */

static void rxperf_tool_put_sizes(const struct rxperf_cfg *cfg, enum rx_perf_command command)
{
	if (command == RX_PERF_RPC)
		printf("%" PRIu64 " bytes sent and %" PRIu64 " received a call", cfg->rpc_sent,
		       cfg->rpc_received);
	else if (command == RX_PERF_FILE)
		printf("%u transfers a call", cfg->file.n);
	else
		printf("%" PRIu64 " bytes a call", cfg->bytes);
}

/* "RECV: 4 threads, 10 calls each, 1048576 bytes a call: 356 ms, 117.9 MB/s" */
static void rxperf_tool_put_test(const struct rxperf_cfg *cfg, const struct run_phase *p,
				 unsigned int i)
{
	const uint64_t *v = p->value;
	const char *name = p->title;

	while (*name)
		putchar(toupper((unsigned char)*name++));
	printf(": %u thread%s, %u call%s each, ", cfg->threads, cfg->threads == 1 ? "" : "s",
	       cfg->times, cfg->times == 1 ? "" : "s");
	rxperf_tool_put_sizes(cfg, cfg->list.command[i]);
	if (v[METRIC_ERRORS] || !v[METRIC_ELAPSED])
		printf(": %" PRIu64 " of %" PRIu64 " calls failed", v[METRIC_ERRORS],
		       v[METRIC_OPS]);
	else
		printf(": %.0f ms, %.1f MB/s", (double)v[METRIC_ELAPSED] / NS_PER_MS,
		       (double)v[METRIC_BYTES] / BYTES_A_MB / (double)v[METRIC_ELAPSED] * 1e9);
	putchar('\n');
}

static int rxperf_tool_put_tests(struct workload *w, const struct report_opts *o)
{
	const struct rxperf_cfg *cfg = (const struct rxperf_cfg *)w->cfg;

	(void)o;
	for (unsigned int i = 0; i < w->s.run.n_phases; i++)
		if (w->s.run.phase[i]->load)
			rxperf_tool_put_test(cfg, w->s.run.phase[i], i);
	return 0;
}

static int client(struct args *a, struct err *e)
{
	struct rxperf_cfg cfg = RXPERF_DEFAULTS;
	int first, r = opt_parse(rxperf_options, &cfg, a->n, a->word, &first, e);

	if (!r && !cfg.list.n)
		r = err_set(e, -EINVAL, "client: -c COMMAND is missing: send, recv, rpc or file");
	cfg.server = cfg.server ? cfg.server : "localhost";
	cfg.w.s.runs.not_kept = true;
	r = r ? r : rxperf_check(&cfg, 0, NULL, e);
	return r ? r : rxperf_run(&cfg, rxperf_tool_put_tests);
}

/* ---- both ---- */

static int rxperf_tool_run(int argc, char **argv, struct err *e)
{
	static const char of_client[] = ":b:c:d:f:jm:p:r:s:t:u:vw:DHNR:S:T:VW:",
			  of_server[] = ":d:jm:p:r:s:u:vw:DHNS:VW:";
	static char self[] = "rxperf", serve[] = "--serve";
	struct args a = { .n = 1, .word = { self } };
	bool is_client = argc > 1 && !strcmp(argv[1], "client");

	if (!is_client && (argc < 2 || strcmp(argv[1], "server") != 0))
		return err_set(e, -EINVAL, "client or server is missing");
	if (translate(&a, argc - 1, argv + 1, is_client ? of_client : of_server, e))
		return -EINVAL;
	if (is_client)
		return client(&a, e);
	return rxperf_tool_put(&a, serve, e) ? -E2BIG : cmd_rx_serve(a.n, a.word);
}

int cmd_rxperf_tool(int argc, char **argv)
{
	struct err e = { 0 };
	int r;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(usage, stdout);
		return 0;
	}
	r = rxperf_tool_run(argc, argv, &e);
	if (*e.text)
		cmd_say("%s (rxperf --help lists the options)", e.text);
	return peer_plain_exit_code(r < 0 ? OUTCOME_USAGE : (enum outcome)r);
}
