/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ranks/launch.h"

#include "app/cmd.h"
#include "mpi/plugin.h"
#include "ranks/courier.h"
#include "ranks/post.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAUNCH_LOOK_NS 100000000u

/*
 * Kinds of launchers, and how each is recognized by the environment of what it starts: by its rank
 * and another variable. The names of PMI are those of MPICH, Intel MPI and srun --mpi=pmi2; of PMIx
 * those of srun --mpi=pmix, which Open MPI takes.
 */
static const struct launcher {
	const char *name, *beside, *rank;
} launchers[] = {
	{ "openmpi", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK" },
	{ "mpich", "PMI_SIZE", "PMI_RANK" },
	{ "openmpi", "PMIX_NAMESPACE", "PMIX_RANK" },
};

static const struct launcher *find_launcher(void)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (getenv(launchers[i].beside) && getenv(launchers[i].rank))
			return &launchers[i];
	return NULL;
}

/* Whether this process is to print what concerns all: it is rank 0, or was not started by mpirun.
 */
static bool launch_speaks(void)
{
	const struct launcher *by = find_launcher();

	return !by || !strcmp(getenv(by->rank), "0");
}

/* ---- the process that was started ---- */

/* Beside the program, as in build/, or where it was installed. */
static void *load_plugin(const struct launcher *by, struct err *e)
{
	static const char *const places[] = { "", "/../lib/afpscope" };
	char self[PATH_MAX], path[PATH_MAX + 64];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self));
	const char *end = len > 0 ? memrchr(self, '/', (size_t)len) : NULL;
	void *so;

	for (size_t i = 0; end && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%.*s%s/afpscope-mpi-%s.so", (int)(end - self), self,
			 places[i], by->name);
		if (access(path, F_OK))
			continue;
		/* Open MPI's own plugins use its symbols without naming their library */
		so = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
		if (!so)
			err_set(e, -EINVAL, "--mpi: cannot load %s: %s", path, dlerror());
		return so;
	}
	err_set(e, -EINVAL,
		"--mpi: afpscope-mpi-%s.so is not installed; it is built where there is mpicc.%s",
		by->name, by->name);
	return NULL;
}

/* Begins MPI, and says to the child how that went. NULL: it did not. */
static const struct mpi_plugin *launch_begin(struct launch_told *t, int fd)
{
	const struct launcher *by = find_launcher();
	void *so = load_plugin(by, &t->e);
	const struct mpi_plugin *mpi = so ? dlsym(so, MPI_PLUGIN_SYMBOL) : NULL;

	if (so && (!mpi || mpi->version != MPI_PLUGIN_VERSION))
		err_set(&t->e, -EINVAL, "--mpi: the plugin is another version's");
	else if (so && mpi->start(&t->rank, &t->size))
		err_set(&t->e, -EIO, "--mpi: MPI does not start");
	post_send(fd, POST_LAUNCHED, 0, t, sizeof(*t));
	return t->e.code ? NULL : mpi;
}

/*
 * MPICH 4.2 tells its launcher in an exit handler that a rank has ended well; without that the
 * launcher kills the other ranks. This handler is registered before MPI's, so it runs after them,
 * and skips those that only the child is to run.
 */
static void launch_leave(int code, void *unused)
{
	(void)unused;
	_exit(code);
}

/*
 * The child's code is this process's in rank 0 only: launchers end the job when any process has
 * another than 0, and rank 0 knows how the others have fared.
 */
static _Noreturn void stand_by(pid_t child, int fd)
{
	struct launch_told told = { 0 };
	struct courier_opts o = { .child = child, .fd = fd };
	bool first = launch_speaks();
	int status, failed, code;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	on_exit(launch_leave, NULL);
	o.mpi = launch_begin(&told, fd);
	o.rank = told.rank;
	o.size = told.size;
	status = courier_run(&o, &failed);
	code = !first ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (!o.mpi || failed)
		_exit(code);
	o.mpi->end();
	exit(code);
}

/* ---- its child ---- */

static void on_told(int sig)
{
	if (!cmd_stop)
		cmd_stop = sig;
}

/* It ends its load when rank 0 says so, or the process that was started has died: so has MPI. */
static int launch_obey(const struct launch *l, struct err *e)
{
	const struct sigaction told = { .sa_handler = on_told };

	sigaction(CMD_STOP_TOLD, &told, NULL);
	sigaction(CMD_STOP_ORPHANED, &told, NULL);
	if (prctl(PR_SET_PDEATHSIG, CMD_STOP_ORPHANED))
		return err_set(e, -errno, "prctl: %s", strerror(errno));
	if (getppid() != l->parent)
		cmd_stop = CMD_STOP_ORPHANED;
	return 0;
}

int launch_start(struct launch *out, unsigned int clients, struct err *e)
{
	struct post said = { 0 };
	struct launch_told t = { 0 };
	pid_t child;
	int fd[2], r = 0;

	if (!find_launcher())
		return err_set(
		    e, -EINVAL,
		    "--mpi: this process was not started by mpirun: mpirun -n RANKS afpscope load --mpi ...%s",
		    getenv("SLURM_PROCID")
			? "; or by srun with --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)"
			: "");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return err_set(e, -errno, "socketpair: %s", strerror(errno));
	out->parent = getpid();
	child = fork();
	if (child < 0)
		return err_set(e, -errno, "cannot start a process: %s", strerror(errno));
	if (child) {
		close(fd[1]);
		stand_by(child, fd[0]);
	}
	close(fd[0]);
	out->fd = fd[1];
	setpgid(0, 0);
	r = launch_obey(out, e);
	while (!r && !(r = post_take(&said, out->fd, LAUNCH_LOOK_NS)))
		;
	r = r < 0 || post_read(&said, &t, sizeof(t)) ? -EIO : 0;
	post_fini(&said);
	if (r)
		return err_set(e, r, "--mpi: MPI has ended this process's parent");
	out->rank = (unsigned int)t.rank;
	out->size = (unsigned int)t.size;
	if (t.e.code && !launch_speaks())
		_exit(0); /* rank 0 says why */
	if (!t.e.code && out->size > clients)
		return err_set(e, -EINVAL, "--mpi: %u clients cannot be shared by %u processes",
			       clients, out->size);
	return t.e.code ? err_set(e, t.e.code, "%s", t.e.text) : 0;
}
