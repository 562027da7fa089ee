/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each command says of wrong options, and its exit code. No server is needed: a mistake is
 * found before anything is opened. A case of each command in tests/integration shows that main()
 * hands both over.
 *
 * Tests user/main/lantest.c, speedtest.c, load.c, load_opts.c, smallfile.c, smallfile_opts.c,
 * record.c, doctor.c, clean.c, probe.c, user/drive/rxperf_opts.c, user/check/check.c,
 * user/top/top.c, user/slow/slow.c, user/exporter/exporter.c, user/compat/rxperf_tool.c, peer.c.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/cmd.h"
#include "drive/rxperf.h"
#include "uam/uam.h"

#define WORDS_MAX 120

/* A line of words, with quotes around what is empty or has blanks, and the one line of stderr. The
 * word FOLDER stands for a folder, in which nothing may be made. */
struct usage_case {
	const char *line;
	const char *message;
};

#include "unit/usage_originals.h"

/* clang-format off */
static const struct usage_case lantest_cases[] = {
	{ "-n 0", "lantest: -n: '0' is not in 1..1000 (see afpscope lantest --help)" },
	{ "-n many", "lantest: -n: 'many' is not a whole number (see afpscope lantest --help)" },
	{ "-n 1001", "lantest: -n: '1001' is not in 1..1000 (see afpscope lantest --help)" },
	{ "-f 0",
	  "lantest: -f: there is no test '0': 1 to 9 are the first nine, : ; < = > ? @ A are 10 to 17 (or --tests 10,11) (see afpscope lantest --help)" },
	{ "-f K",
	  "lantest: -f: there is no test 'K': 1 to 9 are the first nine, : ; < = > ? @ A are 10 to 17 (or --tests 10,11) (see afpscope lantest --help)" },
	{ "-f 1B2",
	  "lantest: -f: there is no test 'B': 1 to 9 are the first nine, : ; < = > ? @ A are 10 to 17 (or --tests 10,11) (see afpscope lantest --help)" },
	{ "-f ''", "lantest: -f: no test is named (see afpscope lantest --help)" },
	{ "--tests 0",
	  "lantest: --tests: '0': tests are 1 to 17, a range begins with the lower number (see afpscope lantest --help)" },
	{ "--tests 18",
	  "lantest: --tests: '18': tests are 1 to 17, a range begins with the lower number (see afpscope lantest --help)" },
	{ "--tests 3-1",
	  "lantest: --tests: '3-1': tests are 1 to 17, a range begins with the lower number (see afpscope lantest --help)" },
	{ "--tests 1,,2",
	  "lantest: --tests: '' is not a test or a range, as in 1,5-7,12 (see afpscope lantest --help)" },
	{ "-p 0", "lantest: -p: '0' is not in 1..65535 (see afpscope lantest --help)" },
	{ "-p 65536", "lantest: -p: '65536' is not in 1..65535 (see afpscope lantest --help)" },
	{ "--frobnicate", "lantest: unknown option '--frobnicate'; see --help" },
	{ "-Z", "lantest: unknown option '-Z'; see --help" },
	{ "-f", "lantest: -f: needs an argument (TESTS) (see afpscope lantest --help)" },
	{ "--watch=sometimes",
	  "lantest: --watch: 'sometimes' is not one of auto, bpf, proc, off (see afpscope lantest --help)" },
	{ "--uam=telepathy -f 4",
	  "lantest: --uam: 'telepathy' is not one of " UAM_NAMES " (see afpscope lantest --help)" },
	{ "--timeout 0",
	  "lantest: --timeout: '0' is not in 1..86400 (see afpscope lantest --help)" },
	{ "http://localhost/vol1",
	  "lantest: 'http://localhost/vol1' is not a server; give it as afp://user@host:548/Volume (see afpscope lantest --help)" },
	{ "afp:///vol1",
	  "lantest: no host in the URL; give it as afp://user@host/Volume (see afpscope lantest --help)" },
	{ "afp://u@::1:548/v",
	  "lantest: '::1:548' has several colons: write an IPv6 address in brackets, as in afp://user@[::1]:548/Volume (see afpscope lantest --help)" },
	{ "afp://localhost:x/vol1",
	  "lantest: port 'x' is not in 1..65535 (see afpscope lantest --help)" },
	{ "afp://localhost/vol%4",
	  "lantest: '%4' in the URL: % must be followed by two hex digits (see afpscope lantest --help)" },
	{ "afp://localhost/vol1 more",
	  "lantest: only one server can be given, but there is also 'more' (see afpscope lantest --help)" },
	{ "-g -g -g -g -g -g -g -g -g",
	  "lantest: -g: the large file would be larger than 1 PiB (see afpscope lantest --help)" },
	{ "--password-file /nonexistent/password",
	  "lantest: cannot read the password file /nonexistent/password: No such file or directory (see afpscope lantest --help)" },
	{ "--json /nonexistent/run.json",
	  "lantest: --json: cannot write /nonexistent/run.json: No such file or directory (see afpscope lantest --help)" },
	{ "--json /proc",
	  "lantest: --json: /proc is a folder: name a file (see afpscope lantest --help)" },
	{ "--json ''",
	  "lantest: --json: the name of the file is empty (see afpscope lantest --help)" },
	{ "-o ''", "lantest: -o: the name of the folder is empty (see afpscope lantest --help)" },
};

static const struct usage_case lantest_without_volume_cases[] = {
	{ "",
	  "lantest: which volume? give -s VOLUME or afp://host/VOLUME (see afpscope lantest --help)" },
};

static const struct usage_case speedtest_cases[] = {
	{ "-n 0", "speedtest: -n: '0' is not in 1..100000 (see afpscope speedtest --help)" },
	{ "-n many",
	  "speedtest: -n: 'many' is not a whole number (see afpscope speedtest --help)" },
	{ "-n 100001",
	  "speedtest: -n: '100001' is not in 1..100000 (see afpscope speedtest --help)" },
	{ "-W -1", "speedtest: -W: '-1' is not in 0..1000 (see afpscope speedtest --help)" },
	{ "-W 1001", "speedtest: -W: '1001' is not in 0..1000 (see afpscope speedtest --help)" },
	{ "-r 0", "speedtest: -r: '0' is not in 1..128 (see afpscope speedtest --help)" },
	{ "-r 129", "speedtest: -r: '129' is not in 1..128 (see afpscope speedtest --help)" },
	{ "-t -1",
	  "speedtest: -t: needs an argument (SECONDS), and '-1' is an option (see afpscope speedtest --help)" },
	{ "-t 3601",
	  "speedtest: -t: '3601' is not in 0..3600 (see afpscope speedtest --help)" },
	{ "-q 0", "speedtest: -q: '0': from one byte to 1024 P (see afpscope speedtest --help)" },
	{ "-q x",
	  "speedtest: -q: 'x' is not a size like 4K, 64, 0.5 or 1G (see afpscope speedtest --help)" },
	{ "-d 0", "speedtest: -d: '0': from one byte to 1024 P (see afpscope speedtest --help)" },
	{ "-d -1",
	  "speedtest: -d: needs an argument (SIZE), and '-1' is an option (see afpscope speedtest --help)" },
	{ "-d big",
	  "speedtest: -d: 'big' is not a size like 4K, 64, 0.5 or 1G (see afpscope speedtest --help)" },
	{ "-d 1Q",
	  "speedtest: -d: '1Q': units are B, K, M, G, T, P (of 1024) (see afpscope speedtest --help)" },
	{ "-d 99999999999G",
	  "speedtest: -d: '99999999999G': from one byte to 1024 P (see afpscope speedtest --help)" },
	{ "-z ''", "speedtest: -z: '' is not a size like 4K, 64, 0.5 or 1G (see afpscope speedtest --help)" },
	{ "-z 1,,2", "speedtest: -z: '' is not a size like 4K, 64, 0.5 or 1G (see afpscope speedtest --help)" },
	{ "-z 1,0", "speedtest: -z: '0': from one byte to 1024 P (see afpscope speedtest --help)" },
	{ "-z 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65",
	  "speedtest: -z: more than 64 sizes (see afpscope speedtest --help)" },
	{ "-f ''",
	  "speedtest: -f: there is no test '': Read, Write, Copy, ServerCopy (see afpscope speedtest --help)" },
	{ "-f Reed",
	  "speedtest: -f: there is no test 'Reed': Read, Write, Copy, ServerCopy (see afpscope speedtest --help)" },
	{ "-f Read,,Write",
	  "speedtest: -f: there is no test '': Read, Write, Copy, ServerCopy (see afpscope speedtest --help)" },
	{ "--set speedtest-9",
	  "speedtest: --set: 'speedtest-9' is not one of speedtest, speedtest-4.5, speedtest-4.6 (see afpscope speedtest --help)" },
	{ "--data noise",
	  "speedtest: --data: 'noise' is not one of zero, random, pattern (see afpscope speedtest --help)" },
	{ "--units furlongs",
	  "speedtest: --units: 'furlongs' is not one of decimal, binary (see afpscope speedtest --help)" },
	{ "--table round",
	  "speedtest: --table: 'round' is not one of screen, netatalk, afpscope, both, peer (see afpscope speedtest --help)" },
	{ "--watch sometimes",
	  "speedtest: --watch: 'sometimes' is not one of auto, bpf, proc, off (see afpscope speedtest --help)" },
	{ "--sample 0",
	  "speedtest: --sample: '0' is not in 1..1000 (see afpscope speedtest --help)" },
	{ "--timeout 0",
	  "speedtest: --timeout: '0' is not in 1..86400 (see afpscope speedtest --help)" },
	{ "--verify --data random",
	  "speedtest: --verify needs --data pattern (see afpscope speedtest --help)" },
	{ "-f Read -F own.bin --verify",
	  "speedtest: --verify cannot be used with -F: what own.bin should contain is not known (see afpscope speedtest --help)" },
	{ "--set speedtest-4.5 --data random",
	  "speedtest: the set speedtest-4.5 writes zeros (see afpscope speedtest --help)" },
	{ "-L", "speedtest: -L needs -P DIRECTORY (see afpscope speedtest --help)" },
	{ "-P /tmp", "speedtest: -P and -D need -L (see afpscope speedtest --help)" },
	{ "-p 0", "speedtest: -p: '0' is not in 1..65535 (see afpscope speedtest --help)" },
	{ "-Z", "speedtest: unknown option '-Z'; see --help" },
	{ "--frobnicate", "speedtest: unknown option '--frobnicate'; see --help" },
	{ "afp://localhost/vol1 more",
	  "speedtest: only one server can be given, but there is also 'more' (see afpscope speedtest --help)" },
	{ "--receive=drop --verify",
	  "speedtest: --verify needs the data: it cannot be used with --receive drop (see afpscope speedtest --help)" },
};

static const struct usage_case speedtest_without_volume_cases[] = {
	{ "",
	  "speedtest: which volume? give -s VOLUME or afp://host/VOLUME (see afpscope speedtest --help)" },
};

static const struct usage_case speedtest_in_a_directory_cases[] = {
	{ "-P FOLDER -f Read,ServerCopy",
	  "speedtest: ServerCopy needs a server: it cannot be used with -L (see afpscope speedtest --help)" },
	{ "-P FOLDER -q 2T",
	  "speedtest: -q: '2T': at most 1G in one request (see afpscope speedtest --help)" },
	{ "-P FOLDER --json FOLDER",
	  "speedtest: --json: FOLDER is a folder: name a file (see afpscope speedtest --help)" },
	{ "-P FOLDER --receive=copy",
	  "speedtest: --receive is about a server's replies: it cannot be used with -L (see afpscope speedtest --help)" },
	{ "FOLDER", "speedtest: -L needs -P DIRECTORY (see afpscope speedtest --help)" },
	{ "-P FOLDER --trace",
	  "speedtest: --trace records the requests of an AFP server: it cannot be used with -L, a DIRECTORY or a place that is not of AFP (see afpscope speedtest --help)" },
};

static const struct usage_case load_cases[] = {
	{ "--mix nothing",
	  "load: there is no mix 'nothing'; there are browse, office, batch-read, batch-write, metadata, timemachine, login-storm, idle, and INI files (such as ./nothing) (see afpscope load --help)" },
	{ "--mix /nonexistent/mix.ini",
	  "load: cannot open /nonexistent/mix.ini: No such file or directory (see afpscope load --help)" },
	{ "--mpi --steady 20",
	  "load: --steady cannot be used with --mpi (see afpscope load --help)" },
	{ "--mpi --set-of 5",
	  "load: --set-of cannot be used with --mpi (see afpscope load --help)" },
	{ "--rate fast", "load: --rate: 'fast' is not a number (see afpscope load --help)" },
	{ "--interval 1x",
	  "load: --interval: '1x' is not a time (seconds, or with ns, us, ms, s, m, h, d) (see afpscope load --help)" },
	{ "-d 8d", "load: -d: '8d' is not in 1..604800 (see afpscope load --help)" },
	{ "--compressible 101%",
	  "load: --compressible: '101%' is not in 0..100 (see afpscope load --help)" },
	{ "--dedup 150", "load: --dedup: '150' is not in 0..100 (see afpscope load --help)" },
	{ "--slo p98=1s",
	  "load: --slo: 'p98=1s' is not a limit such as p99<=50ms, save.mean<=2s, probe.max<=1s (mean, p50, p90, p95, p99, p99.9, max; ns, us, ms, s), rate>=500, failed<=0.1% or dropped<=0 (see afpscope load --help)" },
	{ "--abort-on-slo", "load: --abort-on-slo needs a limit: --slo (see afpscope load --help)" },
	{ "--live=often",
	  "load: --live: 'often' is not one of on, off, json (see afpscope load --help)" },
	{ "--rate 0:5,10",
	  "load: --rate: '0:5,10' is not a rate such as 200, or points SECONDS:RATE such as 0:100,60:500,120:500 (see afpscope load --help)" },
	{ "--rate 5:5,4:5",
	  "load: --rate: '5:5,4:5': the times of the points must not fall (see afpscope load --help)" },
	{ "--rate 0:0,9:0",
	  "load: --rate: '0:0,9:0': at this rate no action ever begins (see afpscope load --help)" },
	{ "--rate 0:5,9:6 --steady 20",
	  "load: --steady waits for a steady rate, and that of --rate 0:5,9:6 changes (see afpscope load --help)" },
	{ "--rate 5:0,9:6 -d 4",
	  "load: --rate 5:0,9:6: no action begins within 4 s (--duration) (see afpscope load --help)" },
	{ "--rate 0:5,9:6 --think 1",
	  "load: --think is for a closed loop, --rate for an open one (see afpscope load --help)" },
	{ "--slo p99=50ms,rate<=5",
	  "load: --slo: 'rate<=5' is not a limit such as p99<=50ms, save.mean<=2s, probe.max<=1s (mean, p50, p90, p95, p99, p99.9, max; ns, us, ms, s), rate>=500, failed<=0.1% or dropped<=0 (see afpscope load --help)" },
	{ "--slo write.failed<=1",
	  "load: --slo write.failed<=1: mix browse has no action 'write' (see afpscope load --help)" },
	{ "--slo write.p99=1s",
	  "load: --slo write.p99=1s: mix browse has no action 'write' (see afpscope load --help)" },
	{ "--at 'x true'",
	  "load: --at: 'x true' is not 'SECONDS COMMAND', such as '30 COMMAND' (see afpscope load --help)" },
	{ "--rate 10 --think 1",
	  "load: --think is for a closed loop, --rate for an open one (see afpscope load --help)" },
	{ "-n 4 --directories 3",
	  "load: --directories 3: 4 clients need one each, or a mix with shared = yes (see afpscope load --help)" },
	{ "--remove-set",
	  "load: --remove-set needs --set-of PID: whose files? (see afpscope load --help)" },
	{ "--mix batch-read --directories 2",
	  "load: --directories: all clients of mix batch-read share one directory (see afpscope load --help)" },
	{ "--mix office --only band",
	  "load: --only: mix office has no action 'band' (see afpscope load --help)" },
	{ "--mix office --only nothing",
	  "load: --only: mix office has no action 'nothing' (see afpscope load --help)" },
	{ "--mix office --files 0",
	  "load: 'look' needs files, but files is 0 (see afpscope load --help)" },
	{ "-n 0", "load: -n: '0' is not in 1..100000 (see afpscope load --help)" },
	{ "-n 0:10,60",
	  "load: -n: '0:10,60' is not a number such as 50, or points SECONDS:CLIENTS such as 0:10,60:200 (see afpscope load --help)" },
	{ "-n 5:1,3:2",
	  "load: -n: '5:1,3:2': the times of the points must not fall (see afpscope load --help)" },
	{ "-n 0:0,9:0",
	  "load: -n: '0:0,9:0': the most clients are not in 1..100000 (see afpscope load --help)" },
	{ "-n 0:0.5,9:0.9",
	  "load: -n: '0:0.5,9:0.9': the most clients are not in 1..100000 (see afpscope load --help)" },
	{ "-n 0:1,9:5 --rate 10",
	  "load: --clients 0:1,9:5: clients whose number changes cannot be used with --rate, whose own points say how much comes (see afpscope load --help)" },
	{ "-n 0:1,9:5 --steady 20",
	  "load: --clients 0:1,9:5: clients whose number changes cannot be used with --steady (see afpscope load --help)" },
	{ "-n 0:1,9:5 --directories 3",
	  "load: --directories 3: 5 clients need one each, or a mix with shared = yes (see afpscope load --help)" },
	{ "--think uniform:2-1",
	  "load: --think: 'uniform:2-1': the first time is the smaller one (see afpscope load --help)" },
	{ "--queue 3", "load: --queue needs --rate (see afpscope load --help)" },
	{ "--arrivals fixed", "load: --arrivals needs --rate (see afpscope load --help)" },
	{ "--steady 5", "load: --steady: '5' is not in 12..604800 (see afpscope load --help)" },
	{ "--users /nonexistent/users",
	  "load: --users: only sessions of an AFP server log in as several users (see afpscope load --help)" },
};

static const struct usage_case load_of_no_place_cases[] = {
	{ "nothing",
	  "load: 'nothing' is not a server; give it as afp://user@host:548/Volume (see afpscope load --help)" },
};

/* Not what would be wrong if it were a directory. */
static const struct usage_case load_of_no_place_with_options_cases[] = {
	{ "nas:548/vol --users f",
	  "load: 'nas:548/vol' is not a server; give it as afp://user@host:548/Volume (see afpscope load --help)" },
	{ "nothing --trace",
	  "load: 'nothing' is not a server; give it as afp://user@host:548/Volume (see afpscope load --help)" },
};

static const struct usage_case speedtest_of_no_place_cases[] = {
	{ "nothing -r 8",
	  "speedtest: 'nothing' is not a server; give it as afp://user@host:548/Volume (see afpscope speedtest --help)" },
	{ "nothing -S other",
	  "speedtest: 'nothing' is not a server; give it as afp://user@host:548/Volume (see afpscope speedtest --help)" },
};

static const struct usage_case smallfile_cases[] = {
	{ "-l create,reed",
	  "smallfile: -l: there is no load 'reed'; there are: create, append, overwrite, read, rnd-wr, rnd-rd, seq-rdwrmix, stat, rename, chmod, setxattr, getxattr, link, unlink-link, symlink, unlink-symlink, mkdir, rmdir, readdir, ls-l, delete (see afpscope smallfile --help)" },
	{ "-l read",
	  "smallfile: --loads: the first must be create, unless --tree names a directory that has the files (see afpscope smallfile --help)" },
	{ "--files 100000 --files-per-dir 1",
	  "smallfile: 100000 files with --files-per-dir 1 need 100000 directories, at most 10000 are possible (see afpscope smallfile --help)" },
	{ "--prefix a/b",
	  "smallfile: --prefix 'a/b': a name of 1 to 63 bytes without '/' (see afpscope smallfile --help)" },
	{ "--tree ..",
	  "smallfile: --tree '..': a name without '/' (see afpscope smallfile --help)" },
	{ "--direct --record 1000", "--direct: --record must be a multiple of 512 bytes here" },
	{ "--mpi --gun /no",
	  "smallfile: --gun cannot be used with --mpi (see afpscope smallfile --help)" },
	{ "--depth 3 -l create",
	  "smallfile: --depth 3: 1000 files with --files-per-dir 1000 need only 1 directories (see afpscope smallfile --help)" },
};

static const struct usage_case rx_cases[] = {
	{ "-c file 127.0.0.1", "rx: -c file needs -f (see afpscope rx --help)" },
	{ "-p 7009 --probe 127.0.0.1",
	  "rx: --probe makes a call a second, so the clients must call for a time: -d SECONDS (see afpscope rx --help)" },
};

static const struct usage_case rx_serve_cases[] = {
	{ "--quota=60/30",
	  "rx --serve: --quota: '60/30': the second number is the larger one (see afpscope rx --serve --help)" },
	{ "--quota=30/",
	  "rx --serve: --quota: '' is not a whole number (see afpscope rx --serve --help)" },
	{ "--address=afs",
	  "rx --serve: --address: 'afs' is not an IPv4 address (see afpscope rx --serve --help)" },
	{ "--window=256",
	  "rx --serve: --window: '256' is not in 1..255 (see afpscope rx --serve --help)" },
	{ "--threads=0",
	  "rx --serve: --threads: '0' is not in 1..4096 (see afpscope rx --serve --help)" },
};

static const struct usage_case record_cases[] = {
	{ "--pid 1 -p 548",
	  "record: --port and --pid each name a server: give one of them (see afpscope record --help)" },
	{ "--port 0", "record: --port: '0' is not in 1..65535 (see afpscope record --help)" },
	{ "-d 0", "record: -d: '0' is not in 1..86400 (see afpscope record --help)" },
	{ "--nonsense", "record: unknown option '--nonsense'; see --help" },
	{ "--json /nonexistent/run.json",
	  "record: --json: cannot write /nonexistent/run.json: No such file or directory (see afpscope record --help)" },
	{ "-p 4711000",
	  "record: -p: '4711000' is not in 1..65535; -p is the port, use --pid to name a process (see afpscope record --help)" },
	{ "--exe a --pid 1",
	  "record: --exe and --unit name a program, as --pid and --port do: give one of them (see afpscope record --help)" },
	{ "--exe a --unit b",
	  "record: --exe and --unit each name a program: give one of them (see afpscope record --help)" },
	{ "--exe a --trace",
	  "record: --trace records requests of --kind afp, smb and nfs, not of any (see afpscope record --help)" },
	{ "--kind gluster --pid 1 --trace",
	  "record: --trace records requests of --kind afp, smb and nfs, not of gluster (see afpscope record --help)" },
	{ "--kind rx --pid 1 --trace",
	  "record: --trace records requests of --kind afp, smb and nfs, not of rx (see afpscope record --help)" },
	{ "--kind smb --trace --replayable",
	  "record: --replayable records what requests of --kind afp asked for, not of smb (see afpscope record --help)" },
	{ "--sample 0", "record: --sample: '0' is not in 1..1000 (see afpscope record --help)" },
	{ "--sample 1001",
	  "record: --sample: '1001' is not in 1..1000 (see afpscope record --help)" },
	{ "--sample x",
	  "record: --sample: 'x' is not a whole number (see afpscope record --help)" },
};

static const struct usage_case doctor_cases[] = {
	{ "a b", "doctor: give one RUN, or none to watch a server (see afpscope doctor --help)" },
	{ "-d 3 a",
	  "doctor: -d, -p, --pid, --unit and --watch choose what is watched and how; a saved RUN is not watched again (see afpscope doctor --help)" },
	{ "-d 0", "doctor: -d: '0' is not in 1..86400 (see afpscope doctor --help)" },
	{ "--watch=proc a",
	  "doctor: -d, -p, --pid, --unit and --watch choose what is watched and how; a saved RUN is not watched again (see afpscope doctor --help)" },
	{ "--unit a -p 548",
	  "doctor: --unit names a server, as --port and --pid do: give one of them (see afpscope doctor --help)" },
	{ "--kind any",
	  "doctor: --kind: 'any' is not one of afp, gluster, rx, smb, nfs (see afpscope doctor --help)" },
};

static const struct usage_case check_cases[] = {
	{ "--port 0", "check: --port: '0' is not in 1..65535 (see afpscope check --help)" },
	{ "--port 65536", "check: --port: '65536' is not in 1..65535 (see afpscope check --help)" },
	{ "-p x",
	  "check: -p: 'x' is not a whole number; -p is the port, use --pid to name a process (see afpscope check --help)" },
	{ "--pid 1 -p 548",
	  "check: --port and --pid each name a server: give one of them (see afpscope check --help)" },
	{ "afp://localhost/vol", "check: unexpected 'afp://localhost/vol'; see --help" },
	{ "--nonsense", "check: unknown option '--nonsense'; see --help" },
	{ "--json /nonexistent/x.json",
	  "check: --json: cannot write /nonexistent/x.json: No such file or directory (see afpscope check --help)" },
};

static const struct usage_case top_cases[] = {
	{ "-d 0",
	  "top: -d: '0' is not in 0.1..3600 (see afpscope top --help)" },
	{ "-d nan",
	  "top: -d: 'nan' is not a time (seconds, or with ns, us, ms, s, m, h, d) (see afpscope top --help)" },
	{ "--by process",
	  "top: --by: 'process' is not one of command, user, client, volume, session, file (see afpscope top --help)" },
	{ "--sort colour",
	  "top: --sort: 'colour' is not one of name, busy, rate, errors, p50, p99, mean, in, out, now, oldest, cpu, runq, disk, cnid, volume, time (see afpscope top --help)" },
	{ "-p 1 --pid 1",
	  "top: --port and --pid each name a server: give one of them (see afpscope top --help)" },
	{ "x", "top: unexpected 'x'; see --help" },
};

static const struct usage_case slow_cases[] = {
	{ "--over fast",
	  "slow: --over: 'fast' is not a time such as 100ms (ns, us, ms, s) (see afpscope slow --help)" },
	{ "--over 0ms",
	  "slow: --over: '0ms' is not a time such as 100ms (ns, us, ms, s) (see afpscope slow --help)" },
	{ "-p 1 --pid 1",
	  "slow: --port and --pid each name a server: give one of them (see afpscope slow --help)" },
	{ "x", "slow: unexpected 'x'; see --help" },
};

static const struct usage_case exporter_cases[] = {
	{ "--listen here",
	  "exporter: --listen: 'here' is not an address and a port such as 127.0.0.1:9548 (see afpscope exporter --help)" },
	{ "--listen 127.0.0.1:99999",
	  "exporter: --listen: '127.0.0.1:99999' is not an address and a port such as 127.0.0.1:9548 (see afpscope exporter --help)" },
	{ "--max-cpu much",
	  "exporter: --max-cpu: 'much' is not a share such as 2% (see afpscope exporter --help)" },
};

static const struct usage_case clean_cases[] = {
	{ "--frobnicate", "clean: unknown option '--frobnicate'; see --help" },
	{ "-p 0", "clean: -p: '0' is not in 1..65535 (see afpscope clean --help)" },
	{ "afp://localhost/vol1 more",
	  "clean: only one server can be given, but there is also 'more' (see afpscope clean --help)" },
};

static const struct usage_case clean_without_volume_cases[] = {
	{ "",
	  "clean: which volume? give -s VOLUME or afp://host/VOLUME (see afpscope clean --help)" },
};

static const struct usage_case replay_cases[] = {
	{ "", "replay: name the recording, and then where it is replayed (see afpscope replay --help)" },
	{ "--frobnicate", "replay: unknown option '--frobnicate'; see --help" },
	{ "--speed 0 rec FOLDER", "replay: --speed 0: give a number above 0 (see afpscope replay --help)" },
	{ "--speed 0 --dry-run rec", "replay: --speed 0: give a number above 0 (see afpscope replay --help)" },
	{ "--speed 1001 rec FOLDER", "replay: --speed: '1001' is not in 0..1000 (see afpscope replay --help)" },
	{ "--from 3 --to 2 rec FOLDER", "replay: --to 2: not later than --from 3 (see afpscope replay --help)" },
	{ "--prepare --keep rec FOLDER", "replay: --keep: --prepare keeps the files anyway (see afpscope replay --help)" },
	{ "--clients 3 rec FOLDER", "replay: --clients: '3' is not x1 to x1000, such as x3 (see afpscope replay --help)" },
	{ "--clients x0 rec FOLDER", "replay: --clients: 'x0' is not x1 to x1000, such as x3 (see afpscope replay --help)" },
	{ "--clients x1001 rec FOLDER", "replay: --clients: 'x1001' is not x1 to x1000, such as x3 (see afpscope replay --help)" },
	{ "--clients x2.5 --dry-run rec", "replay: --clients: 'x2.5' is not x1 to x1000, such as x3 (see afpscope replay --help)" },
	{ "--clients x3 --sessions 2 rec FOLDER", "replay: --sessions 2: fewer than the copies of --clients x3 (see afpscope replay --help)" },
	{ "--of-user= rec FOLDER", "replay: --of-user: '' is no user (see afpscope replay --help)" },
	{ "--threads 0 rec FOLDER", "replay: --threads: '0' is not in 1..256 (see afpscope replay --help)" },
	{ "--users f rec FOLDER", "replay: --users: only sessions of an AFP server log in as several users (see afpscope replay --help)" },
	{ "rec", "replay: which volume? give -s VOLUME or afp://host/VOLUME (see afpscope replay --help)" },
};

static const struct usage_case probe_cases[] = {
	{ "--frobnicate", "probe: unknown option '--frobnicate'; see --help" },
	{ "-p 0", "probe: -p: '0' is not in 1..65535 (see afpscope probe --help)" },
	{ "-d 0", "probe: -d: '0' is not in 1..604800 (see afpscope probe --help)" },
};

#define CASES(c) c, sizeof(c) / sizeof((c)[0])

static const struct usage_table {
	int (*cmd)(int argc, char **argv);
	const char *name;   /* argv[0] */
	const char *before; /* words in front of each line */
	int code;           /* the exit code of all */
	const struct usage_case *cases;
	size_t n;
} tables[] = {
	{ cmd_lantest, "lantest", "-h 127.0.0.1 -p 1 -s vol1 -u bench1 -w secret1 --uam cleartext", OUTCOME_USAGE, CASES(lantest_cases) },
	{ cmd_lantest, "lantest", "-h 127.0.0.1 -p 1 -u bench1 -w secret1 --uam cleartext", OUTCOME_USAGE, CASES(lantest_without_volume_cases) },
	{ cmd_speedtest, "speedtest", "-h 127.0.0.1 -p 1 -s vol1 -u bench1 -w secret1 --uam cleartext", OUTCOME_USAGE, CASES(speedtest_cases) },
	{ cmd_speedtest, "speedtest", "-h 127.0.0.1 -p 1 -u bench1 -w secret1 --uam cleartext", OUTCOME_USAGE, CASES(speedtest_without_volume_cases) },
	{ cmd_speedtest, "speedtest", "-L -d 4K", OUTCOME_USAGE, CASES(speedtest_in_a_directory_cases) },
	{ cmd_load, "load", "FOLDER", OUTCOME_USAGE, CASES(load_cases) },
	{ cmd_load, "load", "", OUTCOME_USAGE, CASES(load_of_no_place_cases) },
	{ cmd_load, "load", "", OUTCOME_USAGE, CASES(load_of_no_place_with_options_cases) },
	{ cmd_speedtest, "speedtest", "", OUTCOME_USAGE, CASES(speedtest_of_no_place_cases) },
	{ cmd_smallfile, "smallfile", "FOLDER", OUTCOME_USAGE, CASES(smallfile_cases) },
	{ cmd_rx, "rx", "", OUTCOME_USAGE, CASES(rx_cases) },
	{ cmd_rx, "rx", "--serve", OUTCOME_USAGE, CASES(rx_serve_cases) },
	{ cmd_rxperf_tool, "rxperf", "", 1, CASES(rxperf_cases) },
	{ cmd_record, "record", "", OUTCOME_USAGE, CASES(record_cases) },
	{ cmd_doctor, "doctor", "", OUTCOME_USAGE, CASES(doctor_cases) },
	{ cmd_check, "check", "", OUTCOME_USAGE, CASES(check_cases) },
	{ cmd_top, "top", "", OUTCOME_USAGE, CASES(top_cases) },
	{ cmd_slow, "slow", "", OUTCOME_USAGE, CASES(slow_cases) },
	{ cmd_exporter, "exporter", "", OUTCOME_USAGE, CASES(exporter_cases) },
	{ cmd_clean, "clean", "-h 127.0.0.1 -p 1 -s vol1 -u bench1 -w secret1 --uam cleartext", OUTCOME_USAGE, CASES(clean_cases) },
	{ cmd_clean, "clean", "-h 127.0.0.1 -p 1 -u bench1 -w secret1 --uam cleartext", OUTCOME_USAGE, CASES(clean_without_volume_cases) },
	{ cmd_replay, "replay", "", OUTCOME_USAGE, CASES(replay_cases) },
	{ cmd_probe, "probe", "-h 127.0.0.1 -p 1 -s vol1 -u bench1 -w secret1 --uam cleartext", OUTCOME_USAGE, CASES(probe_cases) },
	{ cmd_lantest, "afp_lantest", "-h 127.0.0.1", 1, CASES(afp_lantest_cases) },
	{ cmd_lantest, "afp_lantest", "-s vol1 -u bench1 -w secret1", 8, CASES(afp_lantest_out_of_range_cases) },
	{ cmd_speedtest, "afp_speedtest", "-h 127.0.0.1 -p 1 -u bench1 -w secret1 -d 1", 1, CASES(afp_speedtest_cases) },
	{ cmd_speedtest, "afp_speedtest", "-h 127.0.0.1 -p 1 -u bench1 -w secret1 -d 1", 2, CASES(afp_speedtest_no_test_cases) },
};
/* clang-format on */

/* What is printed meanwhile. */
struct usage_said {
	FILE *file;
	int fd, kept;
	char text[4096];
};

static void said_begin(struct usage_said *s, int fd)
{
	s->fd = fd;
	s->file = tmpfile();
	assert_non_null(s->file);
	s->kept = dup(fd);
	assert_true(s->kept >= 0 && dup2(fileno(s->file), fd) == fd);
}

static void said_end(struct usage_said *s)
{
	size_t len;

	fflush(stdout);
	dup2(s->kept, s->fd);
	close(s->kept);
	rewind(s->file);
	len = fread(s->text, 1, sizeof(s->text) - 1, s->file);
	s->text[len] = '\0';
	fclose(s->file);
}

/* Into words[n...], which end with NULL; text is cut up. The number of words. */
static int split_words(char *text, char *words[static WORDS_MAX], int n, char *dir)
{
	while (*text) {
		char *end = *text == '\'' ? strchr(++text, '\'') : text + strcspn(text, " ");
		char *next = end + (*end == '\'');

		next += strspn(next, " ");
		*end = '\0';
		assert_true(n < WORDS_MAX - 1);
		words[n++] = strcmp(text, "FOLDER") ? text : dir;
		text = next;
	}
	words[n] = NULL;
	return n;
}

/* The message with the folder's name in its place. */
static void usage_expected(char *out, size_t len, const char *name, const char *message,
			   const char *dir)
{
	const char *at = strstr(message, "FOLDER");

	/* under the name of another tool: as it is */
	if (!strncmp(name, "rxperf", 6))
		snprintf(out, len, "%s\n", message);
	else if (at)
		snprintf(out, len, "afpscope: %.*s%s%s\n", (int)(at - message), message, dir,
			 at + strlen("FOLDER"));
	else
		snprintf(out, len, "afpscope: %s\n", message);
}

static void usage_check(const struct usage_table *t, const struct usage_case *c, char *dir)
{
	char before[256], line[1024], expected[1024], name[32], *words[WORDS_MAX];
	struct usage_said out, err;
	int n, code;

	snprintf(name, sizeof(name), "%s", t->name);
	snprintf(before, sizeof(before), "%s", t->before);
	snprintf(line, sizeof(line), "%s", c->line);
	usage_expected(expected, sizeof(expected), name, c->message, dir);
	program_invocation_short_name = name;
	words[0] = name;
	n = split_words(before, words, 1, dir);
	n = split_words(line, words, n, dir);
	said_begin(&out, STDOUT_FILENO);
	said_begin(&err, STDERR_FILENO);
	code = t->cmd(n, words);
	said_end(&err);
	said_end(&out);
	if (code != t->code || strcmp(err.text, expected) || *out.text)
		fail_msg("%s %s %s: exit code %d, wanted %d\n%swanted:\n%sstdout:\n%s", t->name,
			 t->before, c->line, code, t->code, err.text, expected, out.text);
}

static void a_mistake_has_its_message_and_exit_code(void **state)
{
	char dir[] = "/tmp/test_usage-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (size_t k = 0; k < tables[i].n; k++)
			usage_check(&tables[i], &tables[i].cases[k], dir);
	assert_int_equal(rmdir(dir), 0); /* nothing was made in it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mistake_has_its_message_and_exit_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
