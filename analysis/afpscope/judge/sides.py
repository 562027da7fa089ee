# SPDX-License-Identifier: GPL-2.0-or-later
"""The sides of `versus`: what is not equal, their figures, and the verdicts on each pair."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

from .. import show
from ..errors import Failure
from ..saved.hist import Histogram
from ..saved.run import Run
from ..tables import costs, values
from ..tables.values import Row
from . import design, durability, places, spoiled, stats, tails, versus
from .durability import Syncs
from .stats import Margins
from .versus import TimeRow

_SHOWN = 4  # rows in a sentence
# Settings that say which server it is, and which action was alone.
_WHICH = {"options.mode", "options.directory", "options.only", "command", "set"}
ENCRYPTED = "encrypted"
# Keys of settings.
_SETTING = "setting."
# Notes of processes, which are told by their names.
_PROCESSES = re.compile(r"pid |no \w+ process\b")
_SOME = re.compile(r"\(\d+ of \d+ shares\)")
_FROM_ITSELF = "cannot tell: a server differs from itself"


@dataclass
class Side:
    """A server and its runs by work. `twin`: the side that is the same server, measured again
    (--aa). `load`: options that only its loads are given (--vary)."""

    key: str
    name: str
    url: str
    twin: Side | None = None
    server: str = ""
    load: tuple[str, ...] = ()
    runs: dict[str, list[Run]] = field(default_factory=dict)
    of: dict[str, dict[Row, values.Value]] = field(default_factory=dict)  # by the run's id
    known: dict[str, tuple[str, Run]] = field(default_factory=dict)  # with the last that says it

    def add(self, run: Run) -> None:
        """Failure if its settings are not those of the others of its work, or its server changed
        since the others, as far as they know it."""
        found = self.runs.setdefault(costs.work_of(run), [])
        unlike = [(r, text) for r in found[:1] for text in versus.differences([r, run])]
        unlike += places.changed(self.known, run)
        if unlike:
            by = {one.name: [t for r, t in unlike if r is one] for one, _ in unlike}
            each = (f"{run.name} and {name} differ in {'; '.join(t)}" for name, t in by.items())
            raise Failure("; ".join(each))
        self.known |= {key: (text, run) for key, text in places.known(run).items()}
        found.append(run)
        self.of[run.id] = costs.of_run(run)

    @property
    def all(self) -> list[Run]:
        return [run for runs in self.runs.values() for run in runs]

    @property
    def first(self) -> Run:
        return self.all[0]


@dataclass(frozen=True)
class Fact:
    """Something that is not the same of all sides; a text for each."""

    what: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Middle:
    """The median of a side's runs, with its interval where there are enough; None: not known."""

    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None
    n: int = 0
    at_least: bool = False

    @property
    def text(self) -> str:
        if self.value is None:
            return "n/a"
        mark = "≥" if self.at_least else ""
        out = mark + show.measured(self.value, self.unit)
        if self.low is None or self.high is None:
            return out
        ends = [show.measured(x, self.unit) for x in (self.low, self.high)]
        return f"{out} ({' .. '.join(ends)})" if {*ends} != {out} else out


@dataclass(frozen=True)
class Figure:
    """A row of a table: of a work, one value for each side."""

    work: str
    what: str
    values: tuple[Middle, ...]


@dataclass(frozen=True)
class Pair:
    """`same`: both are one place; `itself`: for the same user, too. `doubts`: other causes of
    differences up to design.DOUBT."""

    a: Side
    b: Side
    same: bool
    rows: list[TimeRow]
    doubts: tuple[str, ...]
    zeros: tuple[str, ...]
    least: float
    itself: bool = False

    @property
    def title(self) -> str:
        if self.b.twin is self.a:
            return f"{self.a.name} against itself"
        return f"{self.b.name} against {self.a.name}{', the same place' if self.same else ''}"

    def found(self, *words: str) -> list[TimeRow]:
        return [row for row in self.rows if row.verdict in words]

    @property
    def differing(self) -> list[TimeRow]:
        return self.found(*stats.BAD, *stats.GOOD, stats.UNCLEAR)

    @property
    def said(self) -> str:
        """The outcome in a sentence, the largest differences first."""
        parts = []
        for verdict in (stats.SLOWER, stats.WORSE, stats.FASTER, stats.BETTER, stats.UNCLEAR):
            if those := sorted(self.found(verdict), key=lambda r: -abs(r.result.change or 0)):
                parts.append(f"{verdict}: {_some(those)}")
        few = len(self.found(stats.TOO_FEW))
        itself = len(self.found(_FROM_ITSELF))
        told = len(self.rows) - len(self.differing) - few - itself
        if not parts and told:
            parts.append(f"no difference shown in {_rows(told)}")
        if itself:
            parts.append(
                f"cannot be told in {_rows(itself)}, in which a server differs from itself"
            )
        if few:
            parts.append(f"not enough runs to tell in {_rows(few)}")
        return f"{self.title}: {'; '.join(parts) or 'nothing that both have'}"


def _rows(n: int) -> str:
    return f"{n} row{'s' * (n != 1)}"


def label(row: TimeRow) -> str:
    """What a row is of, within all works."""
    alone = row.test.partition(": ")[2]
    if row.command:
        return f"{row.label} alone" if alone else row.label
    return f"{row.figure} of {alone or 'the mix'}"


def _some(rows: Sequence[TimeRow]) -> str:
    texts = [f"{label(r)} ({versus.signed(r.result.change)})" for r in rows[:_SHOWN]]
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return ", ".join(texts) + more


@dataclass(frozen=True)
class Outcome:
    """`sides`: without twins. `unequal`: before all else."""

    sides: list[Side]
    pairs: list[Pair]
    least: float

    @cached_property
    def works(self) -> list[str]:
        return list(dict.fromkeys(w for side in self.sides for w in side.runs))

    @cached_property
    def unequal(self) -> list[Fact]:
        safe = [Fact(s.what, s.texts) for s in self._syncs if _differ(s.texts)]
        return [*safe, *(_fact(key, of) for key, of in self._facts if _is_told(key, of))]

    @cached_property
    def _syncs(self) -> list[Syncs]:
        return [_syncs(self.sides, name) for name in self.works]

    @property
    def equal(self) -> list[tuple[str, str]]:
        """What each load was given, with its value."""
        return [
            (key.removeprefix("options."), of[0])
            for key, of in self._facts
            if key.startswith("options.") and not _differ(of)
        ]

    @cached_property
    def _facts(self) -> list[tuple[str, list[str]]]:
        each = [_settings(side) for side in self.sides]
        keys = dict.fromkeys(key for one in each for key in one)
        return [(key, [one.get(key, "") for one in each]) for key in keys]

    @property
    def times(self) -> list[Figure]:
        return self._figures(lambda row: bool(row.command))

    @property
    def costs(self) -> list[Figure]:
        return self._figures(lambda row: not row.command)

    def _figures(self, wanted: Any) -> list[Figure]:
        rows = dict.fromkeys(
            row for side in self.sides for of in side.of.values() for row in of if wanted(row)
        )
        order = {w: i for i, w in enumerate(self.works)}
        found = sorted(rows, key=lambda row: order[row.test])
        return [
            Figure(row.test, f"{row.command} {row.figure}".strip(),
                   tuple(_middle(side, row) for side in self.sides))
            for row in found
        ]  # fmt: skip

    def trips(self, rtts: Sequence[float]) -> list[Figure]:
        """Requests and round trips of each action of the first work, and its time at each of these
        round-trip times in ms."""
        first = self.works[0]
        of = [[costs.ways(run) for run in side.runs.get(first, [])] for side in self.sides]
        names = dict.fromkeys(name for runs in of for ways in runs for name in ways)
        out = []
        for name in names:
            ways = [[way for run in runs if (way := run.get(name))] for runs in of]
            out += [
                Figure(first, f"{name}: {what}", tuple(_count(w, key) for w in ways))
                for what, key in (("requests", "requests"), ("round trips", "trips"))
            ]
            out += [
                Figure(first, f"{name}: at {ms:g} ms", tuple(_over(w, ms) for w in ways))
                for ms in rtts
            ]
        return out

    @cached_property
    def _dry(self) -> list[str]:
        """Servers that sync data files and hand nothing to a disk, where others hand something."""
        written = {f.work: f.values for f in self.costs if f.what == costs.DISK}
        out = []
        for work, s in zip(self.works, self._syncs, strict=True):
            known = [v.value for v in written.get(work, ())]
            if any(known):
                synced = zip(self.sides, s.data, known, strict=True)
                out += [side.name for side, n, size in synced if n and size == 0]
        return list(dict.fromkeys(out))

    @property
    def _one_place(self) -> list[list[str]]:
        """Names of sides that are the same place of the same server."""
        out: list[list[str]] = []
        for p in self.pairs:
            if not p.same or p.b.twin:
                continue
            known = next((names for names in out if p.a.name in names), None)
            if known is None:
                out.append([p.a.name, p.b.name])
            elif p.b.name not in known:
                known.append(p.b.name)
        return out

    @property
    def said(self) -> list[str]:
        """Which sides are one place, and what is not equal of what makes data safe, in sentences;
        first of all."""
        out = [
            f"{', '.join(names)} are one place under {len(names)} names: a difference between them "
            "is not a difference between servers."
            for names in self._one_place
        ]
        if self._dry:
            out.append(
                f"Whether durability is equal is not known: {', '.join(self._dry)} made sync calls "
                "on data files and handed nothing to a disk: the files may be in memory, or other "
                "processes write them."
            )
        unknown = [
            side.name
            for i, side in enumerate(self.sides)
            if any(s.data[i] is None for s in self._syncs)
        ]
        if unknown:
            out.append(
                "Whether durability is equal is not known: no sync calls were counted of "
                f"{', '.join(unknown)}."
            )
        for s in self._syncs:
            each = ", ".join(
                f"{side.name} ({text})" for side, text in zip(self.sides, s.texts, strict=True)
            )
            if s.unequal:
                out.append(f"Durability is not equal: {s.what}: {each}.")
            elif not s.near:
                why = (
                    "the servers did not do as many actions of each kind (--alone ACTION measures "
                    "one kind)"
                    if any(len(shares) > 1 for shares in s.shares)
                    else "actions that had not ended may have made the difference"
                )
                out.append(f"Whether durability is equal is not known: {s.what}: {each}; {why}.")
        return out

    @property
    def equally_safe(self) -> bool:
        """As many sync calls on users' files were counted of all servers for the mean action; not
        of one, which has none to be compared with."""
        alike = all(s.near and None not in s.data for s in self._syncs)
        return len(self.sides) > 1 and alike and not self._dry

    @property
    def answers(self) -> list[Pair]:
        """The first server against each other, which is what was asked; of one: against itself."""
        first = self.sides[0].name
        return [p for p in self.pairs if p.a.name == first and not p.same] or self.pairs

    @property
    def remarks(self) -> list[str]:
        """What to know of the figures."""
        out = list(self._unmeasured())
        rows = [row for pair in self.pairs for row in pair.rows]
        if any(row.verdict == stats.TOO_FEW for row in rows):
            made = min(len(runs) for side in self.sides for runs in side.runs.values())
            judged = sum(row.result.change is not None for row in rows)
            n = design.more_pairs(judged, made)
            out.append(
                f"not enough runs: to show a difference in one of {len(rows)} rows, {n} runs of "
                f"each server are needed at least (--pairs {n})"
                if n
                else tails.CROWDED
                if judged > tails.MOST_ROWS
                else f"some rows are {tails.SCARCE}"
            )
        for side in self.sides:
            out += [f"{side.name}: {text}" for text in spoiled.warnings(side.all)]
            why = Counter(text for run in side.all for text in spoiled.of(run))
            out += [
                f"{side.name}: {text} in {n} of {len(side.all)} loads: no difference of their "
                "times is attributed to a server"
                for text, n in why.items()
            ]
        for pair in self.pairs:
            limit = versus.share(max(pair.least, design.DOUBT))
            out += [
                f"{pair.title}: only differences larger than {limit} are attributed to the server: "
                f"{text}"
                for text in pair.doubts
            ]
            out += [f"{pair.title}: {text}" for text in pair.zeros]
        return list(dict.fromkeys(out))

    def _unmeasured(self) -> Iterator[str]:
        for side in self.sides:
            known = costs.costs(side.first)
            missing = [name for name in costs.COSTS if name not in known]
            if missing:
                absent = side.first.absent
                why = absent.get("*") or next(iter(absent.values()), "its server was not watched")
                yield f"{side.name}: not measured: {', '.join(missing)}: {why}"

    def as_json(self, rtts: Sequence[float]) -> dict[str, Any]:
        def figure(f: Figure) -> dict[str, Any]:
            sides = zip(self.sides, f.values, strict=True)
            return {
                "load": f.work,
                "what": f.what,
                "sides": {s.name: asdict(v) | {"text": v.text} for s, v in sides},
            }

        return {
            "level": stats.LEVEL,
            "alpha": stats.ALPHA,
            "least": self.least,
            "sides": [
                {"name": side.name, "url": side.url, "server": side.first.server_name,
                 "runs": [run.name for run in side.all]}
                for side in self.sides
            ],
            "said": self.said,
            "unequal": [asdict(fact) for fact in self.unequal],
            "equal": dict(self.equal),
            "times": list(map(figure, self.times)),
            "costs": list(map(figure, self.costs)),
            "round_trips": list(map(figure, self.trips(rtts))),
            "pairs": [
                {"a": p.a.name, "b": p.b.name, "same": p.same, "said": p.said, "doubts": p.doubts,
                 "rows": [asdict(row) for row in p.rows]}
                for p in self.pairs
            ],
            "remarks": self.remarks,
        }  # fmt: skip


def _fact(key: str, of: Sequence[str]) -> Fact:
    group, _, name = key.partition(".")
    what = f"{name}: watched by" if group == "rungs" else name or key
    return Fact(what, tuple(text or "n/a" for text in of))


def _is_told(key: str, of: Sequence[str]) -> bool:
    """Whether it differs, and is no part of another fact: that a server was not watched is one. A
    setting is one of those servers only that have it, and of which it is known."""
    known = key.startswith(("rungs.", _SETTING))
    return _differ([text for text in of if text] if known else of)


def _differ(of: Sequence[object]) -> bool:
    return len(set(of)) > 1


def _settings(side: Side) -> dict[str, str]:
    """What its runs were made with, and on what; what else is known of the server."""
    run = side.first
    out = {
        "server": run.server_name,
        places.FILES: side.known.get(places.FILES, ("",))[0],
        "synced for": ", ".join(costs.synced_for(run)),
        ENCRYPTED: costs.encrypted(run),
        "names are looked up": _case(run),
        "processes counted": ", ".join(costs.processes(run)),
    }
    out |= {k: v for k, v in versus.settings(run).items() if k not in _WHICH}
    out |= {
        f"{_SETTING}{k}": text
        for k, (text, _) in side.known.items()
        if k.startswith(places.CONF_FILES)
    }
    known = {"host", "port", "volume", "name", "machine", places.FILES}
    if "vfs objects" in places.configured(run, places.SMB_CONF):
        known.add("modules")  # the same, as far as they are loaded
    out |= {
        f"server.{key}": text
        for key, text in run.server.items()
        if "." not in key and key not in known and not _PROCESSES.match(text)
    }
    return out | versus.work_amounts(run)


def _case(run: Run) -> str:
    """Whether a name is also found in another case: smbd then reads the whole folder for one that
    is not there, unless the file system does that itself."""
    known = run.case_folded
    if known is None or not costs.processes(run):
        return ""
    if _SOME.search(text := places.configured(run, places.SMB_CONF).get("case sensitive", "")):
        return f"not known: case sensitive = {text}"
    return "in any case" if known else "as the file system does"


def _syncs(sides: Sequence[Side], name: str) -> Syncs:
    alone = name.partition(": ")[2]
    data, texts = [], []
    made = [side.runs.get(name, ()) for side in sides]
    shares, slack = tuple(map(costs.shares, made)), tuple(map(costs.under_way, made))
    for side in sides:
        found = [of for run in side.runs.get(name, ()) if (of := costs.syncs(run))]
        on = dict.fromkeys(object_ for of in found for object_ in of)
        by = {x: statistics.median(of.get(x, 0.0) for of in found) for x in on}
        data.append(by.get(costs.DATA))
        shown = [
            f"{x} {_count_text(n)}"
            for x, n in by.items()
            if n >= durability.LEAST or x == costs.DATA
        ]
        texts.append(", ".join(shown) or "n/a")
    what = f"sync calls of {f'a {alone}' if alone else 'an action of the mix'}"
    return Syncs(what, tuple(data), tuple(texts), shares, slack)


def _count_text(n: float) -> str:
    """0.00 is none at all."""
    return f"{n:.2f}" if n >= 0.01 or n == 0 else f"{n:.1g}"


def _middle(side: Side, row: Row) -> Middle:
    found = [of[row] for of in side.of.values() if row in of]
    if not found:
        return Middle(None, row.unit)
    if any(value.few for value in found):  # no run has enough for it: all together may
        together = Histogram.merge([value.times for value in found if value.times])
        q = costs.TIMES[row.figure]
        enough = values.are_enough(together.n, q)
        return Middle(together.quantile(q) if enough else None, row.unit, n=len(found))
    return _of([value.amount for value in found], row.unit)


def _of(amounts: Sequence[float], unit: str, at_least: bool = False) -> Middle:
    if not amounts:
        return Middle(None, unit)
    low, high = stats.median_within(amounts) or (None, None)
    return Middle(statistics.median(amounts), unit, low, high, len(amounts), at_least)


def _count(ways: Sequence[costs.Way], key: str) -> Middle:
    found = [round(getattr(way, key), 2) for way in ways]
    return Middle(statistics.median(found), "1", n=len(found)) if found else Middle(None, "1")


def _over(ways: Sequence[costs.Way], ms: float) -> Middle:
    found = [ns for way in ways if (ns := way.at(ms * 1e6)) is not None]
    return _of(found, "ns", any(way.at_least and ms * 1e6 > (way.here_ns or 0) for way in ways))


def _pairs(sides: Sequence[Side]) -> list[tuple[Side, Side]]:
    """Any two that differ in one thing: in the server, or in what is varied; then each with
    itself."""
    alone = [side for side in sides if side.twin is None]
    two = [(a, b) for a, b in combinations(alone, 2) if a.load == b.load or a.server == b.server]
    return [*two, *((side.twin, side) for side in sides if side.twin)]


def judged(sides: Sequence[Side], least: float) -> Outcome:
    """All pairs and all works together."""
    of: versus.Times = {}
    for side in sides:
        of |= side.of
    pairs, tests = _pairs(sides), []
    doubts: list[list[str]] = []
    for a, b in pairs:
        doubts.append([])
        for name in a.runs:
            runs = a.runs[name], b.runs.get(name, [])
            if not runs[1]:
                continue
            found = design.doubts(*runs, design.Command(a.name, b.name, "--restart"))
            if b.twin is None and a.load == b.load:
                found += places.may_be_one((a.url, a.all), (b.url, b.all))
            doubts[-1] += found
            margins = Margins(least, design.DOUBT if found else None)
            tests.append(((a.key, b.key), (*runs, margins)))
    rows: dict[tuple[str, str], list[TimeRow]] = {}
    zeros: dict[tuple[str, str], list[str]] = {}
    for (key, (x, y, _)), made in zip(
        tests, versus.families([t for _, t in tests], of), strict=True
    ):
        if wrong := spoiled.doubts(x, y):
            # What an action costs the server is its own, if it did all of them.
            own = all(text.startswith(spoiled.GENERATOR) for text in wrong)
            made = spoiled.withheld(made, _is_time if own else _is_any)
        rows.setdefault(key, []).extend(made)
        zeros.setdefault(key, []).extend(versus.zeros(x, y, of))
    out = [
        Pair(a, b, _is_same(a, b), rows.get((a.key, b.key), []), tuple(dict.fromkeys(said)),
             tuple(zeros.get((a.key, b.key), ())), least, _is_itself(a, b))
        for (a, b), said in zip(pairs, doubts, strict=True)
    ]  # fmt: skip
    return Outcome([side for side in sides if side.twin is None], _from_itself(out), least)


def _is_same(a: Side, b: Side) -> bool:
    """Whether they are one place, measured twice in the same way."""
    return b.twin is a or (a.load == b.load and places.are_one((a.url, a.all), (b.url, b.all)))


def _is_itself(a: Side, b: Side) -> bool:
    return _is_same(a, b) and places.login(a.url) == places.login(b.url)


def _is_time(row: TimeRow) -> bool:
    return bool(row.command)


def _is_any(_: TimeRow) -> bool:
    return True


def _from_itself(pairs: Sequence[Pair]) -> list[Pair]:
    """A row in which a server differs from itself tells nothing of two servers."""
    off: dict[str, set[Row]] = {}
    for p in pairs:
        for key in (p.a.key, p.b.key) if p.itself else ():
            off.setdefault(key, set()).update(r.key for r in p.differing)

    def doubted(pair: Pair, row: TimeRow) -> TimeRow:
        both = off.get(pair.a.key, set()) | off.get(pair.b.key, set())
        return replace(row, verdict=_FROM_ITSELF) if row.key in both else row

    return [p if p.itself else replace(p, rows=[doubted(p, row) for row in p.rows]) for p in pairs]
