/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The only file that is compiled with mpicc. */
#include "mpi/plugin.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

/* How many bytes MPI can count. */
#define LEN_MAX ((size_t)INT_MAX)

/* The round trips with one rank: the question, and the answer (the question, came, left). */
struct plugin_peer {
	uint64_t question, answer[3];
	MPI_Request sent, came;
};

static struct {
	int rank, size;
	MPI_Comm lane[MPI_N_LANES], trips;
	MPI_Request request[MPI_N_LANES];
	int *len, *at; /* of a gather under way */
	struct plugin_peer *peer;
} plugin;

static uint64_t plugin_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int plugin_start(int *rank, int *size)
{
	if (MPI_Init(NULL, NULL))
		return -EIO;
	/* without it, a failure ends the process; copies have it, too */
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (MPI_Comm_rank(MPI_COMM_WORLD, rank) || MPI_Comm_size(MPI_COMM_WORLD, size))
		return -EIO;
	for (int i = 0; i < MPI_N_LANES; i++) {
		plugin.request[i] = MPI_REQUEST_NULL;
		if (MPI_Comm_dup(MPI_COMM_WORLD, &plugin.lane[i]))
			return -EIO;
	}
	plugin.rank = *rank;
	plugin.size = *size;
	plugin.len = calloc((size_t)*size, sizeof(int));
	plugin.at = calloc((size_t)*size, sizeof(int));
	plugin.peer = calloc((size_t)*size, sizeof(*plugin.peer));
	for (int i = 0; plugin.peer && i < *size; i++)
		plugin.peer[i].sent = plugin.peer[i].came = MPI_REQUEST_NULL;
	if (!plugin.len || !plugin.at || !plugin.peer)
		return -EIO;
	return MPI_Comm_dup(MPI_COMM_WORLD, &plugin.trips) ? -EIO : 0;
}

static int plugin_broadcast(enum mpi_lane lane, void *data, size_t len)
{
	if (len > LEN_MAX)
		return -EIO;
	return MPI_Ibcast(data, (int)len, MPI_BYTE, 0, plugin.lane[lane], &plugin.request[lane])
		   ? -EIO
		   : 0;
}

static int plugin_gather(enum mpi_lane lane, const void *data, size_t own, void *all,
			 const size_t *len)
{
	size_t sum = 0;

	for (int i = 0; len && i < plugin.size; i++) {
		plugin.at[i] = (int)sum;
		plugin.len[i] = (int)len[i];
		if (len[i] > LEN_MAX - sum)
			return -EIO;
		sum += len[i];
	}
	if (own > LEN_MAX)
		return -EIO;
	return MPI_Igatherv(data, (int)own, MPI_BYTE, all, plugin.len, plugin.at, MPI_BYTE, 0,
			    plugin.lane[lane], &plugin.request[lane])
		   ? -EIO
		   : 0;
}

static int plugin_test_request(MPI_Request *r)
{
	int done;

	if (MPI_Test(r, &done, MPI_STATUS_IGNORE))
		return -EIO;
	return !!done;
}

static int plugin_test(enum mpi_lane lane)
{
	return plugin_test_request(&plugin.request[lane]);
}

/*
 * Round trips. Nothing waits where a send is waited for: the other end has it, or its answer would
 * not be here. The last question has tag 1.
 */

static int plugin_ask(int rank, int last)
{
	struct plugin_peer *p = &plugin.peer[rank];

	if (!last && MPI_Irecv(p->answer, 3, MPI_UINT64_T, rank, 0, plugin.trips, &p->came))
		return -EIO;
	if (MPI_Wait(&p->sent, MPI_STATUS_IGNORE))
		return -EIO;
	p->question = plugin_now_ns();
	return MPI_Isend(&p->question, 1, MPI_UINT64_T, rank, last, plugin.trips, &p->sent) ? -EIO
											    : 0;
}

static int plugin_answered(int rank, uint64_t trip[4])
{
	struct plugin_peer *p = &plugin.peer[rank];
	int r = plugin_test_request(&p->came);

	if (r <= 0)
		return r;
	trip[3] = plugin_now_ns();
	for (int i = 0; i < 3; i++)
		trip[i] = p->answer[i];
	return 1;
}

static int plugin_answer(void)
{
	struct plugin_peer *p = &plugin.peer[0];
	MPI_Status status;
	uint64_t came_ns;
	int done;

	if (p->came == MPI_REQUEST_NULL &&
	    MPI_Irecv(&p->question, 1, MPI_UINT64_T, 0, MPI_ANY_TAG, plugin.trips, &p->came))
		return -EIO;
	if (MPI_Test(&p->came, &done, &status))
		return -EIO;
	came_ns = plugin_now_ns();
	if (!done)
		return 0;
	if (status.MPI_TAG)
		return 1;
	if (MPI_Wait(&p->sent, MPI_STATUS_IGNORE))
		return -EIO;
	p->answer[0] = p->question;
	p->answer[1] = came_ns;
	p->answer[2] = plugin_now_ns();
	return MPI_Isend(p->answer, 3, MPI_UINT64_T, 0, 0, plugin.trips, &p->sent) ? -EIO : 0;
}

static void plugin_end(void)
{
	for (int i = 0; i < plugin.size; i++)
		MPI_Wait(&plugin.peer[i].sent, MPI_STATUS_IGNORE);
	MPI_Finalize();
}

extern const struct mpi_plugin afpscope_mpi;
const struct mpi_plugin afpscope_mpi = { .version = MPI_PLUGIN_VERSION,
					 .start = plugin_start,
					 .broadcast = plugin_broadcast,
					 .gather = plugin_gather,
					 .test = plugin_test,
					 .ask = plugin_ask,
					 .answered = plugin_answered,
					 .answer = plugin_answer,
					 .end = plugin_end };
