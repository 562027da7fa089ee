/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs ask of the kernel is in Linux 5.15, the oldest that they are for, of which no
 * row of tests/vm/matrix.sh has a kernel: functions and kinds of maps are numbered in the order in
 * which they came. Whether that kernel's verifier accepts the programs this does not show.
 */
#include "bpf/calls.h"
#include "bpf/storage.h"

#include "calls.skel.h"
#include "storage.skel.h"

#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The last that came in or before Linux 5.15. */
#define LAST_FUNCTION BPF_FUNC_task_pt_regs
#define LAST_MAP      BPF_MAP_TYPE_TASK_STORAGE

static unsigned int functions_of(const struct bpf_program *p)
{
	const struct bpf_insn *in = bpf_program__insns(p);
	unsigned int n = 0;

	for (size_t i = 0; i < bpf_program__insn_cnt(p); i++) {
		if (in[i].code != (BPF_JMP | BPF_CALL) || in[i].src_reg)
			continue;
		n++;
		if (in[i].imm > LAST_FUNCTION)
			fail_msg("%s calls function %d", bpf_program__name(p), in[i].imm);
	}
	return n;
}

static void check(struct bpf_object *o)
{
	unsigned int functions = 0, maps = 0;
	struct bpf_program *p;
	struct bpf_map *m;

	assert_non_null(o);
	bpf_object__for_each_program(p, o) functions += functions_of(p);
	bpf_object__for_each_map(m, o)
	{
		maps++;
		if (bpf_map__type(m) > LAST_MAP)
			fail_msg("%s is of type %d", bpf_map__name(m), bpf_map__type(m));
	}
	assert_true(functions && maps);
	print_message("%u calls of functions, %u maps\n", functions, maps);
}

static void nothing_newer_than_linux_5_15_is_asked_for(void **state)
{
	struct calls_bpf *calls = calls_bpf__open();
	struct storage_bpf *storage = storage_bpf__open();

	(void)state;
	assert_true(calls && storage);
	check(calls->obj);
	check(storage->obj);
	calls_bpf__destroy(calls);
	storage_bpf__destroy(storage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_newer_than_linux_5_15_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
