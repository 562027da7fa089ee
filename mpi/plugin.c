/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The only file that is compiled with mpicc. Its functions are called in this order, once each. */
#include "mpi/plugin.h"

#include <errno.h>
#include <mpi.h>
#include <stddef.h>

static int plugin_start(int *rank, int *size)
{
	if (MPI_Init(NULL, NULL))
		return -EIO;
	/* without it, a failure ends the process */
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (MPI_Comm_rank(MPI_COMM_WORLD, rank) || MPI_Comm_size(MPI_COMM_WORLD, size))
		return -EIO;
	return 0;
}

static int broadcast(void *data, int len)
{
	return MPI_Bcast(data, len, MPI_BYTE, 0, MPI_COMM_WORLD) ? -EIO : 0;
}

static void plugin_end(void)
{
	MPI_Finalize();
}

extern const struct mpi_plugin afpscope_mpi;
const struct mpi_plugin afpscope_mpi = { MPI_PLUGIN_VERSION, plugin_start, broadcast, plugin_end };
