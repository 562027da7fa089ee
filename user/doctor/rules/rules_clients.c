/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be wrong between an AFP server and its clients: the network, and what clients do. What a
 * client does on purpose, such as to pause, cannot be told from trouble of its own: that is said,
 * and never called a cause.
 */
#include "doctor/rules/rules_priv.h"

/* clang-format off */
static const struct doctor_rule rules[] = {
	{
		.key = "retransmissions", .name = "retransmissions", .kind = DOCTOR_WORK,
		TESTS(LEAST(LOST, 0.01), LEAST(LOST_N, 20)), HARM(LOST_REQUESTS, 0.1), UNSURE,
		EVIDENCE(F(LOST), F(LOST_N), F(LOST_REQUESTS), F(NET), F(RETRANS)),
		.says = "the network loses packets to a client: {lost} of the TCP segments to it were sent again, {lost_n} of them[: {lost.who}]",
		.todo = "look at the cable, the switch port and the Wi-Fi of that client, and at the errors and drops of the interface",
		.disproof = "the segments sent again to that client (ss -ti: retrans) do not grow while it works",
		.next = "ss -tin; ip -s link",
		.fact = "the network loses packets to a client: {lost} of the TCP segments to it were sent again[: {lost.who}]; it has few of the server's requests",
	},
	{
		.key = "slow-link", .name = "slow link to a client", .kind = DOCTOR_WORK,
		TESTS(LEAST(LINK, 0.4), MOST(LINK_RATE, 15e6), LEAST(LINK_UNSENT, 1000), LEAST(LINK_REPLY, SLOW_REPLY)), HARM(NET_WAIT, NET_WAIT_HARM), REASONS(F(TRIPS_WAIT), F(TCP_UNSEEN)),
		EVIDENCE(F(NET_WAIT), F(LINK), F(LINK_RATE), F(LINK_QUEUE), F(LINK_RTT), F(LINK_RTT_LEAST)),
		.says = "the way to a client is slow: replies were on their way to it for {link} of its time, at {link_rate}[: {link.who}]",
		.todo = "look at the way: Wi-Fi, a VPN, a port that runs at 10 or 100 Mbit/s, a link that others fill",
		.disproof = "iperf3 between the two shows much more than that rate",
		.next = "ss -tin; ethtool INTERFACE",
	},
	{
		.key = "slow-upload", .name = "slow link from a client", .kind = DOCTOR_WORK,
		TESTS(LEAST(UPLOAD, MUCH_UPLOAD), MOST(UPLOAD_RATE, 15e6), LEAST(UPLOAD_RATE, 50e3), MOST(UPLOAD_RTT, 10e6)), HARM(NET_WAIT, NET_WAIT_HARM), REASONS(F(TRIPS_WAIT), F(TCP_UNSEEN)),
		EVIDENCE(F(NET_WAIT), F(UPLOAD), F(UPLOAD_RATE), F(UPLOAD_RTT), F(NET)),
		.says = "what a client writes comes slowly: for {upload} of its time a request of it was in the server whose rest had not come yet; {upload_rate} came from it[: {upload.who}]",
		.todo = "look at the way from it (Wi-Fi, a VPN, a port that runs at 10 or 100 Mbit/s, a link that others fill), and at that client's own CPU and disk: which of them is slow is not seen from the server",
		.disproof = "iperf3 from that client shows much more than that rate, and the client is idle",
		.next = "ss -tin; ethtool INTERFACE",
	},
	{
		.key = "client-window", .name = "slow readers", .kind = DOCTOR_WORK,
		TESTS(LEAST(WINDOW, 0.3), MOST(WINDOW_LOST, 0.01), MOST(TAKING, NET_HARM)), HARM(NET_WAIT, NET_WAIT_HARM), UNSURE,
		EVIDENCE(F(NET_WAIT), F(WINDOW), F(TAKING), F(WINDOW_LOST), F(BUSY)),
		.says = "a client takes replies more slowly than the server sends them: its TCP window was closed {window} of the time[: {window.who}]",
		.todo = "look at that client: its CPU, the disk it writes to, and what relays its traffic",
		.disproof = "rwnd_limited of that connection (ss -ti) does not grow while it works",
		.next = "ss -tin | grep -B1 rwnd_limited",
	},
	{
		.key = "network", .name = "slow clients", .kind = DOCTOR_WAIT,
		TESTS(LEAST(TAKING, NET_HARM), LEAST(WINDOW, 0.1), MOST(WINDOW_LOST, 0.01)), HARM(TAKING, NET_HARM), UNSURE,
		EVIDENCE(F(TAKING), F(WINDOW), F(RETRANS), F(MEAN)),
		.says = "the server waited for clients to take replies: {taking} of all request time[; {window.who} took no more replies {window} of the time]",
		.todo = "look at the client's CPU, its network and its disk",
		.disproof = "the client is on the same switch, idle, and ss -ti shows no retransmissions",
		.next = "ss -tin",
	},
	{
		.key = "round-trips", .name = "round trips", .kind = DOCTOR_WORK,
		TESTS(LEAST(TRIPS, 0.25), LEAST(TRIP_RTT, SLOW_TRIP), MOST(TRIP_BUSY, 0.4), MOST(UNREAD, 5e6)), HARM(TRIPS_WAIT, TRIPS_WAIT_HARM), REASONS(F(TCP_UNSEEN)),
		EVIDENCE(F(TRIPS_WAIT), F(TRIPS), F(TRIP_RTT), F(TRIP_RATE), F(TRIP_BUSY), F(UNREAD)),
		.says = "round trips on the network take {trips} of a client's time, at least {trip_rtt} each (1,000 of them {trip_1000}); the server works for it {trip_busy} of the time[: {trips.who}][; they are {action_trips} of the time of the load's actions]",
		.todo = "a shorter way (wire for Wi-Fi, no VPN), or fewer requests: copy one archive for many small files, list in columns without previews",
		.disproof = "ping from that client takes much less than the round-trip time above while it works",
		.next = "ss -tin | grep -B1 rtt",
	},
	{
		.key = "delayed-acks", .name = "delayed acknowledgements", .kind = DOCTOR_WORK,
		TESTS(LEAST(ACKS, 0.5), MOST(ACKS_RATE, ACKS_RATE_MOST), MOST(ACKS_RTT, 5e6), MOST(ACKS_BUSY, 0.4), MOST(UNREAD, 20e6)), HARM(ACKS_WAIT, ACKS_WAIT_HARM), REASONS(F(TCP_UNSEEN)),
		EVIDENCE(F(ACKS_WAIT), F(ACKS), F(ACKS_RATE), F(ACKS_RTT), F(ACKS_BUSY)),
		.says = "a client sends a request in pieces, and waits 40ms for an acknowledgement before the last: {acks} of its requests; round trips take {acks_rtt}[: {acks.who}]",
		.todo = "on that client, or a relay that its traffic passes: a program that sends without TCP_NODELAY (Nagle's algorithm against delayed acknowledgements)",
		.disproof = "a capture shows each request in one segment, or pauses of other lengths",
		.next = "tcpdump -ni any tcp port {port}",
	},
	{
		.key = "link-full", .name = "network interface at its limit", .kind = DOCTOR_WAIT,
		TESTS(LEAST(LINK_USED, 0.9)), HARM(NET, 0.3), UNSURE,
		EVIDENCE(F(LINK_USED), F(NET), F(DRAIN), F(MEAN)),
		.says = "a network interface of this machine is at its limit: {link_used.who}; whether clients use it is not seen; the server waited for clients {net} of all request time",
		.todo = "a faster interface, a bond of several, or less traffic at a time",
		.disproof = "the interface is far below its speed while requests are slow",
		.next = "sar -n DEV 1 5",
		.fact = "a network interface of this machine is at its limit: {link_used.who}; whether clients use it is not seen",
	},
	{
		.key = "session-cpu", .name = "session that fills a CPU", .kind = DOCTOR_WAIT,
		TESTS(LEAST(SESSION_RUN, 0.9), LEAST(SESSION_CPU, 0.6), MOST(DATA_CPU, 0.5)), HARM(SESSION_WAIT, 0.5), WORTH_US(2000),
		EVIDENCE(F(SESSION_RUN), F(SESSION_CPU), F(SESSION_WAIT), F(COMMAND_CPU), F(RATE), F(MEAN)),
		.says = "one session's afpd computes or waits for a CPU {session_run} of the time, and can use one CPU only[: {session_run.who}][; {command_cpu.who} has {command_cpu} of the CPU time of requests]",
		.todo = "ask what that client does; fewer files in a folder make listings and searches cheaper",
		.disproof = "top shows that afpd below 90% of a CPU while its user waits",
		.next = "afpscope record -p {port} -d 30",
	},
	{
		.key = "one-session", .name = "one session takes all", .kind = DOCTOR_WAIT, .whom = true,
		TESTS(LEAST(TOP_SESSION, 0.8), LEAST(SESSIONS, 3), LEAST(TOP_BUSY, 0.5), MOST(SESSION_RUN, 0.9)), HARM(TOP_SESSION, 0.8),
		EVIDENCE(F(TOP_SESSION), F(TOP_BUSY), F(SESSIONS)),
		.says = "one session had {top_session} of all time in the server[: {top_session.who}]",
		.todo = "ask what that user does; renice that afpd",
		.disproof = "others are as slow when that session is idle",
		.next = "afpscope record -p {port} -d 30",
	},
	{
		.key = "unseen-clients", .name = "connections that are not seen", .kind = DOCTOR_NOTE,
		TESTS(LEAST(TCP_UNSEEN, 0.1)), NO_HARM,
		.fact = "the connections of {tcp_unseen.who} are not seen, or not in full: they are in another network namespace, were short, have only begun, or ended among very many; what is said of the network is true of the others only",
	},
	{
		.key = "relay", .name = "relayed connections", .kind = DOCTOR_NOTE,
		TESTS(ANY(RELAY)), NO_HARM,
		.fact = "a program of this machine carries on the connections of clients: {relay}[, most requests by {relay.who}]; what is slow on its other side is not seen here",
	},
	{
		.key = "client-pauses", .name = "client pauses", .kind = DOCTOR_NOTE, .whom = true,
		TESTS(LEAST(PAUSED, 0.6), LEAST(PAUSE_ALIKE, 0.8), LEAST(PAUSE, 4e6), MOST(PAUSE_BUSY, 0.4), MOST(UNREAD, 5e6), MOST(ACKS, 0.5)), NO_HARM,
		.fact = "a client waits {pause} before each next request, {paused} of its time[: {paused.who}]; whether it does so on purpose, or a relay or program on its way holds requests back, is not seen here",
	},
	{
		.key = "chatty-client", .name = "chatty clients", .kind = DOCTOR_NOTE, .whom = true,
		TESTS(LEAST(CHATTY, 0.7), LEAST(CHATTY_RATE, 300), MOST(CHATTY_BYTES, 1000)), NO_HARM,
		.fact = "one client sends one command again and again: {chatty_rate}, {chatty} of all requests of the server[: {chatty.who}]",
	},
};
/* clang-format on */

const struct doctor_rules doctor_rules_clients = { .of = OF(SESSIONS),
						   .n = sizeof(rules) / sizeof(rules[0]),
						   .rule = rules };
