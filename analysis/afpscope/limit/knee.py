# SPDX-License-Identifier: GPL-2.0-or-later
"""The knee of a sweep: the highest load at which the server still keeps up, and how sure that is.

Where each value was measured several times, a curve through all steps says where it is, with an
interval of a stated level (fit.py). Else it is an estimate: each measured step either keeps up or
does not, noise may make a step of more load keep up where one of less did not, and the knee is the
cut that contradicts the fewest steps.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .. import show
from ..errors import Failure, wrong_use
from ..saved.crowd import MAX, MEAN, TROUBLE, Bound, Limit, Load
from ..saved.model import Phase
from ..saved.steps import Level, Step, Sweep, middle_bound
from ..words import ENGLISH, Words
from . import fit, latency
from .fit import At, Bend, Crossing, Fit

# Of what was offered (open loop), and of the most that was reached (closed loop).
KEPT_UP, GROWN = 0.90, 0.95
# Beyond what is less than this share of the most, of a closed loop, its rate falls again; so many
# loads at most.
FALLEN, LAST = 0.80, 3
# afpscope load judges its limits itself. By another one a step is judged by what load found wrong
# with it; in older runs, which do not say that: no more than TROUBLE of the actions failed or were
# dropped, and each client was served.
_UNITS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_QUANTILES = {"mean": MEAN, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
_QUANTILES |= {"max": MAX}
_SLO = re.compile(
    r"(?:(?P<of>.+)\.)?(?P<stat>p50|p90|p95|p99|p99\.9|mean|max)"
    r"<?=(?P<limit>\d+(?:\.\d+)?)(?P<unit>ns|us|µs|ms|s)"
)
_COUNT = re.compile(
    r"(?:(?P<of>.+)\.)?(?P<stat>rate>=\d+(?:\.\d+)?(?:/s)?|(?:failed|dropped)<=\d+(?:(?:\.\d+)?%)?)"
)
PROBE = "probe"


@dataclass(frozen=True)
class Slo:
    """A limit, or several: `parts`; then the other fields are of the first that is of a latency.

    `of`: None for all actions, PROBE, or the name of an action. `limit_ns` 0: of no latency.
    """

    of: str | None
    stat: str
    limit_ns: float
    text: str
    parts: tuple[Slo, ...] = ()

    @property
    def figure(self) -> str:
        """What it limits."""
        return f"{self.of}.{self.stat}" if self.of else self.stat

    def value(self, phase: Phase) -> Bound:
        """As load itself has it, or would have."""
        said = self._said(phase)
        source, name = (phase.probe, None) if self.of == PROBE else (phase.load, self.of)
        if said and said.value:
            return said.value
        if source is None or not self.limit_ns:
            return Bound(None)
        return source.bound(_QUANTILES[self.stat], name)

    def blur(self, phase: Phase) -> float:
        """How far that is known, as a logarithm: a quantile to a bucket of its histogram."""
        source, name = (phase.probe, None) if self.of == PROBE else (phase.load, self.of)
        if source is None or _QUANTILES.get(self.stat, MEAN) in (MEAN, MAX):
            return 0.0
        return math.log1p(2.0 ** -source.latency(name).bits)

    def kept(self, phase: Phase) -> bool | None:
        """None: it cannot be told."""
        found = [part._kept_alone(phase) for part in self.parts or (self,)]
        return False if False in found else None if None in found else True

    def why_not_told(self, phase: Phase) -> str:
        """Where kept() is None."""
        for part in self.parts or (self,):
            if part._kept_alone(phase) is None:
                said = part._said(phase)
                return said.why if said else part._judged(phase)[1]
        return ""

    def _said(self, phase: Phase) -> Limit | None:
        """What load itself said."""
        limits = phase.load.limits if phase.load else ()
        return next((x for x in limits if x.judged and self._is(x.text)), None)

    def _is(self, text: str) -> bool:
        """Whether that is the same limit, such as p99=50ms for p99<=50ms."""
        try:
            return replace(_one(text), text="") == replace(self, text="", parts=())
        except Failure:
            return False

    def _judged(self, phase: Phase) -> tuple[bool | None, str]:
        """A limit that load did not judge: whether it is kept, None: why that cannot be told."""
        load, of_probe = phase.load, self.of == PROBE
        if not self.limit_ns:
            return None, "not judged by this limit"
        if load is None:
            return False, ""
        if load.doubts is None:
            ns, most = self.value(phase).ns, TROUBLE * max(load.n, load.arrivals or 0)
            served = not (load.missing or load.lost or load.starved)
            return served and ns is not None and ns <= self.limit_ns and load.undone_n <= most, ""
        of = phase.probe if of_probe else load
        if of is None:
            return None, "there was no probe"
        q, name = _QUANTILES[self.stat], None if of_probe else self.of
        return latency.Case(of, q, name, self.limit_ns, load if of_probe else None).judged()

    def _kept_alone(self, phase: Phase) -> bool | None:
        said = self._said(phase)
        return said.kept if said else self._judged(phase)[0]


class KeptUp(Slo):
    """Whether the server kept up with a recording, as the replay itself says."""

    def value(self, phase: Phase) -> Bound:
        of = phase.replay.kept_up if phase.replay else None
        return (of.value if of else None) or Bound(None)

    def kept(self, phase: Phase) -> bool | None:
        of = phase.replay.kept_up if phase.replay else None
        return of.kept if of else None

    def why_not_told(self, phase: Phase) -> str:
        of = phase.replay.kept_up if phase.replay else None
        return of.why if of else "the times of the recording were not kept"


KEPT_UP_WITH = KeptUp(None, "p99", 0, "")


def _one(text: str) -> Slo:
    found = _SLO.fullmatch(text)
    if found and float(found["limit"]):
        limit_ns = float(found["limit"]) * _UNITS[found["unit"]]
        return Slo(found["of"], found["stat"], limit_ns, text)
    counted = _COUNT.fullmatch(text)
    if not counted:
        raise wrong_use(
            f"--slo {text}: it is [ACTION.|probe.]STATISTIC=TIME, such as p99=50ms or "
            "probe.p99<=20ms; the statistic is p50, p90, p95, p99, p99.9, mean or max, the "
            "time has a unit (ns, us, ms, s); or rate>=500, failed<=0.1% or dropped<=0"
        )
    return Slo(counted["of"], counted["stat"].removesuffix("/s"), 0, text)


def slo(text: str) -> Slo:
    """p99=50ms, save.p99<=1s, probe.p99=20ms, rate>=500; several with commas between them."""
    parts = tuple(_one(x) for x in text.split(","))
    if len(parts) == 1:
        return parts[0]
    first = next((x for x in parts if x.limit_ns), parts[0])
    return replace(first, text=text, parts=parts)


def verdict(of: Limit, w: Words = ENGLISH) -> str:
    """What load said of a limit: kept, broken, or that it cannot be told and why; and the time."""
    if of.kept is None:
        text = w.say("limit_untold", why=w.told(of.why))
    else:
        text = w["limit_kept" if of.kept else "limit_broken"]
    if not of.value or of.value.ns is None:
        return text
    time = show.time(of.value.ns, of.value.at_least)
    return w.say("limit_found", verdict=text, time=time)


def verdicts(load: Load | None, w: Words = ENGLISH) -> list[tuple[str, str, bool]]:
    """Each limit of a load, what load said of it, and whether that is other than kept."""
    return [(x.text, verdict(x, w), x.kept is not True) for x in (load.limits if load else ())]


# Where the cut is

Judged = tuple[float, bool]  # rank of the load, whether it kept up


@dataclass(frozen=True)
class Cut:
    """`below`: the highest load that keeps up, None if none does; `above`: the next, likewise.

    From `low` down all steps kept up, from `high` up none did.
    """

    below: float | None
    above: float | None
    low: float | None
    high: float | None


def cut(judged: Sequence[Judged]) -> Cut:
    ranks = sorted({rank for rank, _ in judged})
    kept = [sum(keeps for r, keeps in judged if r == rank) for rank in ranks]
    broken = [sum(not keeps for r, keeps in judged if r == rank) for rank in ranks]
    costs = [sum(broken[:i]) + sum(kept[i:]) for i in range(len(ranks) + 1)]
    at = costs.index(min(costs)) if costs else 0
    clean = next((i for i, n in enumerate(broken) if n), len(ranks))
    none = next((i + 1 for i in reversed(range(len(ranks))) if kept[i]), 0)
    return Cut(
        ranks[at - 1] if at else None,
        ranks[at] if at < len(ranks) else None,
        ranks[clean - 1] if clean else None,
        ranks[none] if none < len(ranks) else None,
    )


def between(a: float, b: float, whole: bool) -> float | None:
    """A load between two; None if there is none, or if they are as close as matters."""
    low, high = sorted((abs(a), abs(b)))
    if high <= low * 1.02:
        return None
    at = math.sqrt(low * high) if low > 0 and high > 2 * low else (low + high) / 2
    if whole:
        at = round(at)
        return math.copysign(at, b) if low < at < high else None
    digits = 2 - math.floor(math.log10(high - low))
    return math.copysign(round(at, digits), b)


def further(judged: Sequence[Judged], left: int, whole: bool) -> float | None:
    """The load to measure next, with `left` steps to go. None: nothing more can be learnt.

    Bisects; the last two steps measure both sides of the cut again.
    """
    found = cut(judged)
    ends = [rank for rank in (found.below, found.above) if rank is not None]
    if not ends or left <= 0:
        return None
    if len(ends) == 2 and left > 2 and (at := between(ends[0], ends[1], whole)) is not None:
        return at
    counts = {rank: sum(r == rank for r, _ in judged) for rank in ends}
    rank = min(ends, key=lambda rank: counts[rank])
    return rank if counts[rank] < 2 or found.low != found.below else None


# Of a sweep


@dataclass(frozen=True)
class Knee:
    """`at`: the measured value of the knee, None where there is none; `text`: the same for people.

    `low`, `high`: the interval of that `level` in which it is; None: open on that side. `level`
    None: an estimate, between the steps that contradict each other. `below`, `above`: the steps
    on both sides, for asking what is used up. `fit`: the curve; None: there is none.
    """

    rule: str
    at: str | None
    low: str | None
    high: str | None
    text: str
    below: Step | None
    above: Step | None
    level: float | None = None
    fit: Fit | None = None


def judged(sweep: Sweep, limit: Slo | None) -> tuple[str, list[Judged]]:
    """By which rule the steps are judged, and how each did."""
    steps = [(sweep.rank(s.size), s) for s in sweep.measured]
    if limit:
        found = [(rank, limit.kept(s.phase) if s.phase else False) for rank, s in steps]
        return "slo", [(rank, kept) for rank, kept in found if kept is not None]
    if sweep.open_loop:
        return "rate", [(rank, _kept_up(s.load)) for rank, s in steps if s.load]
    return "growth", _growing(sweep)


def _kept_up(load: Load) -> bool:
    return load.rate_per_s is None or load.achieved >= KEPT_UP * load.rate_per_s


def _growing(sweep: Sweep) -> list[Judged]:
    """Whether the rate still grows after a step; after the last one nobody knows."""
    levels = sweep.levels
    of = _bend(sweep)
    if of and of.at is None:
        grow = [of.growth()[1] >= -math.log(GROWN)] * len(levels)
    elif of and of.at is not None:
        end = of.at + math.log(GROWN) / max(of.steepness, 1e-9) - 1e-9
        grow = [_log(sweep, x.value) < end for x in levels]
    else:
        rates = [x.achieved for x in levels]
        grow = [
            rate < GROWN * statistics.median(rates[i + 1 :] or [0]) for i, rate in enumerate(rates)
        ]
    grow[-1:] = [False] * bool(levels)
    return [
        (sweep.rank(x.value), still) for x, still in zip(levels, grow, strict=True) for _ in x.loads
    ]


def _is_unsure(sweep: Sweep) -> bool:
    """Whether the rate grows, and does not, may both be."""
    of = _bend(sweep)
    if not of or of.at is not None:
        return False
    low, high = of.growth()
    return low <= 0 and high >= -math.log(GROWN)


# By a curve


def _log(sweep: Sweep, value: float) -> float:
    """The logarithm of a load, more load being more."""
    return math.log(value) * sweep.rank(1)


def _bend(sweep: Sweep) -> Bend | None:
    """Of a closed loop's rate, without the most load where it falls again."""
    levels = [x for x in sweep.levels if x.value > 0 and all(y.achieved > 0 for y in x.loads)]
    most = max((x.achieved for x in levels), default=0.0)
    while levels and levels[-1].achieved < FALLEN * most:
        levels.pop()
    if len(levels) < fit.LEAST_LOADS or len(levels) < len(sweep.levels) - LAST:
        return None
    return Bend(tuple(_at(sweep, x, [y.achieved for y in x.loads]) for x in levels))


def _at(sweep: Sweep, level: Level, figures: Sequence[float]) -> At:
    return At(_log(sweep, level.value), tuple(map(math.log, figures)))


def _kept_rate(sweep: Sweep) -> Bend | None:
    """Of an open loop: all that is offered is done, up to what the server can."""
    levels = [x for x in sweep.levels if x.value > 0 and all(y.achieved > 0 for y in x.loads)]
    if sweep.option != "rate" or len(levels) < 2 or len(levels) < len(sweep.levels):
        return None
    of = tuple(_at(sweep, x, [y.achieved for y in x.loads]) for x in levels)
    return Bend(of, 1.0, -math.log(KEPT_UP))


def _crossing(sweep: Sweep, limit: Slo) -> Crossing | None:
    """Of a time that alone says whether a step keeps its limit."""
    of = []
    for level in sweep.levels:
        values = [limit.value(p) for p in level.phases]
        for p, x in zip(level.phases, values, strict=True):
            alone = x.ns and not x.at_least and limit.kept(p) is (x.ns <= limit.limit_ns)
            times = sum(part.limit_ns > 0 for part in limit.parts)
            if times > 1 or not limit.limit_ns or not alone or level.value <= 0:
                return None
        of.append(_at(sweep, level, [x.ns for x in values if x.ns]))
    if len(of) < 2:
        return None
    blur = max(limit.blur(p) for level in sweep.levels for p in level.phases)
    return Crossing(tuple(of), math.log(limit.limit_ns), blur)


def _curve(sweep: Sweep, limit: Slo | None, rule: str) -> Fit | None:
    if limit:
        return _crossing(sweep, limit)
    return _kept_rate(sweep) if rule == "rate" else _bend(sweep)


@dataclass(frozen=True)
class Estimate:
    """The load of the knee by one sweep alone, as well as it can be told, and by which rule.

    `at` None: there is no knee among what was measured. `blur`: the logarithm of the steps around
    it, where it is only known to be between these.
    """

    rule: str
    at: float | None
    blur: float = 0.0


def estimate(sweep: Sweep, limit: Slo | None) -> Estimate:
    sweep = sweep.for_rule(limit is not None)
    rule, all_of = judged(sweep, limit)
    curve = _curve(sweep, limit, rule)
    if curve:
        return Estimate(rule, None if curve.at is None else math.exp(curve.at * sweep.rank(1)))
    where = cut(all_of)
    if where.below is None or where.above is None:
        return Estimate(rule, None)
    if rule == "growth" and where.above == max(r for r, _ in all_of):
        return Estimate(rule, None)
    below, above = abs(where.below), abs(where.above)
    if not below or not above:  # nothing is so many times as much as 0
        return Estimate(rule, None)
    blur = abs(math.log(above / below))
    return Estimate(rule, above if rule == "growth" else math.sqrt(below * above), blur)


def _fitted(sweep: Sweep, limit: Slo | None, rule: str) -> Fit | None:
    """None: there is no curve, or no interval."""
    made = _curve(sweep, limit, rule)
    return made if made and made.at is not None and made.within() else None


def _value(sweep: Sweep, x: float | None) -> str | None:
    """The load of such a logarithm."""
    if x is None:
        return None
    value = math.exp(x * sweep.rank(1))
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def find(sweep: Sweep, limit: Slo | None, w: Words = ENGLISH) -> Knee:
    sweep = sweep.for_rule(limit is not None)
    rule, all_of = judged(sweep, limit)
    if rule == "growth" and _is_unsure(sweep):
        return Knee(rule, None, None, None, w["knee_noisy"], None, None)
    of_steps = all_of
    curve = _fitted(sweep, limit, rule)
    if curve and curve.at is not None and rule != "growth":
        all_of = [(r, _log(sweep, abs(r)) <= curve.at + 1e-9) for r, _ in all_of]
    levels = {sweep.rank(x.value): x for x in sweep.levels}
    where = cut(all_of)
    below, above, low, high = (
        levels[rank] if rank is not None else None
        for rank in (where.below, where.above, where.low, where.high)
    )
    at = above if rule == "growth" else below
    if rule == "growth" and above and above is max(levels.items())[1]:
        at = above = None  # the rate may grow further
    ends = (low.text if low else None, high.text if high and (rule != "growth" or at) else None)
    within = curve.within() if curve and at else None
    if within:
        ends = (_value(sweep, within[0]), _value(sweep, within[1]))
    return Knee(
        rule,
        at.text if at else None,
        *ends,
        _told(sweep, limit, _text(sweep, limit, (below, above), of_steps, w), w)
        if rule != "growth"
        else _growth_text(sweep, below, at, w),
        below.middle_step if below else None,
        above.middle_step if above else None,
        fit.LEVEL if within else None,
        curve if within else None,
    )


def _name(sweep: Sweep, value: str, w: Words) -> str:
    if sweep.option == "clients":
        return w["one_client"] if value == "1" else w.say("n_clients", n=value)
    return f"{sweep.option} {value}"


def _counted(level: Level, limit: Slo | None, w: Words) -> str:
    """In how many of its steps the SLO was kept, and the figure itself."""
    if not limit:
        return f"{show.rate(level.achieved)}/s"
    phases = level.phases
    told = [kept for p in phases if (kept := limit.kept(p)) is not None]
    value = middle_bound(limit.value(p) for p in phases)
    time = show.time(value.ns, value.at_least)
    text = w.say("knee_kept", time=time, kept=sum(told), n=len(told))
    if any(limit.kept(p) is False and (limit.value(p).ns or 0) <= limit.limit_ns for p in phases):
        return w.say("knee_trouble", text=text)
    return text


def _told(sweep: Sweep, limit: Slo | None, text: str, w: Words) -> str:
    """The text, with the values of which it cannot be told whether the limit was kept."""
    if not limit:
        return text
    unsure = [x for x in sweep.levels if any(limit.kept(p) is None for p in x.phases)]
    if not unsure:
        return text
    why = next(limit.why_not_told(p) for p in unsure[0].phases if limit.kept(p) is None)
    values = ", ".join(x.text for x in unsure)
    return w.say("knee_untold", text=text, values=values, why=w.told(why))


def _failed(sweep: Sweep, wanted: Callable[[float], bool]) -> str:
    """The values, by their ranks, at which steps failed."""
    return ", ".join(dict.fromkeys(s.value for s in sweep.failed if wanted(sweep.rank(s.size))))


def _growth_text(sweep: Sweep, below: Level | None, at: Level | None, w: Words) -> str:
    if at:
        of_at = _counted(at, None, w)
        return w.say("knee_grown", at=_name(sweep, at.text, w), of_at=of_at, share=1 - GROWN)
    if not below:
        return w["knee_single" if sweep.levels else "knee_none"]
    last = sweep.levels[-1]
    name = _name(sweep, last.text, w)
    if failed := _failed(sweep, lambda rank: rank >= sweep.rank(last.value)):
        return w.say("knee_growing_failed", at=name, failed=failed)
    return w.say("knee_growing", at=name)


def _exceptions(sweep: Sweep, below: Level | None, of: Sequence[Judged]) -> list[str]:
    """Values up to that one at which most steps did not keep what they were to."""
    kept: dict[float, list[bool]] = defaultdict(list)
    for rank, is_kept in of:
        kept[rank].append(is_kept)
    most = sweep.rank(below.value) if below else -math.inf
    ranks = ((sweep.rank(x.value), x) for x in sweep.levels)
    return [
        x.text for rank, x in ranks if rank <= most and rank in kept
        and 2 * sum(kept[rank]) < len(kept[rank])
    ]  # fmt: skip


def _text(
    sweep: Sweep,
    limit: Slo | None,
    levels: tuple[Level | None, Level | None],
    of: Sequence[Judged],
    w: Words,
) -> str:
    below, above = levels
    if not below and not above:
        return w["knee_unsure" if sweep.levels else "knee_none"]
    told = {rank for rank, _ in of}
    first = next(x for x in sweep.levels if sweep.rank(x.value) in told)
    above = above if below else first
    known = {"below": below, "above": above}
    values = {key: _name(sweep, x.text, w) for key, x in known.items() if x}
    values |= {f"of_{key}": _counted(x, limit, w) for key, x in known.items() if x}
    what = w["knee_replay"] if isinstance(limit, KeptUp) else None
    what = what or w.say("knee_slo", slo=limit.text) if limit else w.say("knee_rate", share=KEPT_UP)
    but = ", ".join(_exceptions(sweep, below, of))
    end = sweep.rank((below or first).value)
    failed = _failed(sweep, lambda rank: rank >= end if below else rank < end)
    if below and above:
        which = "between"
    elif below:
        unknown = "beyond" if below.value != sweep.levels[-1].value else ""
        which = "failed" if failed else unknown or ("mixed" if but else "higher")
    else:
        which = "lowest" if failed or first.value != sweep.levels[0].value else "lower"
    text = w.say(f"knee_{which}", what=what, but=but, failed=failed, **values)
    return w.say("knee_except", text=text, but=but) if but and which != "mixed" else text
