/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_PRICE_H
#define WATCH_BPF_PRICE_H

/*
 * What watching costs, by the kernel's own statistics of the programs' run time. These cost time
 * themselves, so they are on for the first calls only, from which all others are estimated.
 */

#include "run/run.h"
#include "watch/bpf/load.h"

struct price {
	int fd; /* while it is open the kernel keeps statistics; -1: closed */
	struct {
		uint64_t runs, ns;
	} program[BPF_LOAD_PROGRAMS];
};

void price_begin(struct price *p);

/* Ends the statistics once the programs have run n times in all. */
void price_look(struct price *p, const struct bpf_load *l, uint64_t n);

/* Ends the statistics, and a note: the price of each of "calls". 0 or -ENOMEM. */
int price_note(struct price *p, const struct bpf_load *l, uint64_t calls, struct run *r);

void price_end(struct price *p);

#endif
