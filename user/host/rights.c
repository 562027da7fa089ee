/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capabilities, by the system call itself: it needs no library. */

#include "host/rights.h"

#include "base/kernel.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(cap) (1ull << (cap))

static const uint64_t kept = BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_DAC_OVERRIDE);
/* The last: for statistics of the programs' run time. */
static const uint64_t kept_for_watch = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN);

/* Of those that this thread may use, only these; for_good: else it may use the others again. */
static int rights_use(uint64_t used, bool for_good)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return -errno;
	for (int i = 0; i < 2; i++) {
		data[i].effective = data[i].permitted & (uint32_t)(used >> (32 * i));
		data[i].permitted = for_good ? data[i].effective : data[i].permitted;
		data[i].inheritable = for_good ? 0 : data[i].inheritable;
	}
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

/* Keeps no others than these. Programs started from here do not get them back either. */
static int drop_but(uint64_t keep)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : rights_use(keep, true);
}

static uint64_t rights_asked_for(unsigned int extra)
{
	uint64_t keep = kept;

	if (extra & RIGHTS_TASKSTATS)
		keep |= BIT(CAP_NET_ADMIN);
	if (extra & RIGHTS_PRIORITY)
		keep |= BIT(CAP_SYS_NICE);
	if (extra & RIGHTS_PORTS)
		keep |= BIT(CAP_NET_BIND_SERVICE);
	if (extra & RIGHTS_WATCH || kernel_before(6, 1))
		keep |= kept_for_watch;
	return keep;
}

int rights_drop(unsigned int extra)
{
	return drop_but(rights_asked_for(extra));
}

struct rights_work {
	unsigned int extra;
	int (*work)(void *user);
	void *user;
	int result;
};

static void *rights_thread_main(void *arg)
{
	struct rights_work *w = arg;

	rights_drop(w->extra); /* where the kernel refuses, the caller's own attempt says so */
	w->result = w->work(w->user);
	return NULL;
}

int rights_without(unsigned int extra, int (*work)(void *user), void *user)
{
	struct rights_work w = { extra, work, user, 0 };
	sigset_t all, before;
	pthread_t thread;
	int r = pthread_create(&thread, NULL, rights_thread_main, &w);

	if (r)
		return -r;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return w.result;
}

int rights_drop_all(uid_t uid, gid_t gid)
{
	int r = 0;

	if (!geteuid() && uid &&
	    (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid)))
		r = -errno;
	return drop_but(0) ? -EPERM : r;
}

/* With another user the kernel forgets the signal that a process gets when its parent ends. */
static int own_parent_signal(void)
{
	int signal = 0;

	prctl(PR_GET_PDEATHSIG, &signal);
	return signal;
}

static int become(const struct stat *st, uint64_t rights)
{
	int signal = own_parent_signal();

	return setgroups(1, &st->st_gid) || setegid(st->st_gid) || seteuid(st->st_uid) ||
	       prctl(PR_SET_PDEATHSIG, signal) || rights_use(rights, false);
}

int rights_become_owner(struct rights_own *out, const char *directory, unsigned int extra)
{
	struct stat st;

	*out = (struct rights_own) { 0 };
	if (geteuid() || stat(directory, &st) || !st.st_uid)
		return 0;
	out->n_groups = getgroups(RIGHTS_GROUPS, out->group);
	if (out->n_groups < 0)
		return -errno;
	out->became = true;
	if (!become(&st, rights_asked_for(extra) & ~BIT(CAP_DAC_OVERRIDE)))
		return 0;
	rights_return(out);
	return -EPERM;
}

void rights_return(struct rights_own *own)
{
	int signal = own_parent_signal();

	if (!own->became)
		return;
	own->became = false;
	if (seteuid(0) || setegid(0) || setgroups((size_t)own->n_groups, own->group))
		own->became = true; /* cannot be: the saved user is root */
	prctl(PR_SET_PDEATHSIG, signal);
}
