/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_SAMPLE_TRANSFER_H
#define TESTS_UNIT_SAMPLE_TRANSFER_H

/*
 * Synthetic runs of speedtest: works x sizes, every number known. In what they have of a server,
 * Read is sent by sendfile, Write is written and synced, Copy is sent by sendfile and written,
 * ServerCopy is read and written.
 */

#include "run/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CHUNK 1048576u

/* Of an iteration: shares of its time, in per cent. */
struct shares {
	unsigned int client, user, calls, runq, disk, net, client_runq;
};

static const struct shares sample_shares[] = {
	{ 45, 4, 31, 1, 0, 12, 0 }, /* Read */
	{ 22, 3, 20, 1, 55, 0, 0 }, /* Write */
	{ 48, 6, 30, 1, 4, 3, 0 },  /* Copy */
	{ 0, 2, 88, 1, 6, 0, 0 },   /* ServerCopy */
};

static inline size_t sample_work(const char *work)
{
	static const char *const works[] = { "Read", "Write", "Copy", "ServerCopy" };
	size_t i = 0;

	while (strcmp(works[i], work))
		i++;
	return i;
}

/* One part, and the row with the same call where it is one. */
static inline void sample_part(struct run_phase *p, uint16_t account, struct ledger_part part)
{
	struct ledger_row row = { part.role, part.class, part.object, { 0 } };
	struct ledger one = { .has_calls = true,
			      .has_requests = true,
			      .has_compat = { true, false, false },
			      .n_parts = 1,
			      .part = &part };

	part.account = account;
	row.cell.calls = part.part.calls;
	row.cell.bytes = part.part.bytes;
	row.cell.ns = part.part.cpu_ns + part.part.blocked_ns + part.part.runq_ns;
	if (part.class != AFS_CLASS_USER) {
		one.n_rows = 1;
		one.row = &row;
	}
	assert_int_equal(ledger_add(&p->ledger, &one), 0);
}

/* What the server did in "ns" of measured time, n requests that moved so many bytes. */
static inline void sample_server(struct run_phase *p, uint64_t ns, uint64_t n, uint64_t bytes,
				 const struct shares *s)
{
	static const uint8_t codes[] = { 60, 61, 61, 5 };
	static const uint8_t classes[] = { AFS_CLASS_SENDFILE, AFS_CLASS_WRITE, AFS_CLASS_WRITE,
					   AFS_CLASS_WRITE };
	static const uint8_t second[] = { AFS_CLASS_WAIT, AFS_CLASS_READ, AFS_CLASS_SENDFILE,
					  AFS_CLASS_READ };
	size_t w = sample_work(p->transfer->work);
	uint64_t percent = ns / 100;
	struct ledger_account account = { .account = codes[w] };
	struct ledger one = { .has_calls = true,
			      .has_requests = true,
			      .has_compat = { true, false, false },
			      .n_accounts = 1,
			      .account = &account };

	account.sum.begun = account.sum.answered = n;
	account.sum.ns = percent * (s->user + s->calls + s->runq + s->disk + s->net);
	account.hist[hist_index(account.sum.ns / n, AFS_REQUEST_BITS)] = n;
	assert_int_equal(ledger_add(&p->ledger, &one), 0);
	sample_part(p, codes[w],
		    (struct ledger_part) {
			.class = AFS_CLASS_USER,
			.part = { .cpu_ns = percent * s->user, .runq_ns = percent * s->runq } });
	sample_part(p, codes[w],
		    (struct ledger_part) {
			.class = classes[w],
			.object = w ? AFS_OBJECT_DATA : AFS_OBJECT_CLIENT,
			.part = { .calls = n, .bytes = bytes, .cpu_ns = percent * s->calls / 2 } });
	sample_part(p, codes[w],
		    (struct ledger_part) {
			.class = second[w],
			.object = w % 2 ? AFS_OBJECT_DATA : AFS_OBJECT_CLIENT,
			.part = { .calls = n,
				  .bytes = w > 1 ? bytes : 0,
				  .cpu_ns = percent * s->calls - percent * s->calls / 2 } });
	sample_part(p, codes[w],
		    (struct ledger_part) {
			.class = AFS_CLASS_SYNC,
			.object = AFS_OBJECT_DATA,
			.part = { .calls = s->disk > 0, .blocked_ns = percent * s->disk } });
	sample_part(p, codes[w],
		    (struct ledger_part) { .class = AFS_CLASS_WAIT,
					   .object = AFS_OBJECT_CLIENT,
					   .part = { .blocked_ns = percent * s->net } });
	run_phase_from_ledger(p);
}

static inline struct run_tcp *sample_look(struct run_phase *p, enum run_tcp_end end,
					  enum run_tcp_when when)
{
	struct run_tcp *look = run_tcp(p->transfer, end, when);

	assert_non_null(look);
	look->t_ns = 1000000000ull * (1 + when);
	for (size_t v = 0; v < N_TCP; v++)
		look->known[v] = true;
	look->value[TCP_SNDBUF] = 3847 * 1024;
	look->value[TCP_RCVBUF] = 128 * 1024;
	look->value[TCP_MSS] = 1448;
	look->value[TCP_CWND] = 10;
	look->value[TCP_RTT] = 180;
	look->value[TCP_MIN_RTT] = 40;
	look->value[TCP_SEGS_OUT] = 1000 * (1 + when);
	return look;
}

static inline void sample_add(struct run_phase *p, unsigned int iteration, bool warmup, uint64_t ns)
{
	struct run_sample *s = run_sample(p->transfer);

	assert_non_null(s);
	s->iteration = iteration;
	s->warmup = warmup;
	s->complete = true;
	s->ns = ns;
	s->bytes = p->transfer->moved;
}

/* A phase without what only a server can be seen to do. */
static inline struct run_phase *sample_bare(struct run *r, unsigned int test, const char *work,
					    uint64_t size)
{
	struct run_phase *p = run_transfer(r, test, work, size);

	assert_non_null(p);
	p->complete = true;
	p->transfer->moved = size;
	p->transfer->window = 1;
	p->transfer->own_file = true;
	if (!strcmp(work, "ServerCopy"))
		return p;
	p->transfer->requests = (size + CHUNK - 1) / CHUNK;
	p->transfer->chunk = size < CHUNK ? size : CHUNK;
	return p;
}

/* n iterations of about base_ns. */
static inline struct run_phase *sample_phase(struct run *r, unsigned int test, const char *work,
					     uint64_t size, size_t n, bool watched)
{
	struct run_phase *p = sample_bare(r, test, work, size);
	const struct shares *shares = &sample_shares[sample_work(work)];
	uint64_t base_ns = 200000 + size * (3 + sample_work(work)) / 4, sum = 0, requests;
	struct run_command *c = run_command(p, 27, "FPRead");

	sample_add(p, 1, true, 3 * base_ns);
	for (size_t i = 0; i < n; i++) {
		uint64_t ns = base_ns + i * 7 % 5 * base_ns / 50;

		sample_add(p, (unsigned int)i + 1, false, ns);
		p->transfer->sample[i + 1].client_cpu_ns = ns * shares->client / 100;
		sum += ns;
	}
	sample_look(p, TCP_CLIENT, TCP_BEFORE);
	sample_look(p, TCP_CLIENT, TCP_AFTER);
	sample_look(p, TCP_SERVER, TCP_BEFORE);
	sample_look(p, TCP_SERVER, TCP_AFTER);
	requests = (p->transfer->requests ? p->transfer->requests : 1) * n;
	for (uint64_t i = 0; i < requests; i++)
		hist_add(&c->latency, sum / requests + i % 7 * 900);
	run_set(p, METRIC_ELAPSED, sum);
	run_set(p, METRIC_OPS, requests);
	run_set(p, METRIC_ERRORS, 0);
	run_set(p, METRIC_BYTES, size * n);
	run_set(p, METRIC_CLIENT_CPU, sum * shares->client / 100);
	run_set(p, METRIC_CLIENT_RUNQ, sum * shares->client_runq / 100);
	if (watched && n)
		sample_server(p, sum, requests, size * n, shares);
	return p;
}

static inline void sample_init(struct run *r, const char *iterations)
{
	assert_int_equal(run_init(r, "speedtest", "speedtest"), 0);
	r->complete = true;
	run_note(&r->options, "units", "binary");
	run_note(&r->options, "mode", "afp");
	run_note(&r->options, "tests", "Read,Write,Copy,ServerCopy");
	run_note(&r->options, "iterations", "%s", iterations);
	run_note(&r->options, "warmup", "1");
	run_note(&r->server, "host", "127.0.0.1");
	run_note(&r->server, "afp_version", "AFP3.4");
	run_note(&r->server, "volume", "vol1");
	run_note(&r->server, "quantum_bytes", "1048576");
	run_loss(r, "call records", 0);
}

/* Four works of so many sizes: 4 KiB, 8 KiB, ... */
static inline void sample_speed(struct run *r, size_t sizes, size_t n, bool watched)
{
	static const char *const works[] = { "Read", "Write", "Copy", "ServerCopy" };
	unsigned int test = 0;
	char text[24];

	snprintf(text, sizeof(text), "%zu", n);
	sample_init(r, text);
	for (size_t i = 0; i < sizes; i++)
		for (size_t w = 0; w < 4; w++)
			sample_phase(r, ++test, works[w], 4096ull << i, n, watched);
	if (watched)
		run_note(&r->rungs, "calls", "bpf tp_btf (highest of the ladder)");
	else
		run_note(&r->absent, "*", "the server is not on this machine");
}

#endif
