# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the laboratory: each fault in three doses, under loads, CNID schemes, versions."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from clientfaults import CLIENT_FAULTS
from cnidfaults import CNID_FAULTS
from diskfaults import DISK_FAULTS
from faults import DOSES, LOADS, MOST, SCHEMES, THIRD, Fault
from healthy import HEALTHY
from patient import Row
from serverfaults import SERVER_FAULTS
from smbfaults import SMB_FAULTS, SMB_HEALTHY
from userfaults import USER_FAULTS

FAULTS = {
    fault.name: fault
    for fault in (
        *SERVER_FAULTS,
        *CNID_FAULTS,
        *DISK_FAULTS,
        *USER_FAULTS,
        *CLIENT_FAULTS,
        *SMB_FAULTS,
    )
}
QUICK = ("browse", "one", "users", "victim")  # loads whose requests hardly wait
EACH = 3  # rows of a fault in a dose

# Two at once, both strong: both must be found.
PAIRS = (
    ("stopped server", "log level"),
    ("stopped CNID server", "deaf clients"),
    ("CNID server that dies", "files in use"),
    ("full disk", "login loop"),
    ("files in use", "log level"),
    ("deaf clients", "frozen server"),
    ("changed behind", "login loop"),
    ("slow login", "stopped server"),
    ("locked database", "deaf clients"),
    ("I/O limit, writes", "files in use"),
    ("AppleDouble", "deaf clients"),
    ("slow attributes", "login loop"),
    ("huge folder", "deaf clients"),
    ("locked file", "stopped server"),
    ("hanging login", "log level"),
    ("frozen server", "slow attributes"),
    ("scanner", "deaf clients"),
    ("name service", "files in use"),
    ("remote file system", "login loop"),
    ("CPU quota", "deaf clients"),
    ("repeated errors", "stopped server"),
    ("crashing sessions", "deaf clients"),
    ("repeated errors", "cnid_metad that stops"),
    ("scanner", "log level"),
    ("slow disk", "stopped CNID server"),
    ("slow disk", "deaf clients"),
)


def row_name(row: Row) -> str:
    """Tells it from all others."""
    faults = " + ".join(
        f"{fault.name}, {fault.doses[dose]} users"
        if fault.healthy
        else f"{fault.name}, {DOSES[dose]}"
        for fault, dose in row.faults
    )
    return f"{faults} | {row.load} | {row.cnid} | {row.suite}"


def _places(fault: Fault) -> list[tuple[str, str, str]]:
    """Loads, schemes and versions with which it can be made."""
    loads = ("own",) if fault.own else fault.loads
    return [
        (load, cnid, suite)
        for load, suite in product(loads, fault.suites)
        for cnid in SCHEMES[suite]
        if cnid in fault.cnids
    ]


def _covering(places: list[tuple[str, str, str]], seed: str) -> Iterator[tuple[str, str, str]]:
    """Places in an order in which each load, scheme and version soon has had its turn."""
    left = list(places)
    random.Random(seed).shuffle(left)
    used: Counter[str] = Counter()
    while left:
        at = min(left, key=lambda place: sum(used[word] for word in place))
        left.remove(at)
        used.update(at)
        yield at
        if not left:
            left = list(places)


def _rows_of(fault: Fault, seed: int) -> Iterator[Row]:
    places = _places(fault)
    # Nobody notices a third more of what takes a fraction of a millisecond.
    slow = [place for place in places if place[0] not in QUICK] or places
    all_ = _covering(places, f"{seed} {fault.name}")
    third = _covering(slow, f"{seed} {fault.name} third")
    doses = [dose for dose, strength in enumerate(fault.doses) if strength is not None]
    if len({fault.doses[dose] for dose in doses}) == 1:
        doses = doses[:1]
    for dose in doses:
        order, n = (third, len(slow)) if dose == THIRD else (all_, len(places))
        chosen: list[tuple[str, str, str]] = []
        while len(chosen) < min(EACH, n):
            if (place := next(order)) not in chosen:
                chosen.append(place)
        for load, cnid, suite in chosen:
            yield Row([(fault, dose)], load, cnid, suite)


def at_once(*names: str) -> Row:
    """These faults, all of them strong, of the newest netatalk that can have them."""
    faults = [FAULTS[name] for name in names]
    of = [set(fault.loads) for fault in faults if not fault.own]
    loads = [load for load in LOADS if all(load in names for names in of)] if of else ["own"]
    here = [{(cnid, suite) for _, cnid, suite in _places(fault)} for fault in faults]
    places = [
        (c, s) for s in reversed(SCHEMES) for c in SCHEMES[s] if all((c, s) in h for h in here)
    ]
    return Row([(fault, MOST) for fault in faults], loads[0], *places[0])


def planned(seed: int) -> tuple[list[Row], list[Row], list[Row]]:
    """One fault each; two; none."""
    one = [row for fault in FAULTS.values() for row in _rows_of(fault, seed)]
    two = [at_once(*pair) for pair in PAIRS]
    none = [row for fault in (*HEALTHY, *SMB_HEALTHY) for row in _rows_of(fault, seed)]
    return one, two, none


def sampled(rows: list[Row], n: int, seed: int) -> list[Row]:
    """So many, at random, none of a fault twice before each has had its turn."""
    order = list(rows)
    random.Random(seed).shuffle(order)
    turn: Counter[str] = Counter()
    keyed = []
    for row in order:
        name = row.faults[0][0].name + str(len(row.faults))
        keyed.append((turn[name], len(keyed), row))
        turn[name] += 1
    chosen = {id(row) for *_, row in sorted(keyed, key=lambda k: k[:2])[:n]}
    return [row for row in rows if id(row) in chosen]


def why_not(row: Row) -> str:
    """Why it cannot be made here; empty: it can."""
    missing = [at for fault, _ in row.faults for at in fault.needs if not Path(at).exists()]
    return f"there is no {missing[0]} here" if missing else ""
