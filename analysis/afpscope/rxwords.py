# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts of the report about Rx, and of a diagnosis, in English."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "rx_calls": "How long calls took",
    "rx_calls_note": (
        "All clients of a test begin together. Times are those of a whole call, as the client saw "
        "it."
    ),
    "rx_tail": "How many calls took how long",
    "axis_call": "time of a call",
    "rx_tail_note": (
        "The share of calls that took as long or longer. Steps near 0.2, 2, 3.2, 3.6 and 6.4 s are "
        "the timers after which a packet that was lost is sent again."
    ),
    "rx_short": (
        "{test}: {clients:,} clients made {n:,} calls, {rate} a second and {mb_s} MB/s both ways; "
        "a call took {mean} on average, half of them at most {p50}, 99 of 100 at most {p99}, the "
        "longest {max}."
    ),
    "rx_short_few": (
        "{test}: {clients:,} clients made {n:,} calls, {rate} a second and {mb_s} MB/s both ways; "
        "a call took {mean} on average, half of them at most {p50}, the longest {max}."
    ),
    "rx_lost": "{test}: {n:,} of {clients:,} clients got no answer any more and stopped.",
    "rx_failed": "{test}: {failed:,} of {n:,} calls failed.",
    "rx_no_time": (
        "{test}: the clients' program itself had no time left ({cpu:.0%} of a CPU, {runq:.0%} of "
        "the time waiting for one): these figures are its own limit, not the server's."
    ),
    "rx_packets": "Packets of the clients",
    "rx_packets_note": (
        "All clients of a test together. Dropped: datagrams that found no room in a client's own "
        "socket."
    ),
    "rx_data_sent": "DATA sent",
    "rx_again": "Again",
    "rx_resent": "of these, sent again",
    "rx_duplicates": "of these, received again",
    "rx_acks_sent": "ACK sent",
    "rx_data_received": "DATA received",
    "rx_acks_received": "ACK received",
    "rx_timeouts": "no answer in time",
    "rx_busy": "BUSY received",
    "rx_rtt": "mean round trip",
    "rx_buffer": "socket buffer, as granted",
    "rx_drops": "dropped",
    "rx_served": "Packets of the server",
    "rx_served_note": "As its threads read and sent them.",
    "rx_in": "read",
    "rx_out": "sent",
    "rx_datagrams": "Datagrams",
    "rx_types": "Packets by type",
    "rx_sockets": "Sockets of the server",
    "rx_sockets_note": (
        "Looked at ten times a second. Dropped: datagrams that found no room, by /proc and as the "
        "kernel's tracepoint counted them (n/a: it was not counted). The buffer is the size that "
        "was granted; the kernel's memory for it is twice as much."
    ),
    "rx_socket_note": (
        "UDP port {port}: the kernel's memory that waiting datagrams took, and how many found no "
        "room since the watch began. Datagrams that come and go between two looks are not in it."
    ),
    "rx_waited": "waiting",
    "rx_room": "room",
    "rx_dropped": "dropped so far",
    "axis_drops": "datagrams dropped",
    "rx_granted": "Buffer",
    "rx_port": "UDP port",
    "rx_most": "Most seen waiting",
    "rx_by_proc": "Dropped (/proc)",
    "rx_by_kernel": "Dropped (tracepoint)",
    "causes": "What makes clients wait",
    "causes_note": "As doctor sees it: the one that explains most first, each with what to do.",
}
