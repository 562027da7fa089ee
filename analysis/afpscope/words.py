# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts of the report in English, and their use in other languages (po/report.*.po).

Names of commands and fields stay. A text's key is its context in the catalogues.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from . import historywords, rxwords, sweepwords, versuswords
from .catalogue import Message, translated, translations
from .page import replaywords
from .saved.model import Transfer
from .saved.run import AFP_WORDS, DOUBTS, NO_WORDS, Cause, Run
from .saved.sections import Cell, Column, Note, Row, Section
from .told import CAUSE, HEAD, PROGRAM, Told

LANGUAGES = ("en", "ja")

_WORDS: dict[str, str] = {
    "title": "afpscope report",
    "runs": "Runs",
    "sections": "Contents",
    "run": "Run",
    "server": "Server",
    "inside_all": "Time inside the server",
    "leads": "Costs most",
    "yes": "yes",
    "no": "NO",
    "side_by_side": "Mean time of each test",
    "median": "Median",
    "judge": "This table judges nothing: afpscope compare says which differences are real.",
    "calls_note": (
        "Calls and time are means per request. The calls of {helper} run in its own process, in "
        "part when {server} does not wait for it: they may take longer than {server} waits for "
        "the {backend}."
    ),
    "badge_trusted": "Figures trusted",
    "badge_doubted": "Do not rely on this",
    "badge_unchecked": "Not checked",
    "unchecked": "Nothing independent counted the same, so these figures were not cross-checked.",
    "cause_sure": "The cause is sure: the figures show it.",
    "cause_likely": "The cause is likely, not proved: the figures point to it.",
    "cause_likely_for": "The cause is likely, not proved: {doubt}.",
    "cause_likely_about": "The cause is likely, not proved: {doubt} ({meaning}).",
    "cause_try": "Try: {text}",
    "cause_wrong": "This is wrong if {text}",
    "cause_next": "To look further: {text}",
    "conf_is": "{conf} is what the server itself calls {settings}: one file.",
    "cause_rivals": "Which of the first {n} causes counts more cannot be told.",
    "cause_too_sure": "Sure: {text}",
    "cause_too_likely": "Likely, not proved: {text}",
    "unseen": "These would explain the waits as well, and could not be seen here: {names}.",
    "may_be": "Not ruled out, as it could not be seen here: {names}.",
    "unjudged": (
        "This run has no diagnosis, so the cause cannot be told: the figures say where time went, "
        "and not why."
    ),
    "command": "Command",
    "numbers": "The same as numbers",
    "numbers_more": "{n:,} more rows are in the CSV file that --figures writes.",
    "on_path": "On the request's path: calls of {server}",
    "beside": "Beside it: calls of {helper}, in part while nobody waits for them",
    "slow": "The slowest requests, one by one",
    "slow_note": (
        "From the trace. Each is drawn from when the client sent it, if that is known, to its end: "
        "what {server} did and waited for, and what {helper} did for it."
    ),
    "slow_one": "{command}: {time} in the server",
    "asleep": "asleep in {call}",
    "at": "At",
    "who": "Who",
    "lane_client": "client",
    "lane_server": "{server}",
    "lane_helper": "{helper}",
    "forest": "How much longer B takes than A",
    "forest_note": (
        "The largest differences that are shown come first. A line is the 95% interval of the "
        "change, on a logarithmic axis; dashed where it goes on beyond the axis. A filled square: "
        "the difference is shown; a ring: it is not. Grey: differences within {least}, which do "
        "not count."
    ),
    "forest_counts": "Counts that differ",
    "of_request_time": "All request time is the time of all requests in the server, added up.",
    "of_own_time": "Own time is the same without pauses, waits for a CPU, and logins.",
    "of_their_time": (
        "Their time is all request time and, before that, the time in which requests lay unread."
    ),
    "shares_apart": (
        "One wait may be in the shares of several causes, which may also be of different times: "
        "they do not add up."
    ),
    "shown_by": "What shows it",
    "to_do": "What to do",
    "others": "Other causes",
    "stands_out": "What else stands out, the most important first",
    "went_into": "Where the time went",
    "beware": "Before you use these figures for something else",
    "verdict": "In short",
    "trust": "Can it be trusted?",
    "trusted": (
        "The run is complete, {lost} events were lost, and all {books} cross-checks agree."
    ),
    "damaged": (
        "The trace is damaged or incomplete: do not rely on what is drawn from it (requests over "
        "time, numbers of records). The lines in bold say what is wrong."
    ),
    "trusted_but": (
        "The other figures are not taken from the trace: the run is complete, {lost} events were "
        "lost, all {books} cross-checks agree."
    ),
    "calls_unknown": "Its calls were not counted.",
    "any_cpu": "The program used {cpu} of CPU time and made {n:,} system calls.",
    "any_call": "Most time went into {name}: {time} in {n:,} calls.",
    "threads": "Threads",
    "bytes": "Bytes",
    "unwatched": "The server was not watched: only the client's figures are here.",
    "doubt": "Do not rely on this run: {text}.",
    "alone": "There was no server: this run is what its tables show.",
    "no_server": "There was no server: these are the figures of a local folder.",
    "local": "local folder {folder}",
    "costs_most": (
        "{name} costs most: {share:.0%} of all request time (requests: {n}, {mean} on average). "
        "Of the time of {name}, {part_share:.0%} was {part}."
    ),
    "costs_most_whole": (
        "{name} costs most: {share:.0%} of all request time (requests: {n}, {mean} on average). "
        "What that time went into is not known: other threads answer than those that read."
    ),
    "n_open": "{n:,}, {open:,} of them without an answer",
    "call_why": (
        "Of the system calls that {server} makes for it, {call} takes longest: {all} in all "
        "(calls: {n:,}), {time} a request on average."
    ),
    "second": "Next is {name} with {share:.0%} of all request time.",
    "busiest": (
        "The busiest of {n} sessions was that of {who} ({at}): {share:.0%} of the time that all "
        "sessions had a request in service."
    ),
    "transfer": "{title}: {rate}, {text}",
    "unsteady": (
        "Unsteady, with a standard deviation of 10% of the mean or more: {names}. Take more "
        "iterations (-n) before you compare them."
    ),
    "shared_cpu": (
        "Client and server shared CPU {cpu}: times are longer than they need be, counts are not "
        "affected."
    ),
    "what": "What",
    "count": "Count",
    "losses": "Losses",
    "term_server": "{server} is the process that serves a client.",
    "term_backend": "The {backend}, {helper}, gives files their numbers.",
    "term_calls": "Work in system calls: the kernel is working for {server}.",
    "term_quantiles": (
        "p50, p99, p99.9: half of the requests, 99 of 100, and 999 of 1,000 took no longer; of "
        "times inside the server these three may be wrong by 6%."
    ),
    "watched_for": "watched for {time}",
    "lasted": "lasted {time}",
    "swipe": "scrolls sideways where it is too wide",
    "axis_size": "size of the file",
    "sizes_note": (
        "Median of the iterations that count, by size of the file. The vertical bar is its 95% "
        "interval, which needs 6 iterations."
    ),
    "no_losses": "{n} kinds of loss were counted; none occurred.",
    "not_counted": "Losses were not counted.",
    "books": "Cross-checks: what afpscope counted, and what an independent source counted",
    "book": "Cross-check",
    "ours": "afpscope",
    "theirs": "The other",
    "closed": "agrees",
    "open": "DIFFERS",
    "rungs": "How it was observed",
    "tests": "Tests",
    "test": "Test",
    "time": "Time",
    "latency": "How long requests took",
    "latency_note": (
        "As the client saw them: the time within which a share of the requests was answered, the "
        "wait behind its own earlier requests included. Lower is better; each step to the right is "
        "a tail ten times as rare. The tests come first whose times vary most."
    ),
    "figures_more": "{n} more tests",
    "heat": "Requests over time",
    "heat_note": (
        "Stronger colour: more requests took this long at that moment (inside the server, from "
        "the trace). Numbered lines: where that test began."
    ),
    "heat_half": "half took less than",
    "heat_most": "all took less than",
    "where": "Where the time goes, by AFP command",
    "where_note": (
        "All request time, by AFP command and by what it was spent on; the longest "
        "first. Behind each bar: its share, and requests × mean time. Commands with less than "
        "{least:.1%} are in the table only."
    ),
    "where_hung": "Requests that began before the watch and have no answer are in no bar.",
    "outside": "Outside requests",
    "sessions": "Sessions",
    "untabled": (
        "The tables of afpscope -v are not here (tests or transfers, AFP commands and where their "
        "time goes, storage below the system calls, sessions, system calls, samples of /proc): the "
        "program leaves them in tables.json beside run.json, and this run has none. A version from "
        "before that file wrote it, or it was kept as a lone JSON file."
    ),
    "sessions_more": "{n} more",
    "joined": "Clients and their sessions",
    "joined_note": (
        "{found} of {n} clients were found by their connection in {record}, those that waited "
        "longest first. Mean and max: what an action took, from when it was to begin. Requests "
        "and busy: the session's, since watching began, so also those that made the files."
    ),
    "address": "Address",
    "failed": "Failed",
    "busy_each": "Busy, mean",
    "client": "Client",
    "busy": "Busy",
    "requests": "Requests",
    "each": "Mean",
    "calls": "System calls of each AFP command",
    "call": "Call",
    "per_request": "per request",
    "icicle": "The same time, down to the system calls",
    "icicle_note": (
        "From left to right: AFP command, what its time was spent on, and in or before which "
        "system call. As high as its share of all request time."
    ),
    "of_test": "of the test's time",
    "share_of_all": "of all time",
    "part": "Part",
    "difference": "Where the difference lies",
    "difference_note": (
        "From left to right: AFP command, what its time was spent on, and in or before which "
        "system call. As high as on the side that takes longer; the figure is how much of A's "
        "whole time B has more or less there, and so is the colour. These are means of all runs "
        "of a side, and no test: whether B takes longer is said above."
    ),
    "difference_total": (
        "Inside the server the requests of a run took {a} in A and {b} in B ({change}); what "
        "differs beyond that lies outside it: with the client, in the network, or before the "
        "server read a request."
    ),
    "change": "B - A",
    "side_run": "{side}: {first}",
    "side_runs": "{side}: {n:,} runs, {first} to {last}",
    "difference_only": (
        "Only {side} has requests of {names} ({time} of a run): they are not drawn."
    ),
    "rows_more": "{n:,} rows with less are left out.",
    "cnid": "Inside the {backend}",
    "cnid_note": (
        "What {helper} did while {server} waited for it, by AFP command. Behind each bar: requests "
        "× mean time."
    ),
    "throughput": "Throughput",
    "throughput_note": "Each point is an iteration; the line is the median of those that count.",
    "limited": "What limits it",
    "environment": "Environment",
    "noted_client": "client",
    "noted_server": "server",
    "noted_options": "options",
    "absent": "Not measured",
    "trace": "Trace",
    "stream": "Stream",
    "records": "Records",
    "discarded": "Discarded",
    "axis_time": "time of a request",
    "axis_share": "share of requests",
    "axis_at": "seconds since the start",
    "axis_total": "total time",
    "axis_iteration": "iteration",
    "p_user": "{server}'s own code",
    "p_calls": "work in system calls",
    "p_runq": "waiting for a CPU",
    "p_disk": "waiting for files",
    "p_cnid": "waiting for the {backend}",
    "p_lock": "waiting for a lock",
    "p_log": "waiting for the log",
    "p_net": "waiting for the client",
    "p_other": "waiting otherwise",
    "p_unread": "unread, waiting for a CPU",
    "p_stopped": "paused by a signal, a debugger or a freezer",
    "axis_action": "time of an action",
    "axis_probe": "time of the probe's actions",
    "axis_longer": "share that took as long or longer",
    "axis_clients": "how many clients, the least served first",
    "axis_numbered": "client's number, the least served first",
    "axis_actions": "actions done",
    "axis_in_service": "requests in the server at a time",
    "axis_number": "clients",
    "axis_per_s": "actions a second",
    "axis_request_share": "share of a request's time",
    "mean": "mean",
    "actions": "Actions",
    "all_actions": "all",
    "offered": "offered",
    "achieved": "achieved",
    "law": "scalability law",
    "knee": "knee",
    "load": "What the clients felt",
    "files": "Operations on small files",
    "files_note": (
        "Each was done with all files by all clients, before the next began. p99: 99 of 100 took "
        "no longer (to 1%)."
    ),
    "load_note": (
        "An action is what a user does, such as saving a file: several AFP commands. Times are "
        "counted from when the action was to begin: an action that waits for a free client waits, "
        "too. p99: 99 of 100 took no longer (to 1%)."
    ),
    "load_time": "Over time",
    "load_time_note": (
        "What ended in each second: the mean of all, the longest, and of one kind of actions "
        "alone also half and 99 of 100. Grey: the ramp, which is not counted. Numbered lines: "
        "what was changed meanwhile."
    ),
    "load_tail": "How many actions took how long",
    "load_tail_note": (
        "The share of actions that took as long or longer: the lower a line at a time, the better."
    ),
    "probe": "What one more user felt: the probe",
    "probe_note": (
        "The longest and the shortest of what the probe does each second: stat, read 4 KiB, write "
        "4 KiB."
    ),
    "load_heat": "Latency and time",
    "load_heat_note": "Stronger colour: more actions that ended in this second took this long.",
    "fairness": "Were all clients served alike?",
    "fairness_note": (
        "Actions of each client, the least first. Jain's index is {index:.3f} (1: all alike, "
        "{worst:.3f}: one had all). The client that ended first did so after {first}, the last "
        "after {last}."
    ),
    "load_parts": "The server's time over time",
    "load_parts_note": (
        "How many requests were in the server at a time, by what their time was spent on."
    ),
    "limits": "Limits",
    "limits_note": "What load concluded of each limit (--slo).",
    "limit_kept": "kept",
    "limit_broken": "broken",
    "limit_untold": "cannot tell: {why}",
    "limit_found": "{verdict}; it was {time}",
    "marks": "What was changed",
    "load_short": (
        "{clients:,} clients of “{mix}”: {rate} actions a second{offered}; half of them took "
        "at most {p50}, 99 of 100 at most {p99}, the longest {max}."
    ),
    "load_short_mix": (
        "{clients:,} clients of “{mix}”: {rate} actions a second{offered}; they took {mean} on "
        "average, the longest {max}. {share:.0%} of that time was “{most}”: half of these took "
        "at most {p50}, 99 of 100 at most {p99}."
    ),
    "load_offered": " of {rate} offered",
    "load_probe": (
        "Meanwhile one more user waited {mean} for an action on average, and {max} at most."
    ),
    "load_silence": "No action ended for at least {s} s, from second {at} on{waited}.",
    "load_silence_ranks": "; this is known of {n:,} of {ranks:,} ranks",
    "load_waited": "; {n:,} of {clients:,} clients had one that took so long",
    "load_missing": "{n:,} of {clients:,} clients had no session.",
    "load_lost": "{n:,} sessions were lost.",
    "files_short": (
        "{clients:,} clients, {n} loads of small files: {fast} was the fastest with {fast_rate} "
        "operations a second, {slow} the slowest with {slow_rate}."
    ),
    "load_failed": "{n:,} actions failed.",
    "load_no_room": (
        "{n:,} of {arrivals:,} arrivals were dropped: all clients were busy and the queue full."
    ),
    "load_saturated": (
        "The load generator itself had no time left ({cpu:.0%} of a CPU, {runq:.0%} of the time "
        "waiting for one): these figures are its own limit, not the server's."
    ),
    "load_behind": (
        "{late:,} of {n:,} actions began more than 1 ms late, by {most} at most: so much of their "
        "times is the load generator's or its machine's, not the server's."
    ),
    "v_not_told": "limit unknown",
    "v_client": "client-bound",
    "v_disk": "I/O-bound",
    "v_server_cpu": "server CPU-bound",
    "v_cpu_queue": "short of CPU",
    "v_latency": "latency-bound",
    "v_network": "network-bound",
    "v_turns": "client and server in turn",
    "v_mixed": "mixed",
    "i_cpu": "on a CPU",
    "i_runq": "waiting for a CPU",
    "i_sync": "syncing its database",
    "i_lock": "locks",
    "i_io": "other I/O",
    "i_idle": "request or answer in transit",
    "i_stopped": "paused by a signal, a debugger or a freezer",
    "i_unknown": "not seen",
    "f_client_cpu": "client's CPU",
    "f_client_runq": "client waiting for a CPU",
    "f_null_peer": "the same against a server that stores nothing takes",
    "f_server_cpu": "{server}'s CPU",
    "f_server_runq": "{server} waiting for a CPU",
    "f_server_disk": "{server} waiting for files",
    "f_waiting": "neither end working",
    "f_round_trips": "round trips",
    "f_path_busy": "the path in use",
    "f_queue": "the path's queue",
    "comma": ", ",
    **sweepwords.WORDS,
    **rxwords.WORDS,
    **historywords.WORDS,
    **versuswords.WORDS,
    **replaywords.WORDS,
}

# Of the tables of figures, those that no table of the program has.
_COLUMNS = ("second", "from_s", "to_s", "actions", "bytes", "last", "share_at_least",
            "queue_bytes", "drops", "repeat", "offered_per_s", "achieved_per_s")  # fmt: skip

# Begins of keys whose words the program has, too: verdicts, figures, parts of time.
_SHARED = ("v_", "f_", "i_", "p_")

# Columns of texts that are words of the program, and no names of users, files or tests.
_SAID = ("account", "end", "most_frequent_error", "null_peer", "verdict", "what")
# Columns of names, and of words of the program with blanks: "outside requests".
_NAMED = ("command", "state")

# Figures of a verdict, in the order of the sentence that run.json has in English.
_FIGURES = (
    "client_cpu",
    "client_runq",
    "null_peer",
    "server_cpu",
    "server_runq",
    "server_disk",
    "waiting",
)
_OF_THE_PATH = ("round_trips", "path_busy", "queue")


def messages() -> list[Message]:
    """What a catalogue of the report must have."""
    heads = [Message(HEAD, text.replace("_", " ")) for text in _COLUMNS]
    doubts = [Message(PROGRAM, text) for text in DOUBTS]
    return [Message(key, text) for key, text in _WORDS.items()] + heads + doubts


_WIDE = re.compile("[\u3040-\u9fff]")  # letters of Japanese
_SETTING = re.compile(r"[a-z ]+ = ")
_WORD = re.compile(r"[^\W\d_]+('s)?")  # and no name of a file, a figure or an option


def stopped(text: str) -> str:
    """With a full stop, that of its language."""
    if text.endswith((".", "。")):
        return text
    return f"{text}{'。' if _WIDE.search(text) else '.'}"


class Words:
    """w["key"], w.say("key", name=value)."""

    def __init__(self, language: str, names: Mapping[str, str] = AFP_WORDS) -> None:
        """`names`: what the run's kind of server calls its things (Run.words)."""
        self.language = language
        self._catalogue = translations(language)
        self.names = NO_WORDS | {**names}
        self.told = self._told()  # what a run has in English

    def _told(self) -> Told:
        if self.language == "en":
            return Told(())
        shared = [(self._named(_WORDS[key]), self[key]) for key in _WORDS if key[:2] in _SHARED]
        of = (translated(self._catalogue, context) for context in (PROGRAM, HEAD))
        return Told(next(of), [*shared, *next(of)])

    def _named(self, text: str) -> str:
        for key, word in self.names.items():
            text = text.replace(f"{{{key}}}", word)
        return text

    def __getitem__(self, key: str) -> str:
        return self._named(self._catalogue.pgettext(key, _WORDS[key]))

    def titled(self, section: Section) -> str:
        """Its title, in the language of the page if that is one of ours."""
        known = section.title == _WORDS.get(section.key)
        return self[section.key] if known else self.told(section.title)

    def section(self, s: Section) -> Section:
        """In the language of the page; names that are in its cells stay."""

        def row(r: Row) -> Row:
            if r.text is not None:
                return replace(r, text=self.told(r.text))
            return replace(r, cells=tuple(map(cell, r.cells, s.columns)))

        def cell(c: Cell, of: Column) -> Cell:
            composed = " " in c.text and "·" not in c.text  # the others are of class and object
            said = of.name in _SAID or (of.name in _NAMED and composed) or c.text[:1] == "("
            said &= isinstance(c.value, str)
            return replace(c, text=self.told(c.text)) if said else c

        def note(n: Note) -> Note:
            return replace(n, label=self.told(n.label), text=self.told(n.text))

        return replace(
            s,
            columns=tuple(replace(c, head=self.told(c.head)) for c in s.columns),
            about=self.told(s.about),
            rows=tuple(map(row, s.rows)),
            notes=tuple(map(note, s.notes)),
        )

    def head(self, text: str) -> str:
        """Of a column."""
        return self._catalogue.pgettext(HEAD, text) if text else text

    def cause(self, key: str, called: Mapping[str, str] | None = None) -> str:
        """What it is called that a key of the diagnosis stands for. `called`: by the screen."""
        name = key.replace("-", " ")
        told = self._catalogue.pgettext(CAUSE, name)
        if told != name:
            return told
        return (called or {}).get(key) or name.replace("stopped", "paused")  # it has not ended

    def column(self, key: str) -> str:
        """That of a figure's numbers, by what it is called in the CSV: parts of a time have words
        of their own."""
        name = key.removesuffix("_ns")
        if self.language != "en" and (part := f"p_{name}") in _WORDS:
            return self[part]
        return self.head(name.replace("_", " "))

    def run(self, run: Run) -> Run:
        """With what the program wrote into it in the language of the page."""

        def causes(found: tuple[Cause, ...]) -> tuple[Cause, ...]:
            say = self.told
            return tuple(
                replace(c, text=say(c.text), todo=say(c.todo), disproof=say(c.disproof))
                for c in found
            )

        return replace(
            run,
            causes=causes(run.causes),
            limits=causes(run.limits),
            opinion=run.opinion and self.told(run.opinion),
            findings=tuple(replace(f, text=self.told(f.text)) for f in run.findings),
            warnings=tuple(map(self.told, run.warnings)),
        )

    def say(self, key: str, **values: object) -> str:
        return self[key].format(**values)

    def sentence(self, text: str) -> str:
        """As the program wrote it, with a full stop; and a capital letter, but for names."""
        first = text.split(maxsplit=1)[0].rstrip(":,") if text else ""
        kept = first in self.names.values() or not _WORD.fullmatch(first) or _WIDE.search(text)
        kept = kept or _SETTING.match(text)
        begin = text[:1] if kept else text[:1].upper()
        return stopped(f"{begin}{text[1:]}")

    def verdict(self, t: Transfer) -> str:
        """What held a transfer up, and the figures that say so."""
        key = f"v_{t.verdict_kind}"
        if key not in _WORDS:
            return t.verdict
        figures = t.verdict if self.language == "en" else self._figures(t)
        return f"{self[key]}: {figures}" if figures else self[key]

    def _figures(self, t: Transfer) -> str:
        shown = _FIGURES + (_OF_THE_PATH if t.verdict_kind in ("network", "latency") else ())
        shares = [(t.verdict_figures.get(key) or 0, self[f"f_{key}"]) for key in shown]
        return self["comma"].join(f"{text} {share:.0%}" for share, text in shares if share >= 0.05)


ENGLISH = Words("en")
