/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine that may get many CPUs: calls are exact, and what a CPU costs that may come is known.
 * The kernel's list of possible CPUs is replaced where it has fewer than the test wants; the row
 * cpus-256-judges of tests/vm/matrix.sh has as many.
 * Tests user/watch/bpf/load.c.
 */
#include "watched.h"

#include "base/file.h"
#include "watch/bpf/load.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>

#define POSSIBLE "/sys/devices/system/cpu/possible"
#define MANY     256
/* Bytes of maps that each possible CPU may cost. */
#define MOST  400000
#define READS 1000

static unsigned int possible(void)
{
	char text[256];

	assert_true(file_text(text, sizeof(text), POSSIBLE) > 0);
	return bpf_load_cpus(text);
}

/* What this program sees from here on, until seen_again. */
static void set_possible(unsigned int n)
{
	char path[] = "/tmp/afpscope-cpus-XXXXXX", text[32];
	int fd = mkstemp(path), len = snprintf(text, sizeof(text), "0-%u\n", n - 1);

	assert_true(fd >= 0 && write(fd, text, (size_t)len) == len);
	close(fd);
	assert_int_equal(mount(path, POSSIBLE, NULL, MS_BIND, NULL), 0);
	unlink(path);
	assert_int_equal(possible(), n);
}

static void seen_again(void)
{
	assert_int_equal(umount(POSSIBLE), 0);
}

/* Bytes of the map behind a descriptor of this process; 0: it is none. */
static uint64_t map_bytes(const char *fd)
{
	unsigned long long bytes = 0;
	char path[300], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", fd);
	f = fopen(path, "re");
	if (!f)
		return 0;
	/* Programs have a "memlock", too, and before it no type of map. */
	for (bool map = false; fgets(line, sizeof(line), f);) {
		map |= !strncmp(line, "map_type:", 9);
		if (map && sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	}
	fclose(f);
	return bytes;
}

static uint64_t maps_bytes(void)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *e;
	uint64_t sum = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		sum += map_bytes(e->d_name);
	closedir(d);
	return sum;
}

static int zero;

static void do_reads(struct watched_shared *s)
{
	char c;

	(void)s;
	for (uint64_t i = 0; i < READS; i++)
		if (read(zero, &c, 1) != 1)
			_exit(1);
}

/* Bytes of all maps with so many possible CPUs, which may be less than there are: nothing is
 * counted. */
static uint64_t bytes_with(unsigned int n)
{
	struct target t = { .server = getpid() };
	struct err e = {};
	uint64_t bytes;
	struct watch *w;

	set_possible(n);
	if (watch_open_target(&w, WATCH_BPF, &t, &e))
		fail_msg("%s", e.text);
	bytes = maps_bytes();
	watch_free(w);
	seen_again();
	return bytes;
}

/* From the number on from which CPUs share their histograms of times. */
/* Place: a machine that may get 256 CPUs | exact; the watch takes 0.4 MB of memory more for
 *   each CPU that may come, some 160 MB in all */
static void a_possible_cpu_costs_little_memory(void **state)
{
	uint64_t few = bytes_with(AFS_N_LANES), many = bytes_with(MANY), each;

	(void)state;
	assert_true(few && many > few);
	each = (many - few) / (MANY - AFS_N_LANES);
	print_message("maps: %llu bytes with %d CPUs, %llu with %d: %llu for each more\n",
		      (unsigned long long)few, AFS_N_LANES, (unsigned long long)many, MANY,
		      (unsigned long long)each);
	assert_true(each <= MOST);
}

/* Place: a machine that may get 256 CPUs */
static void calls_are_exact_with_many_possible_cpus(void **state)
{
	const struct expected want[] = {
		{ AFS_CLASS_READ, AFS_OBJECT_OTHER, READS, 0, READS },
	};
	bool real = possible() >= MANY;
	struct watched x;

	(void)state;
	if (!real)
		set_possible(MANY);
	print_message("%u possible CPUs (%s)\n", possible(), real ? "the kernel's" : "made up");
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_true(zero >= 0);
	watched_start(&x, do_reads);
	watched_open(&x, (struct target) {});
	for (int i = 0; i < 3; i++) {
		watched_step(&x);
		watched_check(&x, AFS_ROLE_SERVER, want, 1);
		watched_check_io(&x);
		ledger_fini(&x.diff);
	}
	watched_end(&x);
	close(zero);
	if (!real)
		seen_again();
}

/* The key's length of a map that forgets and has its full length; 0: another one. */
static __u32 forgetful_map(const char *fd, struct bpf_map_info *info)
{
	__u32 len = sizeof(*info);

	*info = (struct bpf_map_info) {};
	if (!map_bytes(fd) || bpf_obj_get_info_by_fd(atoi(fd), info, &len))
		return 0;
	return info->type == BPF_MAP_TYPE_LRU_HASH && info->max_entries >= AFS_N_LINKS
		   ? info->key_size
		   : 0;
}

static void put_on(int cpu, int fd, const struct bpf_map_info *info, __u64 from, __u64 to)
{
	char key[64] = { 0 }, value[4096] = { 0 };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_true(info->key_size <= sizeof(key) && info->value_size <= sizeof(value));
	for (__u64 i = from; i < to; i++) {
		memcpy(key, &i, sizeof(__u32));
		assert_int_equal(bpf_map_update_elem(fd, key, value, BPF_NOEXIST), 0);
	}
}

static __u64 keeps(int fd, __u64 n)
{
	char key[64] = { 0 }, value[4096];
	__u64 found = 0;

	for (__u64 i = 0; i < n; i++) {
		memcpy(key, &i, sizeof(__u32));
		found += !bpf_map_lookup_elem(fd, key, value);
	}
	return found;
}

/*
 * A CPU that has put one entry into such a map keeps room for many: on a machine of many CPUs live
 * entries were forgotten although the map was nearly empty.
 */
static void maps_keep_what_they_have_room_for(void **state)
{
	struct target t = { .server = getpid() };
	struct bpf_map_info info;
	const struct dirent *entry;
	unsigned int n = 0;
	struct err e = {};
	cpu_set_t before;
	struct watch *w;
	DIR *d;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (watch_open_target(&w, WATCH_BPF, &t, &e))
		fail_msg("%s", e.text);
	d = opendir("/proc/self/fd");
	assert_non_null(d);
	while ((entry = readdir(d))) {
		if (!forgetful_map(entry->d_name, &info))
			continue;
		put_on(0, atoi(entry->d_name), &info, 0, 1);
		put_on(CPU_ISSET(1, &before) ? 1 : 0, atoi(entry->d_name), &info, 1, AFS_N_LINKS);
		print_message("%s: room for %u\n", info.name, info.max_entries);
		assert_int_equal(keeps(atoi(entry->d_name), AFS_N_LINKS), AFS_N_LINKS);
		n++;
	}
	closedir(d);
	watch_free(w);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_possible_cpu_costs_little_memory),
		cmocka_unit_test(maps_keep_what_they_have_room_for),
		cmocka_unit_test(calls_are_exact_with_many_possible_cpus),
	};

	return cmocka_run_group_tests(tests, watched_mount_tracefs, NULL);
}
