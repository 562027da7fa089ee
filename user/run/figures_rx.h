/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_FIGURES_RX_H
#define RUN_FIGURES_RX_H

/*
 * Figures of a server over Rx and of its clients, as in run/figures.h. The listener is the thread
 * that receives the clients' datagrams; of several, the busiest.
 */

/* X(NAME, key, unit, meaning) */
#define RUN_FIGURES_RX(X)                                                                          \
	X(DROPPED, "dropped", "share",                                                             \
	  "of the datagrams to the server, those for which its socket had no room; who: the port") \
	X(DROPPED_N, "dropped_n", "1", "these datagrams")                                          \
	X(BUFFER, "buffer", "B", "receive buffer of that socket, as it was asked for")             \
	X(BUFFER_NEED, "buffer_need", "B",                                                         \
	  "buffer with room for a window of each client's calls at a time")                        \
	X(BUFFER_CLIENTS, "buffer_clients", "1",                                                   \
	  "so many clients; where it is not known, calls at a time, or 64")                        \
	X(BUFFER_MAX, "buffer_max", "B", "net.core.rmem_max: the most that a server gets")         \
	X(BUFFER_RAISE, "buffer_raise", "B",                                                       \
	  "what net.core.rmem_max has to be raised to; not known where it is enough")              \
	X(QUEUE, "queue", "share", "of that buffer, the most that was in use")                     \
	X(LISTENER, "listener", "share", "watched time: the listener on a CPU or waiting for one") \
	X(LISTENER_CPU, "listener_cpu", "share", "watched time: the listener on a CPU")            \
	X(LISTENER_WAIT, "listener_wait", "share",                                                 \
	  "of the listener's time on a CPU or waiting for one, the wait")                          \
	X(LISTENER_ASLEEP, "listener_asleep", "share",                                             \
	  "looks at the listener that found it waiting for a lock")                                \
	X(THREADS_WAIT, "threads_wait", "share",                                                   \
	  "of the time of the server's threads on a CPU or waiting for one, the wait")             \
	X(PACKET_CPU, "packet_cpu", "ns", "the listener's CPU time for each datagram received")    \
	X(ACKS_MB, "acks_mb", "1",                                                                 \
	  "ACK packets that the server sent for each MB of data received")                         \
	X(SHORT, "short", "share",                                                                 \
	  "of the server's answers, those that say: calls wait, and no thread is idle")            \
	X(WAITING, "waiting", "1", "calls that waited for a thread at a time, at most")            \
	X(WAITED, "waited", "1", "calls that had to wait for a thread")                            \
	X(WAIT_THREAD, "wait_thread", "share",                                                     \
	  "of the time of all calls, the wait for a thread (calls that waited at a time)")         \
	X(RESENT, "resent", "share", "of the DATA packets to the server, those sent again")        \
	X(RESENT_BACK, "resent_back", "share", "of those from the server, likewise")               \
	X(TIMED_OUT, "timed_out", "share",                                                         \
	  "of the time of all calls, in calls that a timer of Rx made long: a packet was lost")    \
	X(TIMED_GUESS, "timed_guess", "share",                                                     \
	  "of the same time: such calls beyond the number of packets that were sent again")        \
	X(FAILED, "failed", "share", "of all calls, those that failed; who: the first error")      \
	X(UNHEARD, "unheard", "1", "1: no datagram came to our clients")                           \
	X(OWN_DROPPED, "own_dropped", "share",                                                     \
	  "of the datagrams to our clients, those for which their own sockets had no room")        \
	X(OWN_BUFFER, "own_buffer", "B", "receive buffer of such a socket")

#endif
