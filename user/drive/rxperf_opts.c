/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of afpscope rx as a client: their table, and what goes together. */
#include "drive/rxperf.h"

#include "report/ticker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS_MAX    10000
#define PROBE_SENT     3 /* bytes: those of an rpc by default */
#define PROBE_RECEIVED 30

/* "recv,send" */
static int rxperf_opts_take_list(void *to, const char *arg, struct err *e)
{
	struct rxperf_list *list = to;
	char name[16];
	size_t len;
	unsigned int c;

	for (;; arg += len + 1) {
		len = strcspn(arg, ",");
		snprintf(name, sizeof(name), "%.*s", (int)len, arg);
		for (c = 0; c <= RX_PERF_FILE; c++)
			if (rx_perf_name(c) && !strcmp(rx_perf_name(c), name))
				break;
		if (c > RX_PERF_FILE)
			return err_set(e, -EINVAL, "'%s' is none of recv, send, rpc, file", name);
		if (list->n == RXPERF_TESTS_MAX)
			return err_set(e, -EINVAL, "more than %d tests", RXPERF_TESTS_MAX);
		list->command[list->n++] = (enum rx_perf_command)c;
		if (!arg[len])
			return 0;
	}
}

/* "100,200,0,300": words to the server, 0, words from it. */
static int take_words(void *to, const char *arg, struct err *e)
{
	struct rxperf_words *w = to;
	unsigned int zeros = 0;
	char *end;
	unsigned long v;

	for (*w = (struct rxperf_words) { 0 };; arg = end + 1) {
		v = strtoul(arg, &end, 10);
		if (end == arg || (*end && *end != ',') || v > 1u << 28 || *arg == '-')
			return err_set(e, -EINVAL,
				       "numbers of 4-byte words with commas between, such as "
				       "1000,0,2000");
		if (w->n == RX_PERF_ENTRIES)
			return err_set(e, -EINVAL, "more than %u numbers", RX_PERF_ENTRIES);
		w->word[w->n++] = (uint32_t)v;
		zeros += !v;
		if (zeros > 1)
			return err_set(e, -EINVAL,
				       "the direction changes once: a call of Rx is a request and "
				       "a reply");
		if (!*end)
			return 0;
	}
}

static int take_small(void *to, const char *arg, struct err *e)
{
	const struct rx_small_call **small = to;

	return rx_small_call_find(small, arg, e) ? -EINVAL : 0;
}

#define AT(field) offsetof(struct rxperf_cfg, field)

/* clang-format off */
const struct opt rxperf_options[] = {
	{ .type = OPT_HEADING, .help = "Server, as HOST[:PORT] or:" },
	{ .letter = 's', .name = "server", .arg = "HOST", .type = OPT_STRING, .offset = AT(server),
	  .help = "name or address",
	  .more = "It may also be given without this option." },
	{ .letter = 'p', .name = "port", .arg = "PORT", .type = OPT_UINT, .offset = AT(port), .min = 1, .max = 65535,
	  .help = "UDP port (default: 7009; with --op, that of the call's servers)" },
	{ .type = OPT_HEADING, .help = "Calls:" },
	{ .letter = 'c', .name = "command", .arg = "LIST", .type = OPT_CALL, .offset = AT(list), .call = rxperf_opts_take_list, .repeats = true,
	  .help = "tests, one after the other: recv, send, rpc, file (default: recv,send,rpc)",
	  .more = "With commas between them." },
	{ .letter = 'b', .name = "bytes", .arg = "BYTES", .type = OPT_SIZE, .offset = AT(bytes), .max = UINT32_MAX,
	  .help = "recv, send: bytes of a call (default: 1M)" },
	{ .letter = 'S', .name = "rpc-send", .arg = "BYTES", .type = OPT_SIZE, .offset = AT(rpc_sent), .max = UINT32_MAX,
	  .help = "rpc: bytes of a request (default: 3)" },
	{ .letter = 'R', .name = "rpc-receive", .arg = "BYTES", .type = OPT_SIZE, .offset = AT(rpc_received), .max = UINT32_MAX,
	  .help = "rpc: bytes of a reply (default: 30)" },
	{ .letter = 'f', .name = "file", .arg = "LIST", .type = OPT_CALL, .offset = AT(file), .call = take_words,
	  .help = "file: 4-byte words to the server, 0, words from it, such as 1000,500,0,2000",
	  .more = "With commas between them: words of the client, 0, words of the server. There may be 64 numbers; "
	 	"the direction changes once." },
	{ .name = "op", .arg = "NAME", .type = OPT_CALL, .offset = AT(small), .call = take_small,
	  .help = "in place of these, a small call of AFS: GetTime, GetCapabilities, FetchStatus, VL_Probe; or rxdebug or version, a question to any server over Rx",
	  .more = "GetTime, GetCapabilities and FetchStatus are for a file server (port 7000), VL_Probe is for a "
	 	"volume location server (port 7003). rxdebug and version are outside of calls: how many calls wait "
	 	"for a thread, and the server's version (port 7000). The file server calls its clients back before it answers them; that is "
	 	"answered." },
	{ .name = "volume", .arg = "NUMBER", .type = OPT_UINT, .offset = AT(volume), .min = 1,
	  .help = "FetchStatus: of this volume's root directory" },
	{ .type = OPT_HEADING, .help = "Clients:" },
	{ .letter = 'n', .name = "clients", .arg = "N", .type = OPT_UINT, .offset = AT(clients), .min = 1, .max = CLIENTS_MAX,
	  .help = "how many, each with a port of its own (default: 1)" },
	{ .letter = 't', .name = "threads", .arg = "N", .type = OPT_UINT, .offset = AT(threads), .min = 1, .max = RXPERF_THREADS_MAX,
	  .help = "calls of a client at a time (default: 1)" },
	{ .letter = 'T', .name = "times", .arg = "N", .type = OPT_UINT, .offset = AT(times), .min = 1,
	  .help = "calls of a client one after the other (default: 100)",
	  .more = "Each of its --threads makes so many." },
	{ .letter = 'd', .name = "duration", .arg = "SECONDS", .type = OPT_UINT, .offset = AT(duration_s), .min = 1, .max = 604800,
	  .help = "call for so long, instead of -T" },
	{ .name = "ramp", .arg = "MILLISECONDS", .type = OPT_UINT, .offset = AT(ramp_ms), .max = 3600000,
	  .help = "the clients begin one after the other within this time (default: 0, all at once)" },
	{ .name = "probe", .type = OPT_FLAG, .offset = AT(probe),
	  .help = "with -d: one more client makes one small call a second (rpc, or --op), as a user would",
	  .more = "An rpc has 3 and 30 bytes. This is what a user feels meanwhile." },
	{ .letter = 'u', .name = "udp-size", .arg = "KIB", .type = OPT_UINT, .offset = AT(udp_kib), .min = 1, .max = 1u << 20,
	  .help = "of a client's socket buffers (default: 64)" },
	{ .letter = 'W', .name = "window", .arg = "PACKETS", .type = OPT_UINT, .offset = AT(window), .min = 1, .max = RX_WINDOW_MAX,
	  .help = "of a call, without an answer (default: 32)",
	  .more = "So many of its packets may be under way." },
	{ .letter = 'j', .name = "no-jumbo", .type = OPT_FLAG, .offset = AT(no_jumbo),
	  .help = "one packet in a datagram (default: 4)",
	  .more = "In both directions." },
	{ .letter = 'm', .name = "packet", .arg = "BYTES", .type = OPT_UINT, .offset = AT(packet_len), .min = 128, .max = 16384,
	  .help = "longest packet that is sent, without the headers of UDP and IP (default: 1440)" },
	{ .letter = 'r', .name = "read-size", .arg = "BYTES", .type = OPT_SIZE, .offset = AT(read_len), .min = 1,
	  .max = RX_PERF_CHUNK, .help = "of one read of the server, which rxperf asks for (default: 32K)" },
	{ .letter = 'w', .name = "write-size", .arg = "BYTES", .type = OPT_SIZE, .offset = AT(write_len), .min = 1,
	  .max = RX_PERF_CHUNK, .help = "of one write of the server, likewise (default: 32K)" },
	{ .name = "timeout", .arg = "SECONDS", .type = OPT_UINT, .offset = AT(timeout_s), .min = 1, .max = 86400,
	  .help = "give up a call that moves no byte for this long (default: 60)",
	  .more = "Although its server says that it is there." },
	{ .name = "no-verify", .type = OPT_FLAG, .offset = AT(no_verify),
	  .help = "do not compare what is received with what afpscope rx --serve sends" },
	{ .name = "serve", .type = OPT_FLAG, .offset = AT(serves), .job = OPT_JOB_NEVER,
	  .help = "be the server: afpscope rx --serve --help has its options",
	  .more = "See THE SERVER." },
	{ .type = OPT_HEADING, .help = "Watch and output:" },
	JOB_OPTION(struct rxperf_cfg, w.show_job),
	TICKER_OPTION(struct rxperf_cfg, live,
		"The line says which test it is, then the second's calls done, median and 99th percentile, failed calls, "
		"data in both directions, the probe's longest call. The keys of the objects are `second` (from the test's "
		"begin), `state`, `actions` (calls), `failed`, `dropped` (always 0), `bytes`, `silent_s` (for how many seconds no call has "
		"ended), `mean_ns`, `p50_ns`, `p99_ns`, `max_ns`, `probe_p99_ns` and `phase`, the test. A test of less than a second has none."),
	{ .name = "watch", .arg = "HOW", .type = OPT_CHOICE, .offset = AT(w.s.watch), .choice = session_watch_choices,
	  .help = "how a server on this host is observed (default: auto, the best that works here)",
	  .more = WATCH_MORE },
	WORKLOAD_LAST_OPTIONS(struct rxperf_cfg, w, WORKLOAD_ONE_SCREEN),
	{ .type = OPT_END },
};
/* clang-format on */

static bool rxperf_opts_is_listed(const struct rxperf_cfg *cfg, enum rx_perf_command command)
{
	for (unsigned int i = 0; i < cfg->list.n; i++)
		if (cfg->list.command[i] == command)
			return true;
	return false;
}

static int check_calls(struct rxperf_cfg *cfg, struct err *e)
{
	static const struct rxperf_list usual = { 3, { RX_PERF_RECV, RX_PERF_SEND, RX_PERF_RPC } };

	if (cfg->small && cfg->list.n)
		return err_set(e, -EINVAL, "--op is in place of -c: give one of them");
	if (cfg->small && cfg->small->of_volume && !cfg->volume)
		return err_set(e, -EINVAL,
			       "--op %s needs --volume (its number: vos examine, or "
			       "volinfo on the server)",
			       cfg->small->name);
	if (cfg->duration_s && cfg->threads > 1)
		return err_set(e, -EINVAL, "-d is for one call at a time: use -n in place of -t");
	if (cfg->probe && !cfg->duration_s)
		return err_set(e, -EINVAL,
			       "--probe makes a call a second, so the clients must call for a "
			       "time: -d SECONDS");
	if (!cfg->list.n)
		cfg->list = usual;
	if (rxperf_opts_is_listed(cfg, RX_PERF_FILE) && !cfg->file.n)
		return err_set(e, -EINVAL, "-c file needs -f");
	return 0;
}

static int rxperf_opts_target(void *cfg, char *target, struct err *e)
{
	struct rxperf_cfg *c = cfg;

	(void)e;
	c->server = !strncmp(target, "rx://", 5) ? target + 5 : target;
	return 0;
}

const struct job_type rxperf_job = {
	.command = "rx",
	.options = rxperf_options,
	.target = rxperf_opts_target,
};

int rxperf_complete(struct rxperf_cfg *cfg, int n, char **operand, struct err *e)
{
	int r = check_calls(cfg, e);

	if (r)
		return r;
	if (n + (cfg->server != NULL) != 1)
		return err_set(e, -EINVAL, "%s: a HOST or HOST:PORT is needed",
			       n ? "more than one server" : "no server");
	return n ? rxperf_opts_target(cfg, operand[0], e) : 0;
}

int rxperf_parse(struct rxperf_cfg *cfg, struct job *j, struct err *e)
{
	int r = job_parse(j, cfg, e);

	return r || cfg->w.help ? r : rxperf_complete(cfg, j->n_operands, j->operand, e);
}

int rxperf_find(struct rxperf_cfg *cfg, struct err *e)
{
	unsigned int port = cfg->small ? cfg->small->port : RX_PERF_PORT;
	char address[INET_ADDRSTRLEN];
	int r = store_rx_find(&cfg->to, cfg->server, cfg->port ? cfg->port : port, e);

	if (r)
		return r;
	inet_ntop(AF_INET, &cfg->to.sin_addr, address, sizeof(address));
	snprintf(cfg->place, sizeof(cfg->place), "rx://%s:%u", address, ntohs(cfg->to.sin_port));
	cfg->w.s.local = true;
	cfg->w.s.directory = cfg->place;
	return session_check(&cfg->w.s, e);
}

struct rxperf_opts rxperf_test(const struct rxperf_cfg *cfg, unsigned int i)
{
	struct rxperf_opts o = {
		.call = { .command = cfg->list.command[i],
			  .read_len = (uint32_t)cfg->read_len,
			  .write_len = (uint32_t)cfg->write_len,
			  .n = (uint32_t)cfg->bytes,
			  .entries = cfg->file.n },
		.small = cfg->small,
		.volume = cfg->volume,
		.threads = cfg->threads,
		.calls = cfg->duration_s ? 0 : cfg->times,
		.verify = !cfg->no_verify,
	};

	memcpy(o.call.entry, cfg->file.word, sizeof(o.call.entry));
	if (o.call.command == RX_PERF_RPC) {
		o.call.n = (uint32_t)cfg->rpc_sent;
		o.call.m = (uint32_t)cfg->rpc_received;
	}
	return o;
}

struct rxperf_opts rxperf_probe(const struct rxperf_cfg *cfg)
{
	return (struct rxperf_opts) { .call = { .command = RX_PERF_RPC,
						.read_len = (uint32_t)cfg->read_len,
						.write_len = (uint32_t)cfg->write_len,
						.n = PROBE_SENT,
						.m = PROBE_RECEIVED },
				      .small = cfg->small,
				      .volume = cfg->volume,
				      .threads = 1,
				      .verify = !cfg->no_verify };
}

int rxperf_describe(const struct rxperf_cfg *cfg, struct run *run)
{
	struct run_notes *o = &run->options;
	int r = run_note(o, "clients", "%u", cfg->clients);

	r |= run_note(o, "threads", "%u", cfg->threads);
	if (cfg->duration_s)
		r |= run_note(o, "duration_s", "%u", cfg->duration_s);
	else
		r |= run_note(o, "times", "%u", cfg->times);
	if (cfg->small) {
		r |= run_note(o, "op", "%s", cfg->small->name);
	} else {
		r |= run_note(o, "bytes", "%llu", (unsigned long long)cfg->bytes);
		r |= run_note(o, "rpc_sent_bytes", "%llu", (unsigned long long)cfg->rpc_sent);
		r |= run_note(o, "rpc_received_bytes", "%llu",
			      (unsigned long long)cfg->rpc_received);
		r |= run_note(o, "read_bytes", "%llu", (unsigned long long)cfg->read_len);
		r |= run_note(o, "write_bytes", "%llu", (unsigned long long)cfg->write_len);
	}
	if (cfg->probe)
		r |= run_note(o, "probe", "%s", cfg->small ? cfg->small->name : "rpc");
	if (cfg->ramp_ms)
		r |= run_note(o, "ramp_ms", "%u", cfg->ramp_ms);
	r |= run_note(o, "udp_buffer_bytes", "%u", cfg->udp_kib * 1024);
	r |= run_note(o, "window", "%u", cfg->window);
	r |= run_note(o, "datagram_packets", "%u", cfg->no_jumbo ? 1 : RX_JUMBO_USUAL);
	r |= run_note(o, "packet_bytes", "%u", cfg->packet_len);
	r |= run_note(o, "timeout_s", "%u", cfg->timeout_s);
	r |= run_note(o, "verified", "%s", cfg->no_verify ? "no" : "yes");
	if (!run->kind)
		r |= run_note(&run->absent, "*",
			      "it is not on this host, or not watched (--watch=off)");
	return r;
}
