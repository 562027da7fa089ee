/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that ends sessions and removes directories when the command has been killed. */
#include "app/warden.h"

#include "app/cmd.h"
#include "base/clock.h"
#include "base/kernel.h"
#include "dsi/mark.h"
#include "host/rights.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS  200          /* where the kernel does not tell of the end of a process */
#define CLOSE_NS 20000000000u /* for the server to end sessions */
#define BACK_NS  30000000000u /* for it to accept a new one */
#define AGAIN_US 200000

struct warden {
	struct warden_task task;
	struct dsi_marks *marks;
	struct warden_left *left; /* shared */
	pid_t command, child;     /* child 0: there is none */
};

/* ---- in the warden ---- */

/* Until the command has ended. */
static void warden_wait(const struct warden *w)
{
	struct pollfd wait = { .fd = (int)syscall(SYS_pidfd_open, w->command, 0),
			       .events = POLLIN };

	while (getppid() == w->command)
		poll(&wait, 1, wait.fd < 0 ? LOOK_MS : -1);
}

/* Until it works, or for some time: the server may still be busy with the sessions. */
static int warden_remove(const struct warden *w, unsigned int i, uint64_t until_ns)
{
	const char *base = w->left->base[i];
	struct err e = { 0 };
	int r;

	do
		r = w->task.remove(w->task.user, base, w->left->volume[i], &e);
	while (r && clock_now_ns() < until_ns && !usleep(AGAIN_US));
	if (*base && r)
		cmd_say("the run was killed, and %s is left (%s): afpscope clean%s removes it",
			base, e.text, w->task.clean_how(base));
	else if (*base)
		cmd_say("the run was killed: %s was removed", base);
	return r;
}

static void warden_clean_up(const struct warden *w)
{
	unsigned int open, ended, n = 0;
	uint64_t until_ns;

	/* whoever reads the command's output is not to wait for this */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	cmd_allow_files(); /* one for each level of a tree in a directory */
	open = dsi_marks_end(w->marks, CLOSE_NS, &ended);
	if (w->task.no_files)
		kernel_close_from(STDERR_FILENO + 1);
	until_ns = clock_now_ns() + BACK_NS;
	for (unsigned int i = 0; i < WARDEN_BASES; i++)
		if (*w->left->base[i] && ++n)
			warden_remove(w, i, until_ns);
	if (!n && ended < open && warden_remove(w, 0, until_ns))
		cmd_say("the run was killed, and the server may keep %u of its sessions",
			open - ended);
}

static void warden_main(const struct warden *w)
{
	const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE };

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	setsid();
	prctl(PR_SET_NAME, "afpscope-warden");
	if (w->task.rights == WARDEN_NO_RIGHTS)
		rights_drop_all(getuid(), getgid());
	else if (w->task.rights == WARDEN_PORTS)
		rights_drop(RIGHTS_PORTS);
	warden_wait(w);
	cmd_stop = 0;
	warden_clean_up(w);
	_exit(0);
}

/* ---- in the command ---- */

int warden_open(struct warden **out, const struct warden_task *task, struct err *e)
{
	struct warden *w = calloc(1, sizeof(*w));

	*out = w;
	if (!w)
		return err_set(e, -ENOMEM, "out of memory");
	w->task = *task;
	w->command = getpid();
	w->marks = dsi_marks_new();
	w->left = mmap(NULL, sizeof(*w->left), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (!w->marks || w->left == MAP_FAILED)
		return err_set(e, -ENOMEM, "out of memory");
	/* no signal at its end: it is nobody else's child to wait for */
	w->child = (pid_t)syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, NULL);
	if (!w->child)
		warden_main(w);
	if (w->child < 0)
		w->child = 0;
	return 0;
}

struct warden_left *warden_left(struct warden *w)
{
	return w->left;
}

struct dsi_marks *warden_marks(const struct warden *w)
{
	return w->marks;
}

void warden_close(struct warden *w)
{
	if (!w)
		return;
	if (w->child) {
		kill(w->child, SIGKILL);
		while (waitpid(w->child, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	dsi_marks_free(w->marks);
	if (w->left && w->left != MAP_FAILED)
		munmap(w->left, sizeof(*w->left));
	free(w);
}
