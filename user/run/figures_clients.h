/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_FIGURES_CLIENTS_H
#define RUN_FIGURES_CLIENTS_H

/*
 * Figures of single clients, as in run/figures.h. Each group is about one session: one of which all
 * figures of the group are as its cause needs them, or where there is none or several of these the
 * one whose first figure is largest. A pause is from a reply, when the server has no other request
 * of that client, to its next request.
 */

/* X(NAME, key, unit, meaning) */
#define RUN_FIGURES_CLIENTS(X)                                                                     \
	X(TRIPS, "trips", "share",                                                                 \
	  "time of a client in round trips, one for each pause; who: the client")                  \
	X(TRIP_RTT, "trip_rtt", "ns", "least TCP round-trip time of its connection")               \
	X(TRIP_RATE, "trip_rate", "1/s", "its requests a second")                                  \
	X(TRIP_BUSY, "trip_busy", "share", "its time in which the server worked for it")           \
	X(TRIP_1000, "trip_1000", "ns", "time of 1,000 of its round trips")                        \
	X(ACTION_TRIPS, "action_trips", "share",                                                   \
	  "of the time of our own clients' actions, their round trips; who: the kind of action "   \
	  "with the largest such share")                                                           \
	X(TRIP_CLIENTS, "trip_clients", "1",                                                       \
	  "clients that waited for a round trip, at a time, on average")                           \
	X(PAUSED, "paused", "share",                                                               \
	  "time of a client in pauses alike, longer than its round trips; who: the client")        \
	X(PAUSE, "pause", "ns", "length of these pauses")                                          \
	X(PAUSE_ALIKE, "pause_alike", "share", "of its pauses, those alike")                       \
	X(PAUSE_RTT, "pause_rtt", "ns", "least TCP round-trip time of its connection")             \
	X(PAUSE_RATE, "pause_rate", "1/s", "its requests a second")                                \
	X(PAUSE_BUSY, "pause_busy", "share", "its time in which the server worked for it")         \
	X(ACKS, "acks", "share",                                                                   \
	  "a client's requests that came 40 ms late, after an acknowledgement; who: the client")   \
	X(ACKS_RTT, "acks_rtt", "ns", "least TCP round-trip time of its connection")               \
	X(ACKS_RATE, "acks_rate", "1/s", "its requests a second")                                  \
	X(ACKS_BUSY, "acks_busy", "share", "its time in which the server worked for it")           \
	X(ACK_CLIENTS, "ack_clients", "1",                                                         \
	  "clients that waited for a delayed acknowledgement, at a time, on average")              \
	X(LOST, "lost", "share",                                                                   \
	  "TCP segments to a client that were sent again, if 20 or more; who: the client")         \
	X(LOST_N, "lost_n", "1", "segments sent again to it")                                      \
	X(LOST_REQUESTS, "lost_requests", "share", "of all requests, its own")                     \
	X(TAKING, "taking", "share",                                                               \
	  "request time: the server blocked until clients took more of a reply")                   \
	X(WINDOW, "window", "share",                                                               \
	  "watched time in which a client's TCP took no more replies; who: the client")            \
	X(WINDOW_LOST, "window_lost", "share",                                                     \
	  "TCP segments to it that were sent again, if 20 or more")                                \
	X(LINK, "link", "share",                                                                   \
	  "time of a client that its replies were on their way, at the rate that TCP measured, "   \
	  "round trips left out; who: the client")                                                 \
	X(LINK_RATE, "link_rate", "B/s", "that rate")                                              \
	X(LINK_REPLY, "link_reply", "ns",                                                          \
	  "that time for each of its requests; all of it if none was answered")                    \
	X(LINK_QUEUE, "link_queue", "B",                                                           \
	  "written for it and not acknowledged: mean of looks, one a second")                      \
	X(LINK_UNSENT, "link_unsent", "B", "of these, not even sent: mean of these looks")         \
	X(LINK_RTT, "link_rtt", "ns", "its TCP round-trip time at the end, smoothed")              \
	X(LINK_RTT_LEAST, "link_rtt_least", "ns", "its least TCP round-trip time")                 \
	X(TCP_UNSEEN, "tcp_unseen", "share",                                                       \
	  "of the time that clients waited, or may have waited, that of clients whose TCP "        \
	  "connections are not seen, at most; who: how many")                                      \
	X(DRAIN, "drain", "1", "clients whose replies were on their way, at a time, on average")   \
	X(UPLOAD, "upload", "share",                                                               \
	  "time of a client in which a request of it was in service whose rest had not come, "     \
	  "at least; who: the client")                                                             \
	X(UPLOAD_RATE, "upload_rate", "B/s", "bytes that came from it")                            \
	X(UPLOAD_RTT, "upload_rtt", "ns", "its least TCP round-trip time")                         \
	X(RELAY, "relay", "1",                                                                     \
	  "clients whose connection a program of this machine carries on; who: the busiest")       \
	X(RELAY_REQUESTS, "relay_requests", "share", "of all requests, theirs")                    \
	X(CHATTY, "chatty", "share",                                                               \
	  "of all requests, one client's of one command, at least; who: both")                     \
	X(CHATTY_RATE, "chatty_rate", "1/s", "these requests a second")                            \
	X(CHATTY_BYTES, "chatty_bytes", "B", "mean bytes of that client's requests and replies")   \
	X(SESSION_RUN, "session_run", "share",                                                     \
	  "watched time in which a session's {server} was on a CPU or waited for one; "            \
	  "who: its user")                                                                         \
	X(SESSION_CPU, "session_cpu", "share", "watched time in which it was on a CPU")            \
	X(SESSION_WAIT, "session_wait", "share",                                                   \
	  "time of all sessions' requests: its own, as far as it was on a CPU or waited for one")  \
	X(COMMAND_CPU, "command_cpu", "share", "CPU time of all requests, one command's; who: it") \
	X(DATA_CPU, "data_cpu", "share", "CPU time of all requests, in reads, writes and copies")  \
	X(VOLUME_SIZE, "volume_size", "share",                                                     \
	  "request time: FPOpenVol and FPGetVolParms reading folders")                             \
	X(VOLUME_SIZE_CALLS, "volume_size_calls", "1", "calls on folders for each of these")       \
	X(SPOTLIGHT, "spotlight", "ns",                                                            \
	  "mean time of Spotlight queries that had no answer at the end")                          \
	X(SPOTLIGHT_LATE, "spotlight_late", "ns",                                                  \
	  "mean time of Spotlight queries with an answer, of those that took 100 ms or more")

#endif
