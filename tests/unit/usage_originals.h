/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_USAGE_ORIGINALS_H
#define UNIT_USAGE_ORIGINALS_H

/* Mistakes under the names of other tools. Part of main/test_usage.c, which has the struct. */

/* clang-format off */
/* What the original says, on standard error. */
#define RXPERF_USAGE "usage: rxperf client -c send -b <bytes>\n" \
	"usage: rxperf client -c recv -b <bytes>\n" \
	"usage: rxperf client -c rpc  -S <sendbytes> -R <recvbytes>\n" \
	"usage: rxperf client -c file -f filename\n" \
	"rxperf: usage:\tcommon option to the client -w <write-bytes> -r <read-bytes> -T times -p port -s server -D\n" \
	"usage: rxperf server -p port"

static const struct usage_case rxperf_cases[] = {
	{ "", RXPERF_USAGE },
	{ "--help", RXPERF_USAGE },
	{ "push", RXPERF_USAGE },
	{ "client", "rxperf: no command given to the client" },
	{ "client -c push", "rxperf: unknown command push" },
	{ "client -c recv,send", "rxperf: unknown command recv,send" },
	{ "client -c recv -c push", "rxperf: unknown command push" },
	{ "client -c recv -b", "client: option requires an argument -- 'b'\n" RXPERF_USAGE },
	{ "client -c recv -b many", "rxperf: can't resolve number of bytes to transfer" },
	{ "client -c recv -b 64K", "rxperf: can't resolve number of bytes to transfer" },
	{ "client -c recv -b 4294967296", "rxperf: can't resolve number of bytes to transfer" },
	{ "client -c recv -T 0y10", "rxperf: can't resolve number of times to execute rpc" },
	{ "client -c recv -p http", "rxperf: can't resolve portname" },
	{ "client -c recv -P 1s", "rxperf: can't resolve min peer timeout" },
	{ "client -c recv -W x", "rxperf: can't resolve max send/recv window size (packets)" },
	{ "client -c recv -m x", "rxperf: can't resolve rx maxmtu to use" },
	{ "client -c recv -u x", "rxperf: can't resolve upd buffer size (Kbytes)" },
	{ "client -c recv -r 0x80001", "rxperf: 524289 > sizeof(somebuf) (524288)" },
	{ "client -c recv -w 0", "rxperf: can't resolve writesize" },
	{ "client -c rpc -S -1", "rxperf: a number of bytes is less than 0" },
	{ "client -c recv -t 129", "rxperf: too many threads" },
	{ "client -c recv -Z", "client: invalid option -- 'Z'\n" RXPERF_USAGE },
	{ "client -c recv -N -D", "rxperf: cannot set both -N and -D" },
	{ "client -c FILE -t 2", "rxperf: cannot use multiple threads with file command" },
	{ "client -c file", "rxperf: the file command needs -f FILE" },
	{ "client -c file -f /nowhere", "rxperf: cannot open /nowhere: No such file or directory" },
	{ "client -c recv -o /nowhere/o", "rxperf: can't open /nowhere/o: No such file or directory" },
	{ "client -c recv -d /nowhere/o", "rxperf: fopen /nowhere/o: No such file or directory" },
	{ "client -c recv host", RXPERF_USAGE },
	{ "server -c recv", "server: invalid option -- 'c'\n" RXPERF_USAGE },
	{ "server -S many", "rxperf: can't resolve maxprocs" },
};

static const struct usage_case afp_lantest_cases[] = {
	{ "-Z", "unknown option '-Z'; see --help" },
	{ "-u bench1 -w secret1", "which volume? give -s VOLUME or afp://host/VOLUME" },
};

static const struct usage_case afp_lantest_out_of_range_cases[] = {
	{ "-n 0", "-n: '0' is not in 1..1000" },
	{ "-n x", "-n: 'x' is not a whole number" },
	{ "-n 257 -f 8", "iterations parameter 257 out of valid range [1, 256]" },
	{ "-p 0", "-p: '0' is not in 1..65535" },
	{ "-p 65536", "-p: '65536' is not in 1..65535" },
};

static const struct usage_case afp_speedtest_cases[] = {
	{ "-s vol1 -Z", "unknown option '-Z'; see --help" },
	{ "", "which volume? give -s VOLUME or afp://host/VOLUME" },
	{ "-s vol1 -p 0", "-p: '0' is not in 1..65535" },
	{ "-s vol1 -t -1", "-t: needs an argument (SECONDS), and '-1' is an option" },
	{ "-s vol1 -W 1001", "-W: '1001' is not in 0..1000" },
	{ "-s vol1 -n 0", "-n: '0' is not in 1..100000" },
};

static const struct usage_case afp_speedtest_no_test_cases[] = {
	{ "-s vol1 -f Bogus", "-f: there is no test 'Bogus': Read, Write, Copy, ServerCopy" },
	{ "-s vol1 -f read", "-f: there is no test 'read': Read, Write, Copy, ServerCopy" },
	{ "-s vol1 -f Read,Bogus", "-f: there is no test 'Bogus': Read, Write, Copy, ServerCopy" },
};
/* clang-format on */

#endif
