/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the watch that need no kernel: buckets, tables, text, and a choice. Tests
 * bpf/hist.h, user/host/net/sockets.c, user/host/proc/syscalls.c.
 */
#include "bpf/hist.h"

#include "base/hist.h"
#include "host/net/sockets.h"
#include "host/proc/syscalls.h"
#include "kinds/target.h"
#include "watch/bpf/load.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

/* The two kinds of histogram. */
static const struct {
	unsigned int bits, n;
} kinds[] = { { AFS_HIST_BITS, AFS_HIST_BUCKETS }, { AFS_REQUEST_BITS, AFS_REQUEST_BUCKETS } };

static void same_bucket(uint64_t v)
{
	for (int i = 0; i < 2; i++) {
		size_t want = hist_index(v, kinds[i].bits);

		if (want >= kinds[i].n)
			want = kinds[i].n - 1;
		assert_int_equal(afs_hist_index(v, kinds[i].bits, kinds[i].n), want);
	}
}

static void the_kernels_buckets_are_the_clients(void **state)
{
	uint64_t v = 1;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		same_bucket(i);
	for (int bit = 0; bit < 64; bit++) {
		for (int64_t near = -3; near <= 3; near++) {
			same_bucket((1ull << bit) + (uint64_t)near);
			same_bucket((3ull << bit >> 1) + (uint64_t)near);
		}
	}
	for (int i = 0; i < 100000; i++) {
		v = v * 6364136223846793005ull + 1442695040888963407ull;
		same_bucket(v >> (v & 63));
	}
	same_bucket(UINT64_MAX);
}

static void the_last_bucket_holds_everything_longer(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		unsigned int bits = kinds[i].bits, n = kinds[i].n;

		assert_int_equal(afs_hist_index(1ull << 36, bits, n), n - 1);
		assert_int_equal(afs_hist_index((1ull << 36) - 1, bits, n), n - 1);
		assert_int_equal(hist_low(n, bits), 1ull << 36);
	}
}

static void the_table_of_calls_is_sound(void **state)
{
	struct afs_call table[AFS_N_CALLS];

	(void)state;
	for (int nr = 0; nr < AFS_N_CALLS; nr++) {
		table[nr] = syscalls_call(nr);
		assert_true(table[nr].class < AFS_N_CLASSES);
		assert_true(table[nr].fd <= AFS_FD_NONE);
		assert_true(table[nr].closes <= AFS_CLOSES_UNSHARES);
		/* What counts as bytes read or written is what it moved. */
		if (table[nr].flags & (AFS_COMPAT_READ | AFS_COMPAT_WRITE))
			assert_true(table[nr].flags & AFS_CALL_MOVES);
	}
	assert_int_equal(table[SYS_pread64].class, AFS_CLASS_READ);
	assert_int_equal(table[SYS_writev].flags & AFS_COMPAT_ALWAYS, AFS_COMPAT_ALWAYS);
	assert_int_equal(table[SYS_copy_file_range].fd, 2);
	assert_int_equal(table[SYS_clock_nanosleep].class, AFS_CLASS_WAIT);
	assert_string_equal(syscalls_name(SYS_pselect6), "pselect6");
	assert_string_equal(syscalls_name(463), "setxattrat");
	assert_null(syscalls_name(AFS_N_CALLS));
	assert_int_equal(syscalls_call(SYS_clock_nanosleep).waits, AFS_WAITS_TIME);
	assert_int_equal(syscalls_call(SYS_nanosleep).waits, AFS_WAITS_TIME);
	assert_int_not_equal(syscalls_call(SYS_pselect6).waits, AFS_WAITS_TIME);
	assert_int_equal(syscalls_call(-1).class, AFS_CLASS_OTHER);
}

/* false: no place left. */
static bool put_result(struct afs_result *table, uint32_t account, int32_t code)
{
	uint32_t at = afs_result_index(account, code);
	struct afs_result *r;

	for (uint32_t k = 0; k < AFS_RESULT_TRIES; k++) {
		r = &table[(at + k) % AFS_N_RESULTS];
		if (r->account)
			continue;
		*r = (struct afs_result) { account + 1, code, 1 };
		return true;
	}
	return false;
}

/* netatalk's spectest: some fifty commands, each with up to eight of the sixty codes of AFP. */
static void the_results_of_a_spectest_find_room(void **state)
{
	static struct afs_result table[AFS_N_RESULTS];

	(void)state;
	for (uint32_t command = 1; command <= 50; command++)
		for (int32_t i = 0; i < 8; i++)
			assert_true(
			    put_result(table, command, -5000 - (int32_t)(command * 7 % 53) - i));
	assert_true(put_result(table, AFS_ACCOUNT_DSI + 4, 64465));
}

static void preemption_is_what_the_kernel_says_not_its_version(void **state)
{
	static const char dynamic[] = "#1 SMP PREEMPT_DYNAMIC Debian 6.12.107-1";

	(void)state;
	assert_false(bpf_load_preempts("#1 SMP Debian 5.10.223-1", "", "", true));
	assert_true(bpf_load_preempts("#1 SMP PREEMPT_RT Debian 6.1.176-1", "", "", false));
	assert_false(bpf_load_preempts(dynamic, "none (voluntary) full\n", "", true));
	assert_true(bpf_load_preempts(dynamic, "none voluntary (full)\n", "", false));
	assert_true(bpf_load_preempts(dynamic, "full (lazy)\n", "preempt=none", false));
	assert_false(bpf_load_preempts(dynamic, "", "quiet preempt=none", true));
	assert_true(bpf_load_preempts(dynamic, "", "quiet preempt=full", false));
	assert_false(bpf_load_preempts(dynamic, "", "quiet", false));
	assert_true(bpf_load_preempts(dynamic, "", "quiet", true));
}

static void cpu_numbers_may_have_gaps(void **state)
{
	(void)state;
	assert_int_equal(bpf_load_cpus("0\n"), 1);
	assert_int_equal(bpf_load_cpus("0-3\n"), 4);
	assert_int_equal(bpf_load_cpus("0-1,4-7,16\n"), 17);
	assert_int_equal(bpf_load_cpus(""), 0);
}

static void a_line_of_proc_net_tcp_is_read(void **state)
{
	static const char v4[] = "   1: 0100007F:0224 0200000A:C001 01 00000000:00000000 "
				 "00:00000000 00000000  1000        0 12345 1 0 20 4 30 10 -1\n";
	static const char listening[] = "   0: 00000000:0224 00000000:0000 0A 00000000:00000000 "
					"00:00000000 00000000     0        0 99 1 0 100 0 0 10 0\n";
	struct sockets_entry e;
	uint8_t ip[16];

	(void)state;
	assert_true(sockets_parse(&e, v4));
	inet_pton(AF_INET6, "::ffff:127.0.0.1", ip);
	assert_memory_equal(e.local.ip, ip, 16);
	inet_pton(AF_INET6, "::ffff:10.0.0.2", ip);
	assert_memory_equal(e.remote.ip, ip, 16);
	assert_int_equal(e.local.port, 548);
	assert_int_equal(e.remote.port, 49153);
	assert_int_equal(e.ino, 12345);
	assert_int_equal(e.uid, 1000);
	assert_false(e.listens);
	assert_true(sockets_parse(&e, listening) && e.listens);
	assert_false(sockets_parse(&e, "  sl  local_address rem_address   st tx_queue\n"));
	assert_false(sockets_parse(&e, ""));
	assert_false(sockets_parse(&e, "   1: 01:0224 02:C001 01 0:0 0:0 0 0 0 12345"));
}

static void a_line_of_proc_net_tcp6_is_read(void **state)
{
	static const char v6[] = "   2: 000080FE00000000FF005450BEBAFEFF:0224 "
				 "0000000000000000FFFF00000100007F:C002 01 00000000:00000000 "
				 "00:00000000 00000000     0        0 777 1 0 20 4 30 10 -1\n";
	struct sockets_entry e;
	uint8_t ip[16];

	(void)state;
	assert_true(sockets_parse(&e, v6));
	inet_pton(AF_INET6, "fe80::5054:ff:fffe:babe", ip);
	assert_memory_equal(e.local.ip, ip, 16);
	inet_pton(AF_INET6, "::ffff:127.0.0.1", ip);
	assert_memory_equal(e.remote.ip, ip, 16);
	assert_int_equal(e.ino, 777);
}

static void the_other_end_is_the_reversed_pair(void **state)
{
	struct sockets_addr a = { .ip = { 1 }, .port = 1 }, b = { .ip = { 2 }, .port = 2 },
			    c = { .ip = { 1 }, .port = 3 };
	struct sockets_entry entry[] = {
		{ .local = a, .remote = b, .ino = 10 },
		{ .local = c, .remote = b, .ino = 11 },
		{ .local = b, .remote = a, .ino = 20 },
		{ .ino = 30, .peer = 31 },
	};
	struct sockets s = { .n = 4, .entry = entry };

	(void)state;
	assert_int_equal(sockets_peer(&s, 10), 20);
	assert_int_equal(sockets_peer(&s, 20), 10);
	assert_int_equal(sockets_peer(&s, 11), 0);
	assert_int_equal(sockets_peer(&s, 30), 31);
	assert_int_equal(sockets_peer(&s, 99), 0);
	assert_null(sockets_find(&s, &b, &c, NULL));
}

static void addresses_of_both_families_compare(void **state)
{
	struct sockaddr_storage ss = {};
	struct sockaddr_in *v4 = (void *)&ss;
	struct sockets_addr a;
	uint8_t ip[16];

	(void)state;
	v4->sin_family = AF_INET;
	v4->sin_port = htons(548);
	inet_pton(AF_INET, "10.1.2.3", &v4->sin_addr);
	assert_true(sockets_addr(&a, &ss));
	inet_pton(AF_INET6, "::ffff:10.1.2.3", ip);
	assert_memory_equal(a.ip, ip, 16);
	assert_int_equal(a.port, 548);
	ss.ss_family = AF_UNIX;
	assert_false(sockets_addr(&a, &ss));
}

static struct way_holder holder(pid_t pid, uint64_t started, const char *exe, pid_t up)
{
	struct way_holder h = { .pid = pid, .started = started, .n_up = 2, .up = { up, 1 } };

	strcpy(h.exe, exe);
	return h;
}

static void the_session_is_chosen(void **state)
{
	struct way_holder h[4];
	size_t left;

	(void)state;
	h[0] = holder(100, 5, "/usr/sbin/afpd", 1);
	assert_int_equal(way_choose(h, 1, &left), 0);
	assert_int_equal(left, 1);
	/* The master, its session, a program the session started. */
	h[1] = holder(200, 6, "/usr/sbin/afpd", 100);
	h[2] = holder(300, 7, "/sbin/unix_chkpwd", 200);
	assert_int_equal(h[way_choose(h, 3, &left)].pid, 200);
	assert_int_equal(left, 1);
	/* Two sessions of one master that both hold it: doubtful, the younger. */
	h[2] = holder(300, 7, "/usr/sbin/afpd", 100);
	assert_int_equal(h[way_choose(h, 3, &left)].pid, 300);
	assert_int_equal(left, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_buckets_are_the_clients),
		cmocka_unit_test(the_last_bucket_holds_everything_longer),
		cmocka_unit_test(the_table_of_calls_is_sound),
		cmocka_unit_test(the_results_of_a_spectest_find_room),
		cmocka_unit_test(preemption_is_what_the_kernel_says_not_its_version),
		cmocka_unit_test(cpu_numbers_may_have_gaps),
		cmocka_unit_test(a_line_of_proc_net_tcp_is_read),
		cmocka_unit_test(a_line_of_proc_net_tcp6_is_read),
		cmocka_unit_test(the_other_end_is_the_reversed_pair),
		cmocka_unit_test(addresses_of_both_families_compare),
		cmocka_unit_test(the_session_is_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
