# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts of replays in English: of the page of one, and of its comparison with its recording."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "replay_all": "Answered as recorded: all {n:,} requests.",
    "replay_some": "Answered as recorded: {same:,} of {n:,} requests.",
    "replay_otherwise": "Answered in another way: {which}.",
    "replay_unsent": "Not sent, as what they are about was not there: {which}.",
    "replay_lacks": "Not supported by this kind of place: {which}.",
    "replay_kept": (
        "The server kept up: 99 of 100 requests were answered within {time} of when they were due."
    ),
    "replay_behind": (
        "The server did not keep up: 1 of 100 requests was answered {time} after it was due, or "
        "later."
    ),
    "replay_behind_why": "The server did not keep up: {why}.",
    "replay_untold": "Whether the server kept up cannot be told: {why}.",
    "replay_unpaced": (
        "The requests were sent as fast as their order allows, so that it cannot be told whether "
        "the server keeps up with the recorded times."
    ),
    "replay_share": (
        "{sent:,} of the recording's {n:,} requests were sent ({share:.0%}), by {clients} clients, "
        "{pace}."
    ),
    "replay_pace": "at the recorded speed",
    "replay_pace_of": "at {speed} times the recorded speed",
    "replay_pace_none": "as fast as their order allows",
    "replay_felt": "How long the clients of the replay waited",
    "replay_felt_note": (
        "An action is one request of the recording. Times are counted from when it was due by the "
        "recording, so that one that waits for the one before it waits, too. p99: 99 of 100 took "
        "no longer (to 1%)."
    ),
    "replay_compare": "A recording and its replay",
    "replay_recording": "Recording: {name}",
    "replay_run": "Replay: {name}",
    "replay_requests": (
        "The requests: recorded, as the server took, and replayed, as the client waited"
    ),
    "replay_requests_note": (
        "Server: the time inside the recorded server, from the request to its reply. Client: how "
        "long the client of the replay waited, with the network. These are different times, which "
        "cannot be compared. Medians where there are several replays."
    ),
    "replay_inside": "Inside the server, as recorded and in the replay",
    "replay_inside_note": (
        "Both times are counted in the server, by AFP command, from the request to its reply. "
        "Commands whose number differs by more than 1% are not compared: the recording has "
        "requests that are not replayed, such as those of logins. Calls: system calls a request "
        "on average."
    ),
    "replay_unwatched": (
        "The times inside the server during the replay are not known: nobody watched it there. "
        "What the client waited has the network in it, and cannot be compared with them."
    ),
    "replay_unlike": (
        "The replay's server was asked in another protocol: its times inside cannot be compared "
        "with the recorded ones, command by command."
    ),
    "replay_unheard": "The recording has no times of the server by AFP command.",
    "replay_calls_same": (
        "Of commands with as many requests in both, the server made as many system calls, to one "
        "in {of} requests or two in all."
    ),
    "replay_calls_other": "The server made another number of system calls for: {which}.",
    "replay_few": (
        "Whether the server takes longer than the recorded one cannot be told from so few replays "
        "({n}): {least} at least show by how much runs differ by chance."
    ),
    "replay_apart": (
        "Times inside the server that differ from the recording by more than {n} replays vary: "
        "{which}."
    ),
    "replay_cause": (
        "The recording is of one time only, so that it cannot be told whether that is the server: "
        "replay it on the recorded server as well, in turn, and compare the replays."
    ),
    "replay_alike": (
        "No time inside the server is shown to differ from the recording by more than {n} replays "
        "vary."
    ),
    "replay_all_of": "Answered as recorded: all {n:,} requests, in each of {of} replays.",
    "replay_kept_of": "The server kept up in {n} of {of} replays.",
    "replay_behind_of": "It did not keep up in {n}: {which}.",
    "replay_untold_of": "It cannot be told in {n}: {which}.",
    "replay_doctor": "What ails or limits the server",
    "h_request": "request",
    "h_command": "command",
    "h_recorded": "recorded",
    "h_replayed": "replayed",
    "h_otherwise": "otherwise",
    "h_not_sent": "not sent",
    "h_server_p50": "server p50",
    "h_client_p50": "client p50",
    "h_server_p99": "server p99",
    "h_client_p99": "client p99",
    "h_p50_a": "recorded p50",
    "h_p50_b": "replayed p50",
    "h_p99_a": "recorded p99",
    "h_p99_b": "replayed p99",
    "h_change": "change",
    "h_verdict": "verdict",
    "h_calls_a": "recorded calls",
    "h_calls_b": "replayed calls",
    "h_unlike": "other number",
}
