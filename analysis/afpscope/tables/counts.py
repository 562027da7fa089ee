# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be counted exactly in a run: calls of each AFP command in each test.

A key is (test, command, role, class, object); requests themselves have role "requests",
errors "errors". A value is that of one iteration, even if a phase has the sum of several.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..saved.model import Phase
from ..saved.run import AFP_WORDS, BACKEND_SOCKET, DATABASE_FILE, Run

_SERVER, _HELPER = AFP_WORDS["server"], AFP_WORDS["helper"]

Key = tuple[str, str, str, str, str]
Observed = dict[Key, list[int]]
OWN_CODE = "user"
_HEAP_AND_TIMERS = {"memory", "signal"}
_BULK = {"FPRead", "FPReadExt", "FPWrite", "FPWriteExt"}
_PIECES = {
    *((class_, "client socket") for class_ in ("recv", "send", "sendfile")),
    ("write", "data file"),
}
_NEXT = ("read", "pipe")
_LEAST = 10
_NUMBERS = re.compile(r"(\d+)")
# One call more or less in this many requests is a stray.
STRAY_OF = 100
# Of replays, whose clients meet: which of two comes first decides whether a folder has changed
# since it was looked at. Seen: one in 34 requests, in 28 pairs of replays of one recording.
REPLAY_STRAY_OF = 20
# Pages that a checkpoint writes for whoever asks next, though others changed them. Seen: 84, in 46
# requests of a replay and in none of the same replay before it.
_CHECKPOINT = 256
_WAITS = 16  # for the pieces of one request


def test_name(p: Phase) -> str:
    """The test as files and tables name it: number and title without its number of commands."""
    title = p.title.split(" [")[0]
    return title if p.transfer else f"{p.test} {title}"


def _sums(p: Phase) -> dict[Key, int]:
    """The counts of one phase; empty where requests were not counted."""
    out: dict[Key, int] = defaultdict(int)
    for account in p.requests or ():
        head = (test_name(p), account.name)
        out[(*head, "requests", "", "")] += account.requests or 0
        out[(*head, "errors", "", "")] += account.figures.get("errors") or 0
        for part in account.parts:
            if part.class_ != OWN_CODE:
                out[(*head, *part.key)] += part.calls
    return dict(out)


def of_phase(p: Phase) -> list[dict[Key, int]]:
    """The counts of an iteration of a phase; empty where requests were not counted.

    A transfer has the sum of its iterations: then they are the mean or, if that is not a whole
    number because iterations differed, the whole numbers below and above it.
    """
    sums = _sums(p)
    if not p.transfer:
        return [sums]
    n = max(1, len(p.transfer.counting))
    return [{k: v // n for k, v in sums.items()}, {k: -(-v // n) for k, v in sums.items()}]


def observe(runs: Iterable[Run]) -> Observed:
    """All iterations of all runs, 0 where a key of the same test did not occur."""
    phases = [
        (test_name(p), found)
        for r in runs
        for p in r.whole_phases
        if p.requests
        for found in of_phase(p)
    ]
    keys: dict[Key, None] = {}
    for _, found in phases:
        keys.update(dict.fromkeys(found))
    return {
        key: [found.get(key, 0) for test, found in phases if test == key[0]]
        for key in sorted(keys, key=order)
    }


def order(key: Sequence[str]) -> tuple[tuple[tuple[int, str], ...], ...]:
    """For sorting: digits in a key count as a number, 2 before 10."""
    return tuple(
        tuple((int(word), "") if word.isdigit() else (-1, word) for word in _NUMBERS.split(text))
        for text in key
    )


def requests_of(observed: Observed, key: Key) -> int:
    """How many requests the calls of a key are for; at least 1."""
    return max([1, *observed.get((key[0], key[1], "requests", "", ""), [])])


def label(key: Key) -> str:
    """The key's last three parts as in tables: `afpd: xattr · data file`."""
    role, class_, object_ = key[2:]
    if role in ("requests", "errors"):
        return role
    return f"{role}: {class_}" + (f" · {object_}" if object_ not in ("", "-") else "")


@dataclass(frozen=True)
class Band:
    """The accepted range of a count. `exact`: it and related counts were the same every time."""

    low: int
    high: int
    exact: bool

    def holds(self, value: int) -> bool:
        return self.low <= value <= self.high

    def beyond(self, value: int) -> int:
        """How far a value is outside; 0 or less: inside."""
        return max(self.low - value, value - self.high)


def strays(key: Key, requests: int, of: int = STRAY_OF) -> int:
    """How many calls more or less are insignificant, as when two times fall in one second."""
    is_call = key[2] not in ("requests", "errors")
    if of < STRAY_OF and key[4] == DATABASE_FILE:
        return max(_CHECKPOINT, requests // of)
    return max(2, requests // of) if is_call and (requests >= of or of < STRAY_OF) else 0


def _unsteady(key: Key, requests: int, seen: int = 0) -> int:
    """How far a band extends at least beyond what was seen; 0 if only the request matters.

    `seen` is the largest count. Waits depend on scheduling (additional questions to the CNID
    server show in the writes to its socket, which are exact); data are received, sent and
    written in as many pieces as the socket has room for, one for small requests, any number for
    large ones, with a wait for each; the next of several requests may or may not have arrived
    when afpd looks at its pipe; a database writes pages and rotates logs at its own times; the
    heap grows and timers expire.
    """
    command, role, class_, object_ = key[1:]
    bulk = role == _SERVER and command in _BULK
    if bulk and class_ == "wait":
        return max(2 * seen, _WAITS * requests)
    if bulk and seen > requests and (class_, object_) in _PIECES:
        return 2 * seen
    if class_ == "wait" or (role == _SERVER and (class_, object_) == ("recv", BACKEND_SOCKET)):
        return 2 * requests
    if bulk and (class_, object_) in {*_PIECES, _NEXT}:
        return max(requests - 1, 1)  # less than a call per request
    if object_ == DATABASE_FILE or (role == _HELPER and object_ != BACKEND_SOCKET):
        return max(requests // 2, _LEAST)
    if class_ in _HEAP_AND_TIMERS:
        return max(requests // 50, _LEAST)
    return 0


def _widened(values: list[int], requests: int, least: int = 0) -> Band:
    """The seen range again, and at least three deviations of what varies.

    What varies by more than 1 % of the requests depends on scheduling (an answer that is there
    at once needs no wait): it may be any share of them, so the band is extended to whole numbers
    of calls per request.
    """
    low, high = min(values), max(values)
    spread = high - low or high
    slack = max(high - low, math.ceil(3 * math.sqrt(max(spread, 1))), least)
    bottom, top = max(0, low - slack), high + slack
    if (high - low) * 100 > requests:
        bottom = min(bottom, low // requests * requests)
        top = max(top, -(-high // requests) * requests)
    return Band(bottom, top, False)


def bands(observed: Observed) -> dict[Key, Band]:
    """The bands for the counts of further runs.

    A count that was always the same must stay so. One that varied has a band, and so have
    calls that are rarer than requests if others of their test, command and role vary:
    something that a server does occasionally (rotating a log) shows in rows that seldom change.
    """
    loose = {
        key[:3]
        for key, values in observed.items()
        if len(set(values)) > 1 and not _unsteady(key, 1)
    }
    out = {}
    for key, values in observed.items():
        varies = len(set(values)) > 1
        requests = requests_of(observed, key)
        rare = key[:3] in loose and values[0] < requests
        least = _unsteady(key, requests, max(values))
        if varies or rare or least:
            out[key] = _widened(values, requests, least)
        else:
            out[key] = Band(values[0], values[0], True)
    return out


def why(known: dict[Key, Band], key: Key, requests: int) -> str:
    """Why the band of a key is as wide as it is."""
    least = _unsteady(key, requests)
    band = band_of(known, key, requests)
    if key not in known:
        new = "it did not occur in the accepted runs"
        if least:
            return f"{new}; such a call does not depend on the request alone, so that some may"
        return new if band.exact else f"{new}, but others of its command varied"
    if band.exact:
        return "it was the same in every accepted iteration"
    if least:
        return f"it does not depend on the request alone: {least} beyond what was seen, at least"
    return "it, or others of its command, varied in the accepted runs"


def band_of(known: dict[Key, Band], key: Key, requests: int) -> Band:
    """The band of a key that may not have occurred before."""
    if key in known:
        return known[key]
    if least := _unsteady(key, requests):
        return _widened([0], requests, least)
    others = (k for k, band in known.items() if not band.exact and not _unsteady(k, 1))
    if any(other[:3] == key[:3] for other in others):
        return _widened([0], 1)
    return Band(0, 0, True)
