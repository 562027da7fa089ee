# SPDX-License-Identifier: GPL-2.0-or-later
# afpscope. "make help" lists the targets; all output is below build/. V=1 shows the commands.

# The version stands there alone: also who installs only the Python package has it.
VERSION_OF = analysis/afpscope/__init__.py
VERSION	  := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' $(VERSION_OF))
PREFIX	  ?= /usr/local
DESTDIR	  ?=
BUILD	  ?= build
GEN	  ?= $(BUILD)/gen
CC	  ?= gcc
CLANG	  ?= clang
BPFTOOL	  ?= $(firstword $(wildcard /usr/sbin/bpftool /sbin/bpftool) bpftool)
PYTHON	  ?= /usr/bin/python3
MACHINE	  ?= $(shell uname -m)
SYSROOT	  ?=
PKGS	   = libbpf libelf zlib libgcrypt jansson ncursesw

Q	   = $(if $(V),,@)
say	   = $(if $(V),@:,@printf '  %-6s %s\n' $(1) $(patsubst $(BUILD)/%,%,$@))

arch	  := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(MACHINE)))
# Sanitizers' reports need line numbers only, and clang compiles faster with -g1.
CFLAGS	  ?= -O2 $(if $(filter 1,$(SANITIZE)),-g1,-g)
# WERROR= where the compiler is another one than ours: a new warning ends no build of a package.
WERROR	  ?= -Werror
# No folder of this machine is in what is compiled: ccache has it for every clone.
CFLAGS_ALL = -std=gnu11 -Wall -Wextra $(WERROR) -fdebug-prefix-map=$(CURDIR)=. -Iuser -Iclient -I. -I$(GEN) \
	     -DAFPSCOPE_VERSION='"$(VERSION)"' -D_GNU_SOURCE $(CPPFLAGS) $(CFLAGS) \
	     $(if $(SANITIZE),-fno-omit-frame-pointer $(if $(filter thread,$(SANITIZE)),-fsanitize=thread,-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined)) \
	     $(if $(COVERED),-fsanitize=fuzzer-no-link)
comma	   = ,
LIBS	   = $(shell pkg-config --libs $(PKGS)) -lm

SRC	  := $(sort $(wildcard $(foreach n,*/*.c */*/*.c,user/$n client/$n)))
# LIBRARY: a program that needs no more of it is built sooner.
LIBRARY	   = %
LIB_SRC	   = $(filter $(LIBRARY),$(filter-out user/main/main.c user/main/rxperf.c,$(SRC)))
# Of the sources that threads do not share the thread sanitizer takes the objects as they are.
PLAIN_SRC  = $(if $(filter thread,$(SANITIZE)),$(filter-out client/% user/base/% user/run/% user/drive/% user/ranks/%,$(LIB_SRC)))
LIB_OBJ	   = $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out $(PLAIN_SRC),$(LIB_SRC))) $(PLAIN_SRC:%.c=build/obj/%.o)
CLIENT_OBJ = $(patsubst %.c,$(BUILD)/obj/%.o,$(filter client/% user/base/% user/run/%,$(SRC)))
BPF_OBJ	   = $(filter $(BUILD)/obj/user/watch/bpf/%,$(LIB_OBJ))
BPF	  := $(sort $(wildcard bpf/*.bpf.c))
SKEL	   = $(patsubst bpf/%.bpf.c,$(GEN)/%.skel.h,$(BPF))
UNIT	   = $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(wildcard $(foreach n,* */*,tests/unit/$n/test_*.c))))
BPF_TESTS  = $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(wildcard tests/bpf/test_*.c)))
KNOWN	   = $(BUILD)/tests/known/server
WHOLE	   = $(KNOWN) $(patsubst %,$(BUILD)/tests/integration/lib/%,verbs rx_relay) $(BUILD)/tests/bpf/bench_forever
VM_TESTS   = $(patsubst %,$(BUILD)/tests/vm/%,hotplug nobpf rung)
# Names of other tools, under which the program behaves as they do; rxperf is a program of its own.
NAMES	   = afp_lantest afp_speedtest gfapi_perf_tool gfapi_perf
# A plugin for each MPI library that is here; the program itself needs none.
MPICC	   = $(foreach f,openmpi mpich,$(if $(shell command -v mpicc.$(f)),$(f)))
MPI	   = $(MPICC:%=$(BUILD)/afpscope-mpi-%.so)
MAN	   = $(patsubst docs/%,$(BUILD)/man/%,$(wildcard docs/*.1) $(patsubst %.in,%,$(wildcard docs/*.1.in)))
# The same in Japanese, if there is po4a, which makes them.
MAN_JA	  := $(if $(shell command -v po4a-translate),$(MAN:$(BUILD)/man/%=$(BUILD)/man/ja/man1/%))
FUZZERS	   = $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/fuzz/*.c))
# All they use: the rest need not be built a third time.
FUZZED	   = $(patsubst %.c,$(BUILD)/obj/%.o,$(filter client/afp/% client/dsi/% client/rx/% client/uam/% user/base/% user/run/% \
	     user/doctor/rules/% user/doctor/judge.c user/doctor/say.c user/app/saved.c user/report/cell.c client/store/afp_results.c client/load/timers.c \
	     $(filter-out %_client.c %_copy.c %_make.c %_request.c,$(filter client/work/replay/%,$(SRC))) \
	     user/trace/names.c user/trace/operation.c user/trace/operations.c user/trace/path.c,$(SRC)))

.DELETE_ON_ERROR:
.PHONY: all man no-japanese translated client demo demo-gluster test check check-judges check-built check-quick check-quick-built check-programs check-programs-beside beside beside-built unit-programs fuzz-programs \
	 vm-programs vm vm-beside vm-judges vm-times python unit unit-sanitized threads threads-programs fuzz fuzz-run bpf-tests integration integration-judges python-judges unit-quick lint promised compile_commands.json lab bench study analysis install install-program install-analysis install-client uninstall dist deb check-packages check-bare check-dist clean help deps pictures site
.SECONDARY:

all: $(BUILD)/afpscope $(BUILD)/rxperf $(NAMES:%=$(BUILD)/%) $(MPI) $(if $(SANITIZE),,man)

help:
	@echo 'make             build build/afpscope'
	@echo 'make man         the manual pages: man build/man/afpscope-load.1'
	@echo 'make translated  say which sentences lack a Japanese translation: a release has none'
	@echo 'make client      only build/libafpclient.a: the client, without clang, bpftool, libbpf, libelf, jansson'
	@echo 'make deps        install with apt-get what the build and make install need (root)'
	@echo 'make demo        install what is missing, run the twelve tests against a real afpd (root)'
	@echo 'make demo-gluster  small files by libgfapi, FUSE, AFP and below, on real servers (root)'
	@echo 'make check       install what is missing, run every test (root)'
	@echo 'make check-judges  the same counts by more judges, on more servers, each test by itself (root)'
	@echo 'make check-quick those tests that take a few minutes together (root)'
	@echo 'make test T=user/drive/gun.c   build and run what tests this file (root)'
	@echo 'make threads     what threads share, with the thread sanitizer'
	@echo 'make lint        format, shell and Python checks, include arrows, size budgets'
	@echo 'make promised    promise what is new: docs/compatibility.md, tests/golden/1.0 (root)'
	@echo 'make compile_commands.json   for clangd: build/compile_commands.json'
	@echo 'make lab         what doctor says of hundreds of faulty and healthy servers: build/lab/results.json (root; 2 h)'
	@echo 'make bench       afpscope against afp_lantest and other tracers: build/bench/results.json (root)'
	@echo 'make study       netatalk against Samba: docs/study-afp-smb.md (root; 3 h, QUICK=1: half an hour)'
	@echo 'make analysis    report, query and the other Python commands, to be used from this folder'
	@echo 'make install     into DESTDIR and PREFIX ($(PREFIX)); install-program leaves out the commands in Python'
	@echo 'make uninstall   remove what make install brought'
	@echo 'make dist        the tarball of a release: build/dist/afpscope-$(VERSION).tar.gz'
	@echo 'make deb         Debian packages for this release of Debian: build/deb (root)'
	@echo 'make check-packages  build, install, use and remove them in bare Debian 12, 13 and sid (root; half an hour)'
	@echo 'make check-bare  make demo and make check-quick in a clone, in fresh Debian 12 and 13 (root; an hour)'
	@echo 'make check-dist  make check-quick in the tree of the tarball, without git (root)'
	@echo 'make site        a website of docs/ and the manual pages: $(BUILD)/site/index.html'
	@echo 'make pictures    the pictures of README.md and docs/, from real runs (root)'
	@echo 'make clean       remove build/'

$(BUILD)/afpscope: $(BUILD)/obj/user/main/main.o $(BUILD)/libafpscope.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(LIBS)

# Only with what it needs: hundreds of them are begun at once.
$(BUILD)/rxperf: $(BUILD)/obj/user/main/rxperf.o $(BUILD)/libafpscope.a
	$(call say,LINK)
	$(Q)rm -f $@ && $(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^

$(NAMES:%=$(BUILD)/%): $(BUILD)/afpscope
	$(Q)ln -sf afpscope $@

# The options of the commands in C are those of their tables: a page that has them is a template,
# docs/NAME.1.in, and the program fills it in.
man: $(MAN) $(or $(MAN_JA),no-japanese)

no-japanese:
	@echo 'po4a is not installed: the manual pages in Japanese are not made'

$(BUILD)/man/%.1: docs/%.1.in $(BUILD)/afpscope
	$(call say,MAN)
	$(Q)mkdir -p $(@D)
	$(Q)sed 's/@VERSION@/$(VERSION)/' $< > $@.in
	$(Q)$(BUILD)/afpscope --manual < $@.in > $@ && rm $@.in

$(BUILD)/man/%.1: docs/%.1 $(VERSION_OF)
	$(call say,MAN)
	$(Q)mkdir -p $(@D)
	$(Q)sed 's/@VERSION@/$(VERSION)/' $< > $@

# A sentence without a translation stays in English: "make translated" says which. Lines are not
# filled to both margins: Japanese has few spaces to be made wider.
# groff 1.22 breaks no line between what a Japanese line may not begin with (a comma, a small letter) and
# what is no Japanese letter, and never ends where such a chain is longer than the line: it may break at \: there.
BREAKS = s/\([、。，．・：；？！）〕］｝」』】ぁぃぅぇぉっゃゅょーァィゥェォッャュョ]\)\([]!-(*+./0-9<=?-[\\^-z|~（〔［｛「『【-]\)/\1\\:\2/g
$(BUILD)/man/ja/man1/%.1: $(BUILD)/man/%.1 po/man.ja.po
	$(call say,MAN)
	$(Q)mkdir -p $(@D)
	$(Q)po4a-translate -f man -M UTF-8 -L UTF-8 -k 0 -m $< -p po/man.ja.po -l $@ > $@.err 2>&1 || { cat $@.err >&2; exit 1; }
	$(Q)rm -f $@.err && sed -i -e '/^\.TH /i .if r LL .if \\n[LL]<40n .nr IN 2n' -e '/^\.TH /a .ad l' -e '$(BREAKS)' $@

# Before a release: fails while an English sentence has no Japanese one.
translated: man
	$(Q)BUILD=$(BUILD) $(PYTHON) -B tests/translations.py --strict

$(BUILD)/libafpscope.a: $(LIB_OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/afpscope-mpi-%.so: mpi/plugin.c mpi/plugin.h Makefile
	$(call say,MPI)
	$(Q)mkdir -p $(@D)
	$(Q)mpicc.$* -std=gnu11 -Wall -Wextra -Werror -I. -O2 -g -fPIC -shared -o $@ $<

# What talks to a server, for other programs: to be linked with -lgcrypt -lm.
client: $(BUILD)/libafpclient.a

$(BUILD)/libafpclient.a: $(CLIENT_OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/obj/%.o: %.c Makefile $(VERSION_OF)
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# The names of system calls, each in the place of its number.
$(filter %/syscalls.o,$(LIB_OBJ)): | $(GEN)/host/proc/syscall_names.h

$(GEN)/host/proc/syscall_names.h: Makefile
	$(call say,NAMES)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -E -dM -include sys/syscall.h -x c -o $@ /dev/null
	$(Q)sed -n -i 's/^#define SYS_\([a-z0-9_]*\) .*/[SYS_\1] = "\1",/p' $@

# Nothing else includes them; which of these does is in its .d file.
$(BPF_OBJ): | $(SKEL)

bpf_cc	   = $(CLANG) -O2 -g -Wall $(WERROR) -target bpf -mcpu=v3 -D__TARGET_ARCH_$(arch) -I. \
	     -idirafter $(SYSROOT)/usr/include/$(MACHINE)-linux-gnu

$(GEN)/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h bpf/decode/*.h) Makefile
	$(call say,BPF)
	$(Q)mkdir -p $(@D)
	$(Q)$(bpf_cc) -c -o $@ $<

$(GEN)/%.skel.h: $(GEN)/%.bpf.o
	$(call say,SKEL)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# Tests. "check" installs first and then runs make again, so that the rules above see what it has
# just installed (the compiler, pkg-config's files).

FAKE	   = $(patsubst tests/%.c,$(BUILD)/tests/%.o,$(sort $(wildcard tests/fake/*.c tests/ref/*.c)))
SAN	   = $(MAKE) --no-print-directory BUILD=build/san GEN=build/gen SANITIZE=1 CC=$(CLANG)
THREAD_SAN = $(MAKE) --no-print-directory BUILD=build/tsan GEN=build/gen SANITIZE=thread CFLAGS='-O1 -g'
FUZZ	   = $(SAN) BUILD=build/fuzz COVERED=1
CROSS	   = tests/vm/cross.sh tests/bpf/test_calls tests/vm/hotplug tests/vm/rung
CPUS	  := $(shell nproc)
# The tests compile every source four or five times: what was compiled before, ccache still has.
CACHED	   = PATH=/usr/lib/ccache:$$PATH
# What tests write is soon deleted: they write to memory where 4 GB are free.
IN_MEMORY  = $(shell df -k --output=avail /dev/shm 2> /dev/null | awk 'NR == 2 && $$1 > 4000000 { print "TMPDIR=/dev/shm" }')

$(FAKE): $(BUILD)/tests/%.o: tests/%.c Makefile
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -I tests -MMD -MP -c -o $@ $<

$(BUILD)/tests/%: tests/%.c $(FAKE) $(BUILD)/libafpscope.a
	$(call say,TEST)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -I tests -MMD -MP -MF $@.d -MT $@ -c -o $@.o $<
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $@.o $(FAKE) $(BUILD)/libafpscope.a $(TEST_LDFLAGS) $(LIBS) -lcmocka -lpthread

# Optimising the tests' own code takes longer than running it. Only with sanitizers, which clang
# compiles: gcc gives some of its warnings only when it optimises.
$(if $(SANITIZE),$(UNIT)): private CFLAGS += -O0 -U_FORTIFY_SOURCE

# It wraps libc's allocator.
$(BUILD)/tests/unit/load/test_timed_regions: TEST_LDFLAGS = -Wl,$(subst $() ,$(comma),$(patsubst %,--wrap=%,malloc calloc \
	realloc reallocarray aligned_alloc strdup mmap))

# Its threads share a clock that waits for none.
$(addprefix $(BUILD)/tests/unit/load/,test_actions test_alone test_arrivals test_arrivals_simulated test_aside test_tally): TEST_LDFLAGS = -Wl,--wrap=clock_gettime,--wrap=kernel_epoll_wait
# And in one making and comparing data take as long as it says.
$(BUILD)/tests/unit/load/test_aside: TEST_LDFLAGS += -Wl,--wrap=pattern_fill,--wrap=pattern_check

# A library that waits for its server is one of the test's own.
$(BUILD)/tests/unit/drive/test_session_left: TEST_LDFLAGS = -Wl,--wrap=store_begin_local

# What it reads of /proc changes at the worst moment.
$(BUILD)/tests/unit/watch/bpf/test_books: TEST_LDFLAGS = -Wl,--wrap=procfs_io

# What the fuzzer's own code compares is of no interest, and costs a fifth of the time; so does what
# Rx compares: its inputs are scripts, in which those values do not stand, or a few short fields.
UNTRACED   = -fno-sanitize-coverage=trace-cmp
$(if $(COVERED),$(filter $(BUILD)/obj/client/rx/% $(BUILD)/obj/user/doctor/%,$(LIB_OBJ))): private CFLAGS_ALL += $(UNTRACED)

# Their network is in memory.
$(BUILD)/tests/fuzz/fuzz_stream: TEST_LDFLAGS = -Wl,--wrap=recv,--wrap=recvmsg,--wrap=send,--wrap=sendmsg
$(BUILD)/tests/fuzz/fuzz_replay: TEST_LDFLAGS = -Wl,--wrap=store_afp_result
$(BUILD)/tests/fuzz/fuzz_rx_endpoint: TEST_LDFLAGS = -Wl,--wrap=recvmmsg,--wrap=sendmmsg,--wrap=sendto

$(FUZZERS): $(BUILD)/tests/fuzz/%: tests/fuzz/%.c $(BUILD)/tests/fake/serve.o $(FUZZED)
	$(call say,FUZZ)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -I tests -fsanitize=fuzzer $(UNTRACED) -o $@ $^ $(TEST_LDFLAGS) $(LIBS)

# Under sudo the build folder is given back to the user.
demo:
	$(Q)tests/need.sh build server analysis
	$(Q)$(MAKE) --no-print-directory -j$(CPUS) all
	$(Q)$(MAKE) --no-print-directory analysis
	$(Q)tests/demo.sh
	$(Q)[ -z "$$SUDO_UID" ] || chown -hR "$$SUDO_UID:$$SUDO_GID" build

demo-gluster:
	$(Q)tests/need.sh build server gluster analysis
	$(Q)$(MAKE) --no-print-directory -j$(CPUS) all
	$(Q)$(MAKE) --no-print-directory analysis
	$(Q)tests/demo-gluster.sh
	$(Q)[ -z "$$SUDO_UID" ] || chown -hR "$$SUDO_UID:$$SUDO_GID" build

check:
	$(Q)tests/need.sh build server gluster openafs check vm python
	$(Q)$(CACHED) $(MAKE) --no-print-directory -j$(CPUS) check-programs lint
	$(Q)$(CACHED) $(MAKE) --no-print-directory -j1 check-built

# What check leaves out: the proofs that repeat one of check's by another judge, on another server or
# kernel; and unit tests by the compiler and the options of "make all".
check-judges:
	$(Q)tests/need.sh build server check vm python
	$(Q)$(CACHED) $(MAKE) --no-print-directory -j$(CPUS) check-programs unit-programs vm-programs
	$(Q)$(CACHED) $(FUZZ) -j$(CPUS) fuzz-programs
	$(Q)$(CACHED) $(MAKE) --no-print-directory -j1 FUZZ_SECONDS=10 unit fuzz vm-judges python-judges integration-judges

# Without virtual machines, sanitizers, Spark and all that takes long: one server, one kernel.
check-quick:
	$(Q)tests/need.sh build server check python
	$(Q)$(CACHED) $(MAKE) --no-print-directory -j$(CPUS) all $(UNIT_QUICK) $(BPF_QUICK)
	$(Q)$(MAKE) --no-print-directory -j1 check-quick-built

# A recording that strace judges; a load, a diagnosis and the page of each; what can be watched.
QUICK	   = $(patsubst %,tests/integration/%,cli/test_check.py cli/test_words.py lantest/test_password.py record/test_any.py \
	     record/test_judged.py $(addprefix cli/test_every_table.py::,test_load test_a_diagnosis))

# Of the Python tests those that take little and stand for what every command needs, of dump and of the page.
QUICK_PYTHON = $(patsubst %,tests/python/test_%.py,arrows bpf_stack cli colours dashboard docs dump forest joined knee lab \
	     limits old_run ranks rx_sweep scheduling tables tested timeline version)

# lint has one thread, and unit tests wait now and then: side by side, and what each prints in one piece.
check-quick-built:
	$(Q)$(MAKE) --no-print-directory -j2 -Otarget lint unit-quick
	$(Q)tests/run.sh $$(($(CPUS) > 1 ? 2 : 1)) $(BPF_QUICK)
	$(Q)$(IN_MEMORY) $$(tests/need.sh --python) -B -m pytest -q -n $(CPUS) --dist loadfile -m "not slow" $(QUICK_PYTHON)
	$(Q)$(IN_MEMORY) AFPSCOPE=$(CURDIR)/$(BUILD)/afpscope $(PYTHON) -B -m pytest -p no:cacheprovider -q \
		-n $$(($(CPUS) > 1 ? 2 : 1)) --dist loadfile -m "not slow" --durations=12 $(QUICK)

# T=SOURCE: what tests it. K=WORDS: of its tests in Python those that WORDS choose, as pytest -k.
test:
	$(Q)MAKE="$(MAKE) --no-print-directory -j$(CPUS)" BUILD=$(BUILD) K="$(K)" tests/test.sh $(T)

# What check-built runs is built before it, or beside the tests of the whole program: for these
# nothing changes in build/obj and build/tests. Unit tests are built once, with sanitizers.
check-programs: all $(BPF_TESTS) $(VM_TESTS) $(WHOLE)
	$(Q)+$(SAN) all

check-programs-beside: vm-programs
	$(Q)+$(SAN) unit-programs
	$(Q)+$(FUZZ) fuzz-programs

unit-programs: all $(UNIT)

fuzz-programs: $(FUZZERS)

vm-programs: all $(BPF_TESTS) $(VM_TESTS)
	$(Q)+$(CROSS)

# The tests of the whole program wait now and then: meanwhile runs what is not about times.
check-built:
	$(Q)rm -f $(BUILD)/beside.end
	$(Q)MAKE="$(MAKE)" tests/beside.sh "beside python vm-beside unit-sanitized threads" "integration vm-times beside-built fuzz bpf-tests"
	$(Q)tests/vm/matrix.sh -r

beside:
	$(Q)$(MAKE) --no-print-directory -j$(CPUS) check-programs-beside; s=$$?; touch $(BUILD)/beside.end; exit $$s

# Two makes must not build the same programs.
beside-built:
	$(Q)until [ -e $(BUILD)/beside.end ]; do sleep 0.2; done

# Unit tests share nothing: they run side by side, the longest first. Two more than there are CPUs:
# the first ones mostly wait.
UNIT_FIRST = $(foreach t,load/test_pause dsi/test_dsi attach/test_connections lantest/test_lantest lantest/test_lantest_faults \
	     lantest/test_lantest_46 dsi/test_session_end dsi/test_receive machine/test_machine_limits,$(filter %/$t,$(UNIT)))

unit: unit-programs
	$(Q)tests/run.sh $$(($(CPUS) + 2)) $(UNIT_FIRST) $(filter-out $(UNIT_FIRST),$(UNIT))

# Without the twelve that take more than half of the time of all: 37 of 61 s of CPU, 82 of 157 s.
UNIT_LONG  = $(foreach t,attach/test_connections attach/test_threads doctor/test_judge_sure dsi/test_dsi dsi/test_session_end \
	     lantest/test_lantest_46 lantest/test_lantest_faults load/test_actions load/test_arrivals load/test_pause \
	     load/test_tally trace/test_writer,$(filter %/$t,$(UNIT)))
UNIT_QUICK = $(filter-out $(UNIT_LONG),$(UNIT))

unit-quick: all $(UNIT_QUICK)
	$(Q)tests/run.sh $$(($(CPUS) + 2)) $(filter $(UNIT_QUICK),$(UNIT_FIRST)) $(filter-out $(UNIT_FIRST),$(UNIT_QUICK))

unit-sanitized:
	$(Q)$(SAN) unit

# What threads share, with the thread sanitizer. Sources that no threads share are not built again.
THREADED   = load/test_engine load/test_arrivals_shared drive/test_clients

threads: all $(KNOWN)
	$(Q)$(THREAD_SAN) threads-programs
	$(Q)tests/threads.sh build/tsan $(THREADED)

threads-programs: $(BUILD)/afpscope $(THREADED:%=$(BUILD)/tests/unit/%) $(BUILD)/tests/planted

# The program with one look at the arrivals without their lock: a race, which must be found.
$(BUILD)/tests/planted: client/load/arrivals.c $(BUILD)/afpscope
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)sed '/^bool arrivals_next/,/^}/s/arrivals_lock(s)/if (s->n > s->room)\n\t\treturn false;\n\t&/' $< > $@.c
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $@.c $(BUILD)/obj/user/main/main.o $(BUILD)/libafpscope.a $(LIBS)

fuzz:
	$(Q)$(FUZZ) fuzz-run

fuzz-run: fuzz-programs
	$(Q)tests/fuzz/run.sh $(or $(FUZZ_SECONDS),1) $(FUZZERS)

vm: vm-programs
	$(Q)tests/vm/matrix.sh

# Those that fail here are run again afterwards.
vm-beside: vm-programs
	$(Q)tests/vm/matrix.sh -i

vm-judges: vm-programs
	$(Q)tests/vm/matrix.sh $$(tests/vm/matrix.sh -l | grep judges)

# A row that fails here, too.
vm-times:
	$(Q)tests/vm/matrix.sh $$(tests/vm/matrix.sh -l | grep times) || echo 'to be run again'

# Two side by side: the longest first, then those that use the reference server's folder, which
# wait for each other.
BPF_FIRST  = $(foreach t,scale requests trace_records times stalls cnid,$(filter %/test_$t,$(BPF_TESTS)))
BPF_LONG   = $(filter %/test_scale %/test_requests,$(BPF_TESTS))
BPF_QUICK  = $(filter-out $(BPF_LONG) $(addprefix %/test_,crowd pauses rungs settle shapes \
	     stalls storage stuck tcp times trace_records),$(BPF_TESTS))

bpf-tests: $(BPF_TESTS)
	$(Q)tests/run.sh $$(($(CPUS) > 1 ? 2 : 1)) $(BPF_FIRST) $(filter-out $(BPF_FIRST),$(BPF_TESTS))

# Two files of tests side by side, each with its own servers and CPU: more of these would disturb
# each other. Three workers more, behind them, run what mostly waits (lib/scheduling.py).
integration: all $(WHOLE)
	$(Q)$(SAN) all
	$(Q)$(INTEGRATION) -m "not judges"

integration-judges: all $(WHOLE)
	$(Q)$(SAN) all
	$(Q)$(INTEGRATION) -m judges

INTEGRATION = $(IN_MEMORY) AFPSCOPE=$(CURDIR)/build/san/afpscope PYTHON=$(PYTHON) \
	     tests/integration.sh $$(($(CPUS) > 1 ? 5 : 1))

# The Python package: types and tests, with the pinned packages of need.sh.
python:
	$(Q)tests/need.sh python
	$(Q)$$(tests/need.sh --python) -m mypy --cache-dir=$(BUILD)/mypy --config-file analysis/pyproject.toml analysis/afpscope
	$(Q)$(IN_MEMORY) $$(tests/need.sh --python) -B -m pytest -q -n $(CPUS) --dist loadfile -m "not judges" tests/python

# Spark on the queries that DuckDB answers in check, and more damaged traces.
python-judges:
	$(Q)tests/need.sh python
	$(Q)$(IN_MEMORY) $$(tests/need.sh --python) -B -m pytest -q -rs -m judges tests/python

lint:
	$(Q)tests/lint.sh

# Runs of each command, twice: what only one of them has may be missing. A broken promise ends it.
promised: all $(WHOLE)
	$(Q)tests/need.sh build server gluster check python
	$(Q)rm -rf $(BUILD)/promised && mkdir -p $(BUILD)/promised
	$(Q)for i in 1 2; do AFPSCOPE_ACCEPT=$(CURDIR)/$(BUILD)/promised AFPSCOPE=$(CURDIR)/$(BUILD)/afpscope \
		$(PYTHON) -B -m pytest -q tests/integration/cli/test_every_table.py || exit; done
	$(Q)AFPSCOPE=$(CURDIR)/$(BUILD)/afpscope $$(tests/need.sh --python) -B tests/golden/promised.py --accept $(BUILD)/promised

# clangd looks for it in build/ as well. The sources include what is generated.
TEST_SRC   = $(filter-out %.bpf.c,$(wildcard tests/*/*.c tests/*/*/*.c tests/*/*/*/*.c tests/*/*/*/*/*.c))
# Programs that no rule here compiles: they say by themselves what they need of libc.
ALONE	   = $(shell grep -l '^.define _GNU_SOURCE' $(TEST_SRC))
compile_commands.json: $(SKEL) $(GEN)/host/proc/syscall_names.h
	$(Q)$(PYTHON) -B tests/compile_commands.py $(CC) $(CFLAGS_ALL) -- $(SRC) \
		++ $(CC) $(CFLAGS_ALL) -I tests -- $(filter-out $(ALONE),$(TEST_SRC)) \
		++ $(CC) -O2 -Wall -Wextra $(shell pkg-config --silence-errors --cflags fuse3) -- $(ALONE) \
		++ $(bpf_cc) -- $(BPF) tests/bench/empty.bpf.c $(foreach f,$(firstword $(MPICC)),++ mpicc.$f -std=gnu11 -I. -- mpi/plugin.c) > $(BUILD)/$@.new
	$(Q)mv $(BUILD)/$@.new $(BUILD)/$@
	@echo '$(BUILD)/$@'

# Faults, doses, loads, CNID schemes, versions: what doctor says of each. Goes on where it was ended.
lab:
	$(Q)tests/need.sh build server check
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(PYTHON) -B tests/doctor/lab.py --jobs $$(($(CPUS) > 1 ? 2 : 1)) --out $(BUILD)/lab/results.json

# AFP and SMB on this machine, which should have nothing else to do: writes docs/study-afp-smb.md.
study:
	$(Q)tests/need.sh build server check python
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(PYTHON) -B tests/study.py $(if $(QUICK),--quick)

bench:
	$(Q)tests/need.sh build server check bench
	$(Q)$(MAKE) --no-print-directory all $(BUILD)/tests/bpf/bench_calls $(patsubst %,$(BUILD)/tests/bpf/bench_%,logins crowd forever) $(KNOWN)
	$(Q)$(PYTHON) -B tests/bench/bench.py

# The commands in Python: a launcher each. They run in a virtual environment, because Debian has
# no package of some modules that they import and its pip does not install outside of one.
# VENV= at "make install" (as with DESTDIR): none is made, $(PYTHON) must have those modules; some of
# them may be in the folder PYTHON_MORE.
ANALYSIS   = info dump export query history compare gate ab versus sweep report bundle
DATA	   = $(PREFIX)/share/afpscope
DOC	   = $(PREFIX)/share/doc/afpscope
MANDIR	   = $(PREFIX)/share/man
UNITS	   = $(PREFIX)/lib/systemd/system
LOCALES	   = $(PREFIX)/share/locale
COMPLETIONS = $(PREFIX)/share/bash-completion/completions
ZSH_SITE   = $(PREFIX)/share/zsh/site-functions
FISH_VENDOR = $(PREFIX)/share/fish/vendor_completions.d
# Packages of distributions: the other tools' names where nobody else has them, no list of what was put.
NAMES_DIR  = $(PREFIX)/bin
LAUNCHER   = $(PREFIX)/bin/afpscope-analysis
LIST	   = yes
VENV	  ?= $(if $(DESTDIR),,$(PREFIX)/lib/afpscope/venv)
ANALYSIS_MAN = $(foreach c,$(ANALYSIS),$(filter %/afpscope-$c.1,$(MAN) $(MAN_JA)))
PROGRAM_MAN = $(filter-out $(ANALYSIS_MAN),$(MAN) $(MAN_JA))

# packaging/install.sh gets these by the environment: there may be blanks in paths.
INSTALLS   = install-program install-analysis install-client uninstall analysis
$(foreach v,PREFIX DESTDIR BUILD PYTHON PYTHON_MORE VENV DATA DOC MANDIR UNITS LOCALES COMPLETIONS ZSH_SITE FISH_VENDOR \
	NAMES_DIR LAUNCHER LIST ANALYSIS NAMES MPI ANALYSIS_MAN PROGRAM_MAN,$(eval $(INSTALLS): export $v := $$($v)))

analysis:
	$(Q)mkdir -p $(BUILD)
	$(Q)analysis/venv.sh $(BUILD)/venv
	$(Q)packaging/install.sh launchers $(BUILD) "$(abspath $(BUILD))/venv/bin/python3" "$(CURDIR)/analysis"

deps:
	$(Q)tests/need.sh build analysis

# Those of README.md and docs/. Under sudo what was made is given back to the user.
pictures: all analysis
	$(Q)tests/need.sh server pictures
	$(Q)tests/pictures.sh
	$(Q)[ -z "$$SUDO_UID" ] || chown -hR "$$SUDO_UID:$$SUDO_GID" build docs/pictures

# Links and heads that are not there are errors. It is read without a network and without a server.
site: man
	$(Q)tests/need.sh site
	$(Q)"$$(tests/need.sh --site)" -B docs/website.py $(BUILD)
	$(Q)[ -z "$$SUDO_UID" ] || chown -hR "$$SUDO_UID:$$SUDO_GID" $(BUILD)
	@echo 'the website: $(BUILD)/site/index.html'

# Of two parts. The program needs no network, the Python packages of the other come from PyPI.
install: install-program
	$(Q)$(MAKE) --no-print-directory install-analysis

install-program: all
	$(Q)packaging/install.sh program

install-analysis: $(ANALYSIS_MAN)
	$(Q)packaging/install.sh analysis

# For other programs: libafpclient.a and its headers.
install-client: client
	$(Q)packaging/install.sh client

uninstall:
	$(Q)packaging/install.sh uninstall

# What a release is made of, with the version where packages want it: builds and passes its tests
# without git.
dist:
	$(Q)packaging/dist.sh $(VERSION) $(BUILD)/dist

# Debian's packages, for the release that this machine runs, and what lintian says of them. DuckDB,
# which Debian lacks, comes from PyPI as a wheel. WHEELS= makes packages without it.
WHEELS	  ?= duckdb
deb: dist
	$(Q)tests/need.sh build deb
	$(Q)WHEELS="$(WHEELS)" packaging/deb.sh $(VERSION) $(BUILD)

# Builds, installs, uses and removes them in bare roots of these releases.
SUITES	  ?= bookworm trixie sid
check-packages: dist
	$(Q)tests/need.sh server roots
	$(Q)for s in $(SUITES); do tests/packages.sh $$s || exit; done

# What README.md says to type first, where nothing is installed: in a clone of what is committed.
check-bare:
	$(Q)tests/need.sh roots
	$(Q)for s in $(filter-out sid,$(SUITES)); do \
		tests/bare.sh $$s root 'make demo' 'make check-quick' || exit; done

# The tarball of "make dist", where there is no git.
check-dist: dist
	$(Q)tests/dist.sh $(VERSION) $(BUILD)/dist

clean:
	$(Q)rm -rf build

-include $(shell find $(BUILD)/obj $(BUILD)/tests -name '*.d' 2>/dev/null)
