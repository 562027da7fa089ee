# SPDX-License-Identifier: GPL-2.0-or-later
"""What a diagnosis is worth, and the table of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from faults import DOSES, MOST, NONE, NOTHING, THIRD
from patient import Row

FIRST, AMONG, SILENT, SAID_SLOW, FALSE, SURE, FAILED = (
    "right first",
    "right among three",
    "silent",
    "silent, said slow",
    "false",
    "false and sure",
    "not made",
)
# What others on this machine may make true.
DISTURBED = {"other-programs", "cpu-short"}
# What harms nobody by itself, or cannot be told from a client's own work: said in a note, and never
# a finding.
NOTES = {
    *("relay", "client-pauses", "chatty-client", "no-login", "cnid-held", "quota"),
    *("lock-waits", "notifyd"),
}
NOTICED_MS = 0.5
FELT_MS = 10  # longer, on average
BUSY = 0.25  # of the server's CPU that others took


def reached(harm: dict[str, Any]) -> int:
    """The dose that the harm shows. Nobody notices less than NOTICED_MS."""
    waited = harm["share_of_waiting"] if harm["extra_ms"] >= NOTICED_MS else 0
    most = max(waited, harm["share_failed"])
    return MOST if most >= 0.5 else THIRD if most >= 0.15 else NONE


def _single(keys: list[str], right: Sequence[str]) -> str:
    if not keys:
        return FIRST if NOTHING in right else SILENT
    if keys[0] in right:
        return FIRST
    return AMONG if set(keys[:3]) & set(right) else FALSE


def outcome(row: Row, result: dict[str, Any]) -> str:
    """
    Of one row: the first that holds of SURE, FIRST, AMONG, FALSE, SAID_SLOW, SILENT. Where nothing
    is found but what the fault brings with it, one of NOTES that is right is as good as a finding.
    """
    diagnosis = result.get("diagnosis")
    if diagnosis is None:
        return FAILED
    right = [fault.found for fault, _ in row.faults]
    brought = {key for fault, _ in row.faults for key in fault.also}
    known = {key for fault, _ in row.faults for key in (*fault.found, *fault.also)}
    if (result.get("cpu_others") or 0) >= BUSY:
        known |= DISTURBED
    found = diagnosis["findings"]
    if any(f["sure"] and f["key"] not in known for f in found):
        return SURE
    noise = DISTURBED & known - {key for keys in right for key in keys}
    keys = [f["key"] for f in found if f["key"] not in noise]
    if len(right) == 2 and keys:
        # What harms nobody beside the other is a note.
        said = {*keys, *(note["key"] for note in diagnosis.get("notes", ()))}
        both = all(set(wanted) & said for wanted in right)
        is_ = FIRST if both else _single(keys, [*right[0], *right[1]])
        return AMONG if is_ == FIRST and not both else is_
    noted = {note["key"] for note in diagnosis.get("notes", ())} & NOTES
    if set(keys) <= brought and len(right) == 1 and noted & set(right[0]):
        return FIRST
    is_ = _single(keys, right[0] if len(right) == 1 else ())
    return SAID_SLOW if is_ == SILENT and diagnosis["verdict"] == "slow" else is_


def keys_before(result: dict[str, Any]) -> list[str] | None:
    """What was found before there was a fault; None: doctor did not look."""
    diagnosis = (result.get("before") or {}).get("diagnosis")
    if diagnosis is None:
        return None
    return [f["key"] for f in diagnosis["findings"] if f["key"] not in DISTURBED]


def summary(row: Row, result: dict[str, Any]) -> dict[str, Any]:
    """What the table needs of a row, beside its whole result."""
    keys = sorted({key for fault, _ in row.faults for key in fault.found if key})
    return {
        "fault": " + ".join(fault.name for fault, _ in row.faults),
        "keys": keys,
        "kind": "pair" if len(row.faults) > 1 else "none" if row.faults[0][0].healthy else "one",
        "dose": row.faults[0][1],
        "reached": min(row.faults[0][1], reached(result["harm"])) if "harm" in result else NONE,
        "outcome": outcome(row, result),
        "before": keys_before(result),
    }


def _cells(of: Iterable[dict[str, Any]]) -> str:
    n = Counter(row["outcome"] for row in of)
    total = sum(n.values())
    if not total:
        return "| | | | "
    quiet = n[SILENT] + n[SAID_SLOW]
    return f"| {n[FIRST]}/{total} | {n[FIRST] + n[AMONG]} | {quiet} | {n[FALSE] + n[SURE]} "


def _percent(rows: list[dict[str, Any]], good: Callable[[str], bool]) -> str:
    n = sum(good(row["outcome"]) for row in rows)
    return f"{n} of {len(rows)} ({n / max(1, len(rows)):.1%})"


def _unsaid(rows: list[dict[str, Any]]) -> str:
    """Of faults that did harm and of which nothing was found: how small, and what notes say."""
    silent = [row for row in rows if row["outcome"] in (SILENT, SAID_SLOW)]
    small = [row for row in silent if row["result"]["harm"]["extra_ms"] < FELT_MS]
    notes = [{note["key"] for note in row["result"]["diagnosis"].get("notes", ())} for row in small]
    noted = sum(bool(set(row["keys"]) & said) for row, said in zip(small, notes, strict=True))
    slow = sum(row["outcome"] == SAID_SLOW for row in silent)
    return (
        f"{len(silent)} of {len(rows)}; {slow} of them say that requests are slow; in {len(small)} "
        f"a request took less than {FELT_MS} ms longer, and {noted} of these name it in a note"
    )


def table(all_: list[dict[str, Any]]) -> str:
    """Markdown, from the results of many rows."""
    made = [row for row in all_ if row["outcome"] != FAILED]
    one = [row for row in made if row["kind"] == "one"]
    lines = [
        "| Fault | Right | High: first | in three | silent | false | Middle: first | in three "
        "| silent | false | None: rows | false | Sure |",
        "| --- | --- |" + " --- |" * 11,
    ]
    for fault in dict.fromkeys(row["fault"] for row in one):
        mine = [row for row in one if row["fault"] == fault]
        of = {dose: [row for row in mine if row["reached"] == dose] for dose in (NONE, THIRD, MOST)}
        wrong = sum(row["outcome"] in (FALSE, SURE) for row in of[NONE])
        sure = sum(row["outcome"] == SURE for row in mine)
        keys = ", ".join(f"`{key}`" for key in mine[0]["keys"]) or "nothing"
        lines.append(
            f"| {fault} | {keys} {_cells(of[MOST])}{_cells(of[THIRD])}"
            f"| {len(of[NONE])} | {wrong or ''} | {sure or ''} |"
        )
    high = [row for row in one if row["reached"] == MOST]
    middle = [row for row in one if row["reached"] == THIRD]
    low = [row for row in one if row["reached"] == NONE]
    pairs = [row for row in made if row["kind"] == "pair"]
    none = [row for row in made if row["kind"] == "none"]
    quiet = [row for row in made if row["before"] is not None]
    spoilt = [row for row in quiet if row["before"]]
    missed = sum(row["reached"] != row["dose"] for row in one)
    lines += [
        "",
        f"- Most of the waiting: right first {_percent(high, FIRST.__eq__)}",
        "- A third of the waiting: right among three "
        + _percent(middle, lambda is_: is_ in (FIRST, AMONG)),
        f"- Harm of which no cause was found: {_unsaid(high + middle)}",
        f"- No harm: false {_percent(low, lambda is_: is_ in (FALSE, SURE))}",
        f"- Two at once: both found {_percent(pairs, FIRST.__eq__)}",
        f"- The same servers before the fault: something found {len(spoilt)} of {len(quiet)}",
        f"- Healthy: false {_percent(none, lambda is_: is_ != FIRST)}",
        f"- False and sure: {_percent(made, SURE.__eq__)}",
        f"- Rows that did less harm than was meant, counted as what they did: {missed}/{len(one)}",
        f"- Rows that could not be made: {len(all_) - len(made)}",
        f"- Time of all: {sum(row['seconds'] for row in all_) / 60:.0f} min of "
        f"{len(all_)} rows one after the other",
    ]
    return "\n".join(lines)


def told(row: dict[str, Any]) -> str:
    """A line of a row for the terminal."""
    harm = row["result"].get("harm")
    diagnosis = row["result"].get("diagnosis") or {"verdict": row["result"].get("error", "?")}
    found = [f["key"] + ("!" if f["sure"] else "") for f in diagnosis.get("findings", ())]
    share = "no harm known"
    if harm:
        most = max(harm["share_of_waiting"], harm["share_failed"])
        share = f"harm {most:.0%}, {harm['extra_ms']:.3g} ms ({DOSES[row['reached']]})"
    return (
        f"{row['outcome']:17}  {row['name']}: {diagnosis['verdict']} {' '.join(found)}; "
        f"{share}, {row['seconds']:.0f} s"
        + (f"; before: {' '.join(row['before'])}" if row["before"] else "")
    )
