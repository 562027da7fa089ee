/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run-time statistics of the programs. */

#include "watch/watch_priv.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

/* Runs of the programs that suffice to measure their cost. */
#define PRICE_RUNS 20000

void price_begin(struct price *p)
{
	*p = (struct price) { .fd = bpf_enable_stats(BPF_STATS_RUN_TIME) };
}

void price_end(struct price *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* Sums over all runs so far. */
static uint64_t price_read_all(struct price *p, const struct bpf_load *l)
{
	struct bpf_prog_info info;
	uint64_t runs = 0;
	__u32 len;

	for (unsigned int i = 0; i < BPF_LOAD_PROGRAMS; i++) {
		info = (struct bpf_prog_info) {};
		len = sizeof(info);
		if (bpf_obj_get_info_by_fd(bpf_program__fd(l->program[i].program), &info, &len))
			continue;
		p->program[i].runs = info.run_cnt;
		p->program[i].ns = info.run_time_ns;
		runs += info.run_cnt;
	}
	return runs;
}

void price_look(struct bpf_rung *b)
{
	if (b->price.fd >= 0 && price_read_all(&b->price, &b->load) >= PRICE_RUNS)
		price_end(&b->price);
}

static double mean(const struct price *p, unsigned int i)
{
	return p->program[i].runs ? (double)p->program[i].ns / (double)p->program[i].runs : 0;
}

/* The programs are in the order entry, return, switch, wake-up (load.c). */
static double mean_call(struct price *p, const struct bpf_load *l)
{
	if (p->fd >= 0)
		price_read_all(p, l);
	return p->program[0].runs && p->program[1].runs ? mean(p, 0) + mean(p, 1) : 0;
}

bool watch_price(struct watch *w, uint64_t *out_ns)
{
	double call = w->bpf ? mean_call(&w->bpf->price, &w->bpf->load) : 0;

	if (call > 0)
		*out_ns = (uint64_t)(call * (double)bpf_view_all_calls(&w->bpf->view));
	return call > 0;
}

int price_note(struct bpf_rung *b, struct run *r)
{
	struct price *p = &b->price;
	uint64_t calls = bpf_view_all_calls(&b->view);
	double call = mean_call(p, &b->load), all = call * (double)calls;
	uint64_t runs = p->program[0].runs;

	price_end(p);
	if (call <= 0)
		return run_note(&r->rungs, RUNGS_PRICE,
				"not known: the kernel kept no statistics of the programs");
	if (run_note(&r->rungs, RUNGS_PRICE_NS, "%.0f", all))
		return -ENOMEM;
	return run_note(
	    &r->rungs, RUNGS_PRICE,
	    "%.0f ns in the programs for each system call (entry %.0f, return %.0f; the "
	    "kernel's statistics of %" PRIu64
	    " entries, of all processes), %.0f ns for each switch of "
	    "threads; for all %" PRIu64 " calls %.0f ms",
	    call, mean(p, 0), mean(p, 1), runs, mean(p, 2), calls, all / 1e6);
}
