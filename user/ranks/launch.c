/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ranks/launch.h"

#include "app/cmd.h"
#include "mpi/plugin.h"

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

/* Kinds of mpirun, and how each is recognized by the environment of what it starts. */
static const struct launcher {
	const char *name, *size, *rank;
} launchers[] = {
	{ "openmpi", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK" },
	{ "mpich", "PMI_SIZE", "PMI_RANK" },
};

static const struct launcher *find_launcher(void)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (getenv(launchers[i].size) && getenv(launchers[i].rank))
			return &launchers[i];
	return NULL;
}

bool launch_speaks(void)
{
	const struct launcher *by = find_launcher();

	return !by || !strcmp(getenv(by->rank), "0");
}

/* ---- the process that was started ---- */

/* What it tells its child. */
struct told {
	int rank, size;
	struct err e; /* code: 0 or why not */
};

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

/* Brings rank 0's bytes to all. The child may be dead: the others wait for this one all the same.
 */
static void ranks_launch_share(const struct mpi_plugin *mpi, int fd, int rank)
{
	char data[LAUNCH_SHARED_MAX] = "";

	if (!rank && recv(fd, data, sizeof(data), MSG_WAITALL) != (ssize_t)sizeof(data))
		memset(data, 0, sizeof(data));
	if (mpi->broadcast(data, sizeof(data)))
		return;
	if (rank)
		send(fd, data, sizeof(data), MSG_NOSIGNAL);
}

static void launch_serve(const struct launcher *by, int fd)
{
	struct told t = { 0 };
	void *so = load_plugin(by, &t.e);
	const struct mpi_plugin *mpi = so ? dlsym(so, MPI_PLUGIN_SYMBOL) : NULL;

	if (so && (!mpi || mpi->version != MPI_PLUGIN_VERSION))
		err_set(&t.e, -EINVAL, "--mpi: the plugin is another version's");
	else if (so && mpi->start(&t.rank, &t.size))
		err_set(&t.e, -EIO, "--mpi: MPI does not start");
	send(fd, &t, sizeof(t), MSG_NOSIGNAL); /* if the child is dead, the others go on */
	if (t.e.code)
		return;
	ranks_launch_share(mpi, fd, t.rank);
	mpi->end();
}

/*
 * Waits for the child, and passes the first signal on to it: a second would end it at once. The
 * child's code is this process's in rank 0 only: launchers end the job when any process has another
 * than 0, and rank 0 knows how the others have fared.
 */
static _Noreturn void stand_by(pid_t child, int fd)
{
	bool first = launch_speaks(), passed = false;
	int status = 0, sig;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	launch_serve(find_launcher(), fd);
	close(fd);
	while (waitpid(child, &status, WNOHANG) != child) {
		if (sigwait(&set, &sig) || sig == SIGCHLD || passed)
			continue;
		kill(child, sig);
		passed = true;
	}
	_exit(!first ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* ---- its child ---- */

static void on_death(int sig)
{
	(void)sig;
	if (!cmd_stop)
		cmd_stop = CMD_STOP_ORPHANED;
}

/*
 * Rank 0 ends with the process that was started: the launcher ends the job. The others end with
 * rank 0; what has become of their own launcher does not matter.
 */
static int end_with_parent(const struct launch *l, struct err *e)
{
	const struct sigaction death = { .sa_handler = on_death };

	sigaction(CMD_STOP_ORPHANED, &death, NULL);
	if (prctl(PR_SET_PDEATHSIG, CMD_STOP_ORPHANED))
		return err_set(e, -errno, "prctl: %s", strerror(errno));
	if (launch_orphaned(l))
		cmd_stop = CMD_STOP_ORPHANED;
	return 0;
}

bool launch_orphaned(const struct launch *l)
{
	return getppid() != l->parent;
}

int launch_start(struct launch *out, struct err *e)
{
	struct told t;
	pid_t child;
	int fd[2];

	if (!find_launcher())
		return err_set(
		    e, -EINVAL,
		    "--mpi: this process was not started by mpirun: mpirun -n RANKS afpscope load --mpi ...");
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
	if (recv(out->fd, &t, sizeof(t), MSG_WAITALL) != (ssize_t)sizeof(t))
		return err_set(e, -EIO, "--mpi: MPI has ended this process's parent");
	out->rank = (unsigned int)t.rank;
	out->size = (unsigned int)t.size;
	if (t.e.code && !launch_speaks())
		_exit(0); /* rank 0 says why */
	if (t.e.code)
		return err_set(e, t.e.code, "%s", t.e.text);
	return out->rank ? 0 : end_with_parent(out, e);
}

int launch_share(struct launch *l, void *data, size_t len, struct err *e)
{
	char all[LAUNCH_SHARED_MAX] = "";
	bool fine;

	if (!l->rank) {
		memcpy(all, data, len);
		fine = send(l->fd, all, sizeof(all), MSG_NOSIGNAL) == (ssize_t)sizeof(all);
	} else {
		fine = recv(l->fd, all, sizeof(all), MSG_WAITALL) == (ssize_t)sizeof(all);
		memcpy(data, all, len);
	}
	return fine ? 0 : err_set(e, -EIO, "--mpi: rank 0's address did not arrive");
}
