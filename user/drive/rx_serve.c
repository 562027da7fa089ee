/* SPDX-License-Identifier: GPL-2.0-or-later */
/* afpscope rx --serve: the server of rxperf's calls, until it is ended; then what it did. */
#include "drive/rx_serve.h"
#include "base/file.h"
#include "host/rights.h"
#include "report/json/doc.h"
#include "report/screen/screen_text.h"
#include "rx/perf.h"
#include "work/rxperf/rx_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SERVE_SCHEMA 1
#define LOOK_NS      100000000u
#define INDENT       12
#define WIDTH        100

struct rx_serve_cfg {
	bool serve, no_jumbo, help;
	const char *address, *quota, *json;
	unsigned int port, least, most, window, packet_len, udp_kib;
	uint64_t buffer_len;
};

/* clang-format off */
#define OFFSET(m) offsetof(struct rx_serve_cfg, m)
const struct opt rx_serve_options[] = {
	{ .name = "serve", .type = OPT_FLAG, .offset = OFFSET(serve), .help = "be the server" },
	{ .letter = 'p', .name = "port", .arg = "N", .type = OPT_UINT, .offset = OFFSET(port), .max = 65535,
	  .help = "UDP port; 0: any that is free (default: 7009)",
	  .more = "The port is printed." },
	{ .name = "address", .arg = "IPV4", .type = OPT_STRING, .offset = OFFSET(address),
	  .help = "serve on this address of the machine only (default: all)" },
	{ .name = "buffer", .arg = "SIZE", .type = OPT_SIZE, .offset = OFFSET(buffer_len), .min = 1024, .max = 1u << 30,
	  .help = "of the socket's buffers (default: 64K); what the system grants is printed",
	  .more = "The default is that of rxperf's server." },
	{ .letter = 'u', .name = "udp-size", .arg = "KIB", .type = OPT_UINT, .offset = OFFSET(udp_kib), .min = 1, .max = 1u << 20,
	  .help = "the same in KiB" },
	{ .letter = 's', .name = "threads-least", .arg = "N", .type = OPT_UINT, .offset = OFFSET(least), .max = 4096,
	  .help = "threads for calls, from the start (default: 2)" },
	{ .letter = 'S', .name = "threads", .arg = "N", .type = OPT_UINT, .offset = OFFSET(most), .min = 1, .max = 4096,
	  .help = "the most threads for calls: one is added when a call would wait (default: 20)" },
	{ .name = "quota", .arg = "N[/M]", .type = OPT_STRING, .offset = OFFSET(quota),
	  .help = "threads for one client (address and port) at a time; M while no client waits that has fewer than N (default: all)",
	  .more = "More of its calls wait, and leave the other threads to other clients: with 246 threads and a quota of 30, nine busy clients take all of them." },
	{ .letter = 'W', .name = "window", .arg = "PACKETS", .type = OPT_UINT, .offset = OFFSET(window), .min = 1, .max = RX_WINDOW_MAX,
	  .help = "of a call, without an answer (default: 32)" },
	{ .letter = 'j', .name = "no-jumbo", .type = OPT_FLAG, .offset = OFFSET(no_jumbo),
	  .help = "one packet in a datagram (default: 4)" },
	{ .letter = 'm', .name = "packet", .arg = "BYTES", .type = OPT_UINT, .offset = OFFSET(packet_len), .min = 128, .max = 16384,
	  .help = "longest packet that is sent, without the headers of UDP and IP (default: 1440)" },
	{ .name = "json", .arg = "FILE", .type = OPT_STRING, .offset = OFFSET(json),
	  .help = "save what it did (- for standard output, in place of the text)",
	  .more = "docs/data-model.md has the fields." },
	{ .name = "help", .type = OPT_FLAG, .offset = OFFSET(help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

bool rx_serve_is_asked(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], "--serve"))
			return true;
	return false;
}

/* ---- what it did ---- */

static void put_json_counts(struct json_doc *d, json_t *to, const struct rx_server_state *st)
{
	json_t *calls = json_object(), *packets = json_object();

#define X(name, meaning) json_put(d, calls, #name, json_number(st->counts.name));
	RX_SERVER_COUNTS(X)
#undef X
#define X(name, meaning) json_put(d, packets, #name, json_number(st->rx.name));
	RX_COUNTS(X)
#undef X
	json_put(d, to, "calls", calls);
	json_put(d, to, "packets", packets);
}

static json_t *rtt_json(struct json_doc *d, const struct rx_rtt *r)
{
	json_t *o = json_object();

	json_put(d, o, "n", json_number(r->n));
	json_put(d, o, "sum_ns", r->n ? json_number(r->sum_ns) : json_null());
	json_put(d, o, "min_ns", r->n ? json_number(r->min_ns) : json_null());
	json_put(d, o, "max_ns", r->n ? json_number(r->max_ns) : json_null());
	return o;
}

static json_t *rx_serve_document(struct json_doc *d, const struct rx_server_state *st,
				 uint16_t port)
{
	json_t *o = json_object();

	json_put(d, o, "schema", json_integer(SERVE_SCHEMA));
	json_put(d, o, "tool", json_text("afpscope"));
	json_put(d, o, "version", json_text(AFPSCOPE_VERSION));
	json_put(d, o, "command", json_text("rx --serve"));
	json_put(d, o, "port", json_integer(port));
	json_put(d, o, "buffer_asked", json_number(st->buffers.asked_len));
	json_put(d, o, "buffer_granted", json_number(st->buffers.received_len));
	json_put(d, o, "buffer_forced", json_boolean(st->buffers.forced));
	json_put(d, o, "drops", st->drops_known ? json_number(st->drops) : json_null());
	json_put(d, o, "threads", json_integer(st->threads));
	json_put(d, o, "rtt", rtt_json(d, &st->rtt));
	put_json_counts(d, o, st);
	return o;
}

static int put_json(const struct rx_server_state *st, uint16_t port, const char *path,
		    struct err *e)
{
	struct json_doc d = { 0 };

	return json_save(&d, rx_serve_document(&d, st, port), path, e);
}

/* A line, or more where it is long. */
__attribute__((format(printf, 2, 3))) static void put(const char *label, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_indented(stdout, label, text, INDENT, WIDTH);
}

#define COUNT(n) cell_count(n).text

static void put_drops(const struct rx_server_state *st)
{
	if (!st->drops_known)
		put("dropped", "n/a: this kernel does not say");
	else
		put("dropped", "%s datagrams, because the receive buffer of %u KiB was full%s",
		    COUNT(st->drops), st->buffers.received_len >> 10,
		    st->drops ? ": raise --buffer" : "");
}

static void put_rtt(const struct rx_rtt *r)
{
	if (!r->n)
		put("round trip", "n/a: none was measured");
	else
		put("round trip", "mean %s, from %s to %s, measured %s times",
		    screen_time((double)r->sum_ns / (double)r->n).text,
		    screen_time((double)r->min_ns).text, screen_time((double)r->max_ns).text,
		    COUNT(r->n));
}

static void put_text_of(const struct rx_server_state *st)
{
	const struct rx_server_counts *n = &st->counts;
	const struct rx_counts *p = &st->rx;

	put("calls", "%s SEND, %s RECV, %s RPC, %s FILE; %s refused, %s ended early",
	    COUNT(n->sends), COUNT(n->recvs), COUNT(n->rpcs), COUNT(n->files), COUNT(n->refused),
	    COUNT(n->failed));
	put("data", "%s bytes read, %s written", COUNT(n->bytes_read), COUNT(n->bytes_written));
	put("checked", "%s of the bytes read; %s calls had wrong ones", COUNT(n->bytes_checked),
	    COUNT(n->wrong));
	put("threads", "%u, at most %s busy; %s calls waited for one, at most %s at a time",
	    st->threads, COUNT(n->most_busy), COUNT(n->waited), COUNT(n->most_waiting));
	put("datagrams", "%s received, %s sent", COUNT(p->datagrams_received),
	    COUNT(p->datagrams_sent));
	put_drops(st);
	put("received", "%s DATA packets, %s of them again; %s ACK; %s of no call",
	    COUNT(p->data_received), COUNT(p->duplicates), COUNT(p->acks_received),
	    COUNT(p->strange));
	put("sent", "%s DATA packets, %s of them again (%s timeouts, %s gaps); %s ACK",
	    COUNT(p->data_sent), COUNT(p->resent), COUNT(p->timeouts), COUNT(p->recoveries),
	    COUNT(p->acks_sent));
	put_rtt(&st->rtt);
}

/* ---- serving ---- */

static bool saves_file(const struct rx_serve_cfg *cfg)
{
	return cfg->json && strcmp(cfg->json, "-") != 0;
}

/*
 * Anybody may send to the port. It stays a process of root's: record takes no stranger's process
 * for a server.
 */
static void rx_serve_drop(const void *user)
{
	int r = saves_file(user) ? rights_drop(0) : rights_drop_all(getuid(), getgid());

	cmd_note_rights(r, NULL);
}

static void say_begin(struct rx_server *s, const struct rx_serve_cfg *cfg)
{
	struct rx_server_state st;

	rx_server_read(s, &st);
	cmd_say("serving rxperf's calls on UDP port %u, receive buffer %u bytes, %u to %u threads, "
		"window %u packets",
		rx_server_port(s), st.buffers.received_len, cfg->least, cfg->most, cfg->window);
	if (st.buffers.received_len < st.buffers.asked_len)
		cmd_say("the system granted a receive buffer of %u bytes, not %u: run as root, or "
			"raise net.core.rmem_max",
			st.buffers.received_len, st.buffers.asked_len);
}

static enum outcome rx_serve_end(struct rx_server *s, const struct rx_serve_cfg *cfg)
{
	struct rx_server_state st;
	struct err e = { 0 };
	enum outcome o = OUTCOME_OK;

	rx_server_read(s, &st);
	if (!cfg->json || saves_file(cfg))
		put_text_of(&st);
	if (cfg->json && put_json(&st, rx_server_port(s), cfg->json, &e)) {
		cmd_say("%s", e.text);
		o = OUTCOME_FAILED;
	}
	if (st.counts.wrong) {
		cmd_say("%" PRIu64 " calls had wrong bytes", st.counts.wrong);
		o = o ? o : OUTCOME_UNTRUSTED;
	}
	if (rx_server_failure(s, &e)) {
		cmd_say("%s", e.text);
		o = OUTCOME_FAILED;
	}
	return o;
}

static enum outcome rx_serve_calls(const struct rx_serve_cfg *cfg,
				   const struct rx_server_opts *opts)
{
	const struct timespec look = { .tv_nsec = LOOK_NS };
	struct rx_server *s;
	struct err e = { 0 };
	enum outcome o;

	cmd_allow_files();
	if (rx_server_open(&s, opts, &e)) {
		cmd_say("%s", e.text);
		return OUTCOME_FAILED;
	}
	say_begin(s, cfg);
	while (!cmd_stop && !rx_server_failure(s, NULL))
		nanosleep(&look, NULL);
	o = rx_serve_end(s, cfg);
	rx_server_close(s);
	return o;
}

/* ---- options ---- */

/* "30", "30/60" */
static int take_quota(struct rx_server_opts *o, const char *text, struct err *e)
{
	const struct opt row = { .type = OPT_UINT, .min = 1, .max = 4096 };
	char first[16];
	size_t len = strcspn(text, "/");
	uint64_t n = 0, most = 0;
	int r;

	snprintf(first, sizeof(first), "%.*s", (int)len, text);
	r = opt_number(&row, "--quota", first, &n, e);
	if (!r && text[len])
		r = opt_number(&row, "--quota", text + len + 1, &most, e);
	if (!r && most && most < n)
		r = err_set(e, -EINVAL, "--quota: '%s': the second number is the larger one", text);
	o->quota = (unsigned int)n;
	o->quota_most = (unsigned int)most;
	return r;
}

static int rx_serve_take(struct rx_server_opts *o, struct rx_serve_cfg *cfg, struct err *e)
{
	*o = (struct rx_server_opts) { .port = (uint16_t)cfg->port,
				       .buffer_len = (unsigned int)cfg->buffer_len,
				       .own = RX_LIMITS_USUAL,
				       .threads_least = cfg->least,
				       .threads_most = cfg->most,
				       .opened = rx_serve_drop,
				       .user = cfg };
	o->own.window = cfg->window;
	if (cfg->no_jumbo)
		o->own.datagram = 1;
	if (cfg->packet_len)
		o->own.data_len = cfg->packet_len - RX_HEADER_LEN;
	if (cfg->udp_kib)
		o->buffer_len = cfg->udp_kib << 10;
	if (cfg->address && inet_pton(AF_INET, cfg->address, &o->address) != 1)
		return err_set(e, -EINVAL, "--address: '%s' is not an IPv4 address", cfg->address);
	if (cfg->quota && take_quota(o, cfg->quota, e))
		return -EINVAL;
	return saves_file(cfg) ? file_check(cfg->json, FILE_RESULT, e) : 0;
}

int cmd_rx_serve(int argc, char **argv)
{
	struct rx_serve_cfg cfg = { .port = RX_PERF_PORT,
				    .least = 2,
				    .most = 20,
				    .window = RX_WINDOW,
				    .buffer_len = 64u << 10 };
	struct rx_server_opts opts;
	struct err e = { 0 };
	int r = opt_parse(rx_serve_options, &cfg, argc, argv, NULL, &e);

	if (!r && cfg.help)
		return cmd_help(
		    rx_serve_options,
		    "Usage: afpscope rx --serve [OPTIONS]\n"
		    "Serves rxperf's calls (SEND, RECV, RPC, FILE) until it is interrupted, then "
		    "says what it did.\n\n");
	if (cfg.most < cfg.least)
		cfg.least = cfg.most;
	r = r ? r : rx_serve_take(&opts, &cfg, &e);
	if (r)
		return cmd_usage_error("rx --serve", &e);
	cmd_catch_signals();
	return (int)rx_serve_calls(&cfg, &opts);
}
