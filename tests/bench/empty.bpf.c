/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that return at once, where those of a watch are called most. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char licence[] SEC("license") = "GPL";

SEC("tp_btf/sys_enter")
int at_enter(void *ctx)
{
	return 0;
}

SEC("tp_btf/sys_exit")
int at_exit(void *ctx)
{
	return 0;
}

SEC("tp_btf/sched_switch")
int at_switch(void *ctx)
{
	return 0;
}

SEC("tp_btf/sched_waking")
int at_wakeup(void *ctx)
{
	return 0;
}
