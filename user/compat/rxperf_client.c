/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client of rxperf: its calls, the line, and with -D what its socket counted. */
#include "compat/rxperf_tool.h"

#include "app/cmd.h"
#include "base/clock.h"
#include "base/file.h"
#include "host/rights.h"
#include "work/rxperf/rxperf.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SENT_PERIOD 65536 /* zeros, as the original sends */
#define SLICE_NS    250000000u
#define UDP_KIB     64
#define OF_IP_UDP   28 /* headers that an MTU includes */
#define MTU_LEAST   156
#define MTU_MOST    16412
#define LIST_LEN    4096
#define INTERRUPTED 2
#define NS_PER_S    1e9

unsigned int rxperf_tool_packet(int mtu)
{
	if (mtu <= 0)
		return RX_HEADER_LEN + RX_DATA_LEN;
	mtu = mtu < MTU_LEAST ? MTU_LEAST : mtu > MTU_MOST ? MTU_MOST : mtu;
	return (unsigned int)mtu - OF_IP_UDP;
}

/* ---- the calls ---- */

/* A number a line, in 4-byte words; an empty line and 0 change the direction. */
static int read_words(struct rx_perf *call, const char *path, struct err *e)
{
	char *text, *end, *save = NULL;
	unsigned int turns = 0;
	long n;
	int r = file_read(&text, path, LIST_LEN - 1, e);

	if (r)
		return r;
	for (char *at = text; *at && !r; at = save) {
		save = strchrnul(at, '\n');
		n = strtol(at, &end, 0);
		if (at != save && (end == at || end > save || n < 0 || n > INT_MAX / 4))
			r = err_set(e, -EINVAL, "can't resolve number of bytes to transfer");
		else if (call->entries == RX_PERF_ENTRIES)
			r = err_set(e, -E2BIG, "%s: more than %u numbers", path, RX_PERF_ENTRIES);
		else
			call->entry[call->entries++] = at == save ? 0 : (uint32_t)n;
		save += *save != '\0';
	}
	free(text);
	for (uint32_t i = 0; i < call->entries; i++)
		turns += !call->entry[i];
	if (!r && turns > 1)
		r = err_set(e, -EINVAL,
			    "%s: the direction changes once: a call is a request and a "
			    "reply",
			    path);
	return r;
}

static int tool_opts(struct rxperf_opts *o, const struct rxperf_tool *t, struct err *e)
{
	*o = (struct rxperf_opts) { .call = { .command = (uint32_t)t->command,
					      .read_len = (uint32_t)t->read_len,
					      .write_len = (uint32_t)t->write_len,
					      .n = (uint32_t)t->bytes },
				    .threads = (unsigned int)t->threads,
				    .calls = (uint64_t)t->times,
				    .period = SENT_PERIOD };
	if (t->command == RX_PERF_RPC) {
		o->call.n = (uint32_t)t->sent;
		o->call.m = (uint32_t)t->received;
	}
	if (t->command != RX_PERF_FILE)
		return 0;
	if (!t->file)
		return err_set(e, -EINVAL, "the file command needs -f FILE");
	return read_words(&o->call, t->file, e);
}

static int tool_open(struct store **out, const struct rxperf_tool *t, struct err *e)
{
	const unsigned int window = t->window > (int)RX_WINDOW_MAX ? RX_WINDOW_MAX
				    : t->window > 0                ? (unsigned int)t->window
								   : RX_WINDOW;
	const struct rx_limits limits = { rxperf_tool_packet(t->mtu) - RX_HEADER_LEN, window,
					  t->no_jumbo ? 1 : RX_JUMBO_USUAL };
	const int kib = t->udp_kib < UDP_KIB ? UDP_KIB : t->udp_kib;
	struct sockaddr_in to;
	const struct store_rx_opts o = {
		.to = &to,
		.service = RX_PERF_SERVICE,
		.calls = (unsigned int)t->threads,
		.buffer_len = kib > INT_MAX / 1024 ? INT_MAX : (unsigned int)kib * 1024,
		.timeout_ms = UINT_MAX,
		.least_rtt_ms = t->least_rtt_ms > 0 ? (unsigned int)t->least_rtt_ms : 0,
		.own = &limits,
	};
	int r = store_rx_find(&to, t->host, (uint16_t)t->port, e);

	return r ? r : store_open_rx(out, &o, e);
}

/* An answer. -EINTR: a signal came. */
static int tool_reap(struct store *s, struct store_op **out, struct err *e)
{
	int r = 0;

	while (!(*out = store_take(s)) && !r)
		r = cmd_stop ? -EINTR : s->type->work(s, SLICE_NS, e);
	return r;
}

static int tool_do_action(struct store *s, struct script *script, struct err *e)
{
	enum script_state how = SCRIPT_GOES_ON;
	struct store_op *op;
	int r = 0;

	while (!r && how == SCRIPT_GOES_ON) {
		while (!r && (op = script->type->next(script)))
			r = store_submit(s, op, e);
		r = r ? r : tool_reap(s, &op, e);
		if (!r)
			how = script->type->answered(script, op, e);
	}
	if (!r && how == SCRIPT_FAILED)
		r = -EIO;
	if (r)
		s->in_flight = 0; /* they are given up */
	return r;
}

/* ---- what is printed ---- */

/* As the original has it. */
static void tool_put_rate(FILE *out, long long bytes, uint64_t ns)
{
	const long long us = (long long)(ns / 1000);
	const double kbits = (double)bytes * 8000.0 / (double)(us ? us : 1);

	fprintf(out, ":\t%8lld msec", us / 1000);
	if (kbits > 1000000.0)
		fprintf(out, "\t[%.4g Gbit/s]\n", kbits / 1000000.0);
	else if (kbits > 1000.0)
		fprintf(out, "\t[%.4g Mbit/s]\n", kbits / 1000.0);
	else
		fprintf(out, "\t[%.4g kbit/s]\n", kbits);
}

/* The rate of FILE is that of -b in the original. Here it is that of the bytes that moved. */
static void tool_put_line(const struct rxperf_tool *t, const struct rxperf_opts *o, uint64_t ns)
{
	const long long calls = (long long)t->threads * t->times;
	long long each = t->bytes;

	switch (t->command) {
	case RX_PERF_RPC:
		each = (long long)t->sent + t->received;
		fprintf(t->out, "RPC: threads\t%d, times\t%d, write bytes\t%d, read bytes\t%d",
			t->threads, t->times, t->sent, t->received);
		break;
	case RX_PERF_FILE:
		each = (long long)(rx_perf_sent(&o->call) + rx_perf_received(&o->call));
		fprintf(t->out, "FILE %s: threads\t%d, times\t%d, bytes\t%d", t->file, t->threads,
			t->times, t->bytes);
		break;
	default:
		fprintf(t->out, "%s: threads\t%d, times\t%d, bytes\t%d",
			t->command == RX_PERF_RECV ? "RECV" : "SEND", t->threads, t->times,
			t->bytes);
	}
	tool_put_rate(t->out, calls * each, ns);
}

/* What of the original's statistics is counted here. */
static void tool_put_stats(FILE *out, struct store *s, const struct sockaddr_in *to)
{
	struct store_rx_state now;
	const struct rx_counts *n = &now.counts;

	store_rx_look(s, &now);
	fprintf(out,
		"   packets read: data %" PRIu64 " ack %" PRIu64 " busy %" PRIu64 " abort %" PRIu64
		"\n",
		n->data_received, n->acks_received, n->busy_received, n->aborts_received);
	fprintf(out,
		"   other read counters: data %" PRIu64 ", ack %" PRIu64 ", dup %" PRIu64
		" spurious %" PRIu64 "\n",
		n->data_received, n->acks_received, n->duplicates, n->strange);
	fprintf(out, "   packets sent: data %" PRIu64 " ack %" PRIu64 "\n", n->data_sent,
		n->acks_sent);
	fprintf(out,
		"   other send counters: ack %" PRIu64 ", data %" PRIu64
		" (not resends), resends %" PRIu64 "\n",
		n->acks_sent, n->data_sent - n->resent, n->resent);
	if (now.rtt.n) {
		fprintf(out, "   Average rtt is %0.3f, with %" PRIu64 " samples\n",
			(double)now.rtt.sum_ns / NS_PER_S / (double)now.rtt.n, now.rtt.n);
		fprintf(out, "   Minimum rtt is %0.3f, maximum is %0.3f\n",
			(double)now.rtt.min_ns / NS_PER_S, (double)now.rtt.max_ns / NS_PER_S);
	}
	fprintf(out, "Peer %x.%d.\n", ntohl(to->sin_addr.s_addr), ntohs(to->sin_port));
}

/* ---- a test ---- */

static int tool_do_calls(const struct rxperf_tool *t, const struct rxperf_opts *o, struct store *s,
			 uint64_t *ns, struct err *e)
{
	static uint8_t zeros[SENT_PERIOD]; /* no memory until they are read */
	struct rxperf *work = rxperf_new(o, zeros, 0);
	uint64_t begun_ns = clock_now_ns();
	int r = work ? 0 : err_set(e, -ENOMEM, "out of memory");

	for (int i = 0; !r && i < (t->threads > 1 ? 1 : t->times); i++) {
		rxperf_script(work)->type->begin(rxperf_script(work), s);
		r = tool_do_action(s, rxperf_script(work), e);
	}
	*ns = clock_now_ns() - begun_ns;
	rxperf_free(work);
	return r;
}

static int tool_do(const struct rxperf_tool *t, struct err *e)
{
	struct store *s = NULL;
	struct rxperf_opts o;
	struct sockaddr_in to;
	uint64_t ns;
	int r = tool_opts(&o, t, e);

	r = r ? r : tool_open(&s, t, e);
	if (!r && rights_drop_all(getuid(), getgid()))
		warnx("could not drop root privileges");
	r = r ? r : tool_do_calls(t, &o, s, &ns, e);
	if (!r)
		tool_put_line(t, &o, ns);
	if (!r && t->stats && !store_rx_find(&to, t->host, (uint16_t)t->port, e))
		tool_put_stats(t->out, s, &to);
	store_close(s);
	return r;
}

static void on_stop(int sig)
{
	cmd_stop = sig;
}

int rxperf_tool_client(const struct rxperf_tool *t)
{
	struct err e = { 0 };
	int r;

	signal(SIGINT, on_stop);
	signal(SIGUSR1, on_stop);
	r = tool_do(t, &e);
	if (r == -EINTR)
		return INTERRUPTED;
	if (r)
		warnx("%s", e.text);
	return r ? 1 : 0;
}
