# SPDX-License-Identifier: GPL-2.0-or-later
"""The knee of a sweep: found where it is, with an interval as wide as what is not known."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from afpscope import Failure
from afpscope.limit import fit, knee, outcome
from afpscope.limit.knee import Cut, cut
from sweeping import Made, each, said, sweep

VALUES = (1, 2, 5, 10, 20, 50, 100)


@pytest.mark.parametrize(
    ("text", "of", "stat", "limit_ns"),
    [
        ("p99=50ms", None, "p99", 50e6),
        ("p99.9=1.5s", None, "p99.9", 1.5e9),
        ("save.p99.9=20us", "save", "p99.9", 20e3),
        ("probe.mean=3ms", "probe", "mean", 3e6),
        ("read 4 KiB.max=7ns", "read 4 KiB", "max", 7.0),
    ],
)
def test_an_slo_is_read_as_load_reads_it(text: str, of: str, stat: str, limit_ns: float) -> None:
    it = knee.slo(text)
    assert (it.of, it.stat, it.limit_ns) == (of, stat, pytest.approx(limit_ns))


@pytest.mark.parametrize("text", ["p99", "p98=1ms", "p99=50", "p99=0ms", "=1ms", "p99=-1ms", "1ms"])
def test_what_is_no_slo_is_refused(text: str) -> None:
    with pytest.raises(Failure) as failed:
        knee.slo(text)
    assert failed.value.code == 2 and "p99=50ms" in str(failed.value)


def test_the_cut_contradicts_the_fewest_steps() -> None:
    clean = [(v, v <= 20) for v in VALUES]
    assert cut(clean) == Cut(20, 50, 20, 50)
    assert cut([(v, True) for v in VALUES]) == Cut(100, None, 100, None)
    assert cut([(v, False) for v in VALUES]) == Cut(None, 1, None, 1)
    assert cut([]) == Cut(None, None, None, None)
    # One step of 5 that breaks, and one of 50 that keeps, are noise: the interval says so.
    noisy = [*clean, (20, True), (5, False), (50, True), (50, False), (5, True), (50, False)]
    assert cut(noisy) == Cut(20, 50, 2, 100)


def test_the_interval_has_the_true_knee_however_noisy_the_steps_are() -> None:
    """A step errs the more often, the closer it is to the knee."""
    inside = wrong = 0
    for seed in range(300):
        rng = random.Random(seed)
        judged = [
            (v, (v <= 20) != (rng.random() < 0.4 * min(v, 20) / max(v, 20)))
            for v in VALUES
            for _ in range(3)
        ]
        found = cut(judged)
        low = found.low or 0
        inside += low <= 20 < (found.high or 1000)
        wrong += found.below not in (10, 20, 50)
    assert inside == 300 or inside > 280, inside
    assert wrong < 30


def test_refining_bisects_and_then_measures_both_sides_again() -> None:
    true, steps = 63.0, []
    judged = [(v, v <= true) for v in VALUES]
    for left in range(8, 0, -1):
        at = knee.further(judged, left, True)
        if at is None:
            break
        steps.append(at)
        judged.append((at, at <= true))
    assert steps[:5] == [75, 62, 68, 65, 64] or steps[0] == 75
    found = cut(judged)
    assert found.below is not None and found.above is not None
    assert found.below <= true < found.above <= found.below * 1.05
    counted = [rank for rank, _ in judged]
    assert counted.count(found.below) == counted.count(found.above) == 2


def test_refining_ends_where_nothing_more_can_be_learnt() -> None:
    both = [(1, True), (2, False)] * 2
    assert knee.further(both, 4, True) is None
    assert knee.further([(1, True), (2, False)], 4, True) in (1, 2)
    assert knee.further([(1, True), (2, False)], 4, False) == pytest.approx(1.5)
    assert knee.further([(v, True) for v in VALUES], 4, True) == 100
    assert knee.further([(v, False) for v in VALUES], 4, True) == 1
    assert knee.further([], 4, True) is None and knee.further(both, 0, True) is None
    # The load of --think grows as its value falls: ranks are negative.
    assert knee.further([(-2.0, True), (-1.0, False)], 4, False) == pytest.approx(-1.5)


def queue(clients: float) -> Made:
    """A server that serves 40 at a time: beyond them they wait for each other."""
    waits = max(1.0, clients / 40)
    return Made(int(clients), 1000 * clients / waits / 10, p50_ms=waits, p99_ms=10 * waits)


def test_the_highest_step_that_keeps_the_slo(tmp_path: Path) -> None:
    made = sweep(tmp_path / "s", each((1, 10, 40, 50, 100), queue), slo="p99=11ms")
    found = knee.find(made, knee.slo("p99=11ms"))
    assert (found.at, found.low, found.high) == ("40", "40", "50")
    assert "p99=11ms is kept up to 40 clients" in found.text and "no longer at 50" in found.text
    assert found.below and found.below.folder == "003-40"
    assert found.above and found.above.folder == "004-50"


def test_no_knee_among_the_steps_is_said(tmp_path: Path) -> None:
    made = sweep(tmp_path / "s", each((1, 10, 20), queue))
    above = knee.find(made, knee.slo("p99=11ms"))
    assert (above.at, above.low, above.high) == ("20", "20", None) and "is higher" in above.text
    below = knee.find(made, knee.slo("p99=1ms"))
    assert (below.at, below.low, below.high) == (None, None, "1")
    assert "reliably at no value" in below.text and "1 client, the least load" in below.text
    none = knee.find(sweep(tmp_path / "n", [("1", None)]), knee.slo("p99=1ms"))
    assert none.at is None and "no step was measured" in none.text


def test_steps_that_failed_beyond_the_knee_are_no_higher_knee(tmp_path: Path) -> None:
    """The server collapsed at 50, and nothing was measured there."""
    points: list[tuple[str, Made | None]] = [("1", Made(1)), ("20", Made(20)), ("50", None)]
    made = sweep(tmp_path / "s", points)
    text = knee.find(made, knee.slo("p99=50ms")).text
    assert "p99=50ms is kept up to 20 clients" in text and "steps at 50 failed" in text
    assert "higher" not in text and "every" not in text
    grows = [(f"{v}", Made(v, 100.0 * v)) for v in (1, 5, 20)]
    text = knee.find(sweep(tmp_path / "g", [*grows, ("50", None)]), None).text
    assert "still grows at 20 clients; steps at 50 failed" in text
    # One of three steps at the most load was measured.
    some = [("1", Made(1)), ("20", Made(20)), ("20", None)]
    assert "steps at 20 failed" in knee.find(sweep(tmp_path / "o", some), knee.slo("p99=50ms")).text
    # Open loop; and none of the least load.
    rates = [("10", Made(rate=10, offered=10)), ("20", Made(rate=20, offered=20)), ("50", None)]
    text = knee.find(sweep(tmp_path / "r", rates, option="rate"), None).text
    assert "steps at 50 failed" in text and "higher" not in text
    low = [("1", None), ("5", Made(5))]
    text = knee.find(sweep(tmp_path / "l", low), knee.slo("p99=1ms")).text
    assert "at none of the values of which that can be told" in text


def test_values_of_which_it_cannot_be_told_are_no_answer(tmp_path: Path) -> None:
    def text(*kept: bool | None) -> str:
        points = [
            (f"{v}", Made(v, slo=[said("p99<=50ms", k, "a thread was busy")]))
            for v, k in zip((1, 5, 10, 20), kept, strict=False)
        ]
        name = "".join(str(k)[0] for k in kept)
        return knee.find(sweep(tmp_path / name, points), knee.slo("p99<=50ms")).text

    said_ = text(True, True, None, None)
    assert "is kept up to 5 clients" in said_ and "beyond that is not known" in said_
    assert "higher" not in said_ and "cannot be told at 10, 20: a thread" in said_
    said_ = text(None, False, False)
    assert "at 5 clients, the least load of them" in said_ and "kept in 0 of 1" in said_
    assert "the knee is higher" in text(True, None, True, True)


def test_steps_of_which_it_cannot_be_told_are_not_counted_as_broken(tmp_path: Path) -> None:
    points = [("1", Made(1, slo=[said("p99<=50ms", kept, "busy")])) for kept in (True, None, None)]
    points += [("2", Made(2, slo=[said("p99<=50ms", False)]))]
    text = knee.find(sweep(tmp_path / "s", points), knee.slo("p99<=50ms")).text
    assert "1 client (5.01 ms, kept in 1 of 1)" in text


def test_the_slo_of_the_probe_is_of_the_probe(tmp_path: Path) -> None:
    points = each((1, 2, 4), lambda v: Made(int(v), p99_ms=1000, probe_ms=v))
    found = knee.find(sweep(tmp_path / "s", points), knee.slo("probe.p99=2500us"))
    assert (found.at, found.high) == ("2", "4")


@pytest.mark.parametrize(
    "trouble",
    [
        {"missing": 1},
        {"lost": 1},
        {"starved": 1},
        {"failed": 200},
        {"offered": 1100, "no_room": 200},
    ],
)
def test_a_step_with_clients_that_could_not_work_keeps_no_slo(
    tmp_path: Path, trouble: dict[str, int]
) -> None:
    points = [("1", Made(1)), ("2", Made(2, **trouble))]  # type: ignore[arg-type]
    found = knee.find(sweep(tmp_path / "s", points), knee.slo("p99=50ms"))
    assert (found.at, found.high) == ("1", "2")
    assert "2 clients (5.01 ms, kept in 0 of 1: clients could not work" in found.text


def test_an_open_loop_without_slo_is_judged_by_its_rate(tmp_path: Path) -> None:
    points = each((100, 500, 1000, 2000), lambda v: Made(rate=min(v, 950.0), offered=v))
    found = knee.find(sweep(tmp_path / "s", points, option="rate"), None)
    assert (found.rule, found.at, found.low, found.high) == ("rate", "1000", "1000", "2000")


def test_a_closed_loop_without_slo_ends_where_the_rate_stops_growing(tmp_path: Path) -> None:
    def made(v: float) -> Made:
        """Grows up to 20 clients, and falls again beyond 50."""
        return Made(int(v), rate=100 * min(v, 20.0) * (0.5 if v > 50 else 1.0))

    found = knee.find(sweep(tmp_path / "s", each((1, 5, 20, 50, 100), made)), None)
    assert (found.rule, found.at, found.low, found.high) == ("growth", "20", "5", "20")
    assert "stops growing at 20 clients" in found.text
    still = knee.find(sweep(tmp_path / "t", each((1, 5, 20), made)), None)
    assert still.at is None and still.high is None and "still grows at 20 clients" in still.text


def test_less_think_time_is_more_load(tmp_path: Path) -> None:
    points = each((2, 1, 0.5), lambda v: Made(p99_ms=10 / v))
    made = sweep(tmp_path / "s", points, option="think")
    found = knee.find(made, knee.slo("p99=11ms"))
    assert (found.at, found.low, found.high) == ("1", "1", "0.5")


def test_what_load_said_of_a_limit_counts_whatever_the_figure_is(tmp_path: Path) -> None:
    """p99 is 5 ms in each of them."""
    points = [
        ("1", Made(1, slo=[said("p99<=50ms", True)])),
        ("2", Made(2, slo=[said("p99<=50ms", False, "9 of 10 actions were dropped")])),
        ("4", Made(4, slo=[said("p99<=50ms", None, "a thread was busy")])),
    ]
    found = knee.find(sweep(tmp_path / "s", points), knee.slo("p99<=50ms"))
    assert (found.at, found.low, found.high) == ("1", "1", "2")
    assert "kept in 0 of 1: clients could not work" in found.text
    assert "cannot be told at 4: a thread was busy" in found.text


def test_several_limits_are_kept_if_each_is(tmp_path: Path) -> None:
    text = "rate>=5,p99<=50ms,failed<=0.1%,dropped<=0"
    names = text.split(",")
    for at in range(4):
        for bad in (False, None):
            slo = [said(name, bad if i == at else True) for i, name in enumerate(names)]
            points = [("1", Made(1, slo=[said(x, True) for x in names])), ("2", Made(2, slo=slo))]
            made = sweep(tmp_path / f"{at}{bad}", points)
            found = knee.find(made, knee.slo(text))
            assert (found.at, found.high) == ("1", "2" if bad is False else None)
    limit = knee.slo(text)
    assert (limit.stat, limit.limit_ns, limit.text) == ("p99", 50e6, text)


@pytest.mark.parametrize(
    ("doubt", "p99_ms", "kept"),
    [
        (None, 5, True),
        (None, 500, False),
        ("failed", 5, None),
        ("failed", 500, False),
        ("saturated", 5, None),
        ("saturated", 500, None),
        ("paused", 500, None),
    ],
)
def test_another_limit_is_judged_by_what_load_found_wrong(
    tmp_path: Path, doubt: str | None, p99_ms: float, kept: bool | None
) -> None:
    doubts = [{"what": doubt, "text": "it was"}] if doubt else []
    made = sweep(tmp_path / "s", [("1", Made(1, p99_ms=p99_ms, doubts=doubts))])
    phase = made.levels[0].phases[0]
    assert knee.slo("p99=50ms").kept(phase) is kept
    found = knee.find(made, knee.slo("p99=50ms"))
    assert ("cannot be told at 1: it was" in found.text) == (kept is None)


HUNGRY = [{"what": "starved", "text": "1 of 10 clients completed no action"}]
LOST = [{"what": "lost", "text": "there was no session for 8.0 s"}]
GONE = [{"what": "lost", "text": "3 of 20 sessions were lost"}]
STOOD = [*GONE, {"what": "paused", "text": "the load generator did not run for 180.0 s"}]


@pytest.mark.parametrize(
    ("it", "text", "kept", "why"),
    [
        (Made(outlasting=(9000.0, 1000), doubts=[]), "p99=50ms", None, "how long 1000 actions"),
        (Made(outlasting=(9000.0, 9), doubts=[]), "p99=50ms", True, ""),
        (Made(outlasting=(40.0, 1000), doubts=[]), "p99=50ms", True, ""),
        (Made(outlasting=(9000.0, 1), doubts=[]), "max=50ms", None, "how long 1 action took"),
        (Made(doubts=[], probe_doubts=LOST), "probe.p99=50ms", False, ""),
        (Made(doubts=[], probe_doubts=[]), "probe.p99=50ms", True, ""),
        (Made(doubts=[], probe_doubts=[]), "probe.p99=1ms", False, ""),
        (Made(lost=3, doubts=GONE, probe_doubts=[]), "probe.p99=50ms", None, "sessions were lost"),
        (Made(p99_ms=105, late=500, late_ms=100, doubts=[]), "p99=50ms", None, "began 500 actions"),
        (Made(p99_ms=105, late=5, late_ms=100, doubts=[]), "p99=50ms", False, ""),
        (Made(p99_ms=500, late=500, late_ms=100, doubts=[]), "p99=50ms", False, ""),
        (Made(p50_ms=50, p99_ms=60, doubts=[]), "p50=50ms", None, "only known to within 1.6 %"),
        (Made(p99_ms=50, doubts=[]), "p99=50ms", True, ""),
        (Made(p50_ms=60, p99_ms=60, doubts=[]), "mean=50ms", False, ""),
        (Made(doubts=[], undone=((1.0, 10),)), "mean=50ms", None, "how long 10 actions took"),
        (Made(starved=1, doubts=[]), "p99=50ms", False, ""),
        (Made(starved=1, doubts=HUNGRY), "p99=20s", None, "1 of 10 clients completed no action"),
        (Made(lost=3, doubts=GONE), "p99=50ms", False, ""),
        (Made(lost=3, doubts=STOOD, paused_s=180.0), "p99=50ms", None, "did not run for 180.0 s"),
        (Made(lost=3, doubts=STOOD, paused_s=2.0), "p99=50ms", False, ""),
        (Made(lost=3, doubts=STOOD, paused_s=180.0, longest_s=2.0), "p99=50ms", False, ""),
        (Made(doubts=[]), "save.p99=50ms", None, "no such action was complete"),
    ],
)
def test_another_limit_is_judged_as_load_judges(
    tmp_path: Path, it: Made, text: str, kept: bool | None, why: str
) -> None:
    """As the unit tests of user/drive/slo.c have it."""
    made = sweep(tmp_path / "s", [("1", it)])
    (phase,) = made.levels[0].phases
    assert knee.slo(text).kept(phase) is kept
    assert why in knee.slo(text).why_not_told(phase)


def test_a_time_that_is_only_known_to_be_at_least_so_long_keeps_nothing(tmp_path: Path) -> None:
    """1,000 actions took up to 5 ms; 100 still waited at the end, up to 20 or 90 ms then."""
    for undone, kept, shown in ((20, None, ">= 19.9 ms"), (90, False, ">= 89.1 ms")):
        it = Made(1, rate=100, doubts=[], undone=((1, 20), (undone, 80)))
        made = sweep(tmp_path / f"{undone}", [("1", it)])
        phase = made.levels[0].phases[0]
        assert phase.load
        assert knee.slo("p50<=50ms").kept(phase) is True
        assert not phase.load.bound(0.5).at_least and not phase.load.bound(0.5, "op").at_least
        for text in ("p99<=50ms", "max<=50ms"):
            assert knee.slo(text).kept(phase) is kept
        # of one kind it may be that none of them was of it
        assert knee.slo("op.p99<=50ms").kept(phase) is None
        assert phase.load.bound(0.99, "op").ns == pytest.approx(5e6, rel=0.02)
        found = outcome.of(made, "p99<=50ms")
        assert (shown in found.knee.text) == (kept is False)
        assert f"  {shown.replace(' ', '')}" in outcome.screen(found)
        assert "not known" in found.knee.text or kept is False


def test_the_verdict_of_load_is_found_however_its_limit_is_written(tmp_path: Path) -> None:
    slo = [said("p99<=50ms", False) | {"value_ns": 90_000_000, "value_at_least": True}]
    made = sweep(tmp_path / "s", [("1", Made(1, slo=slo, doubts=[]))])
    phase = made.levels[0].phases[0]
    for text in ("p99=50ms", "p99<=50ms", "p99<=0.05s"):
        assert knee.slo(text).kept(phase) is False
        assert ">= 90.0 ms" in knee.find(made, knee.slo(text)).text
    assert knee.slo("p99<=51ms").kept(phase) is True


def test_what_was_never_judged_cannot_be_told(tmp_path: Path) -> None:
    """An older run, and a limit that only load can judge; its own "kept" was no verdict."""
    old = {"text": "rate>=5", "limit_ns": 1, "value_ns": 1, "kept": True}
    made = sweep(tmp_path / "s", [("1", Made(1, slo=[old]))])
    assert knee.slo("rate>=5").kept(made.levels[0].phases[0]) is None
    found = knee.find(made, knee.slo("rate>=5"))
    assert found.at is None and "of no step it can be told" in found.text
    assert "not judged by this limit" in found.text


@pytest.mark.parametrize(
    ("rates", "says"),
    [
        ([(1000.0,)] * 6, "the rate stops growing at 1 client "),
        ([(1000.0, 100.0)] * 6, "whether the rate grows cannot be told"),
        ([(100.0 * k,) for k in (1, 2, 3, 5, 8, 13)], "the rate still grows at 13 clients"),
        ([(1000.0,)], "one value was measured"),
    ],
)
def test_a_rate_that_does_not_grow_is_not_said_to(
    tmp_path: Path, rates: list[tuple[float, ...]], says: str
) -> None:
    clients = (1, 2, 3, 5, 8, 13)
    points = [(str(n), Made(clients=n, rate=rate)) for n, of in zip(clients, rates, strict=False)
              for rate in of]  # fmt: skip
    found = knee.find(sweep(tmp_path / "s", points), None)
    assert found.text.startswith(says)
    assert (found.at is not None) == (says[:14] == "the rate stops")


@pytest.mark.parametrize(("slo", "wide"), [("p99<=50ms", True), ("mean<=10ms", False)])
def test_steps_of_one_bucket_are_no_knee_without_a_doubt(
    tmp_path: Path, slo: str, wide: bool
) -> None:
    """A quantile is known to a bucket: that steps have the same one does not say where in it."""
    made = each([1, 2, 4, 8, 16, 32] * 3, lambda v: Made(clients=int(v), p50_ms=v, p99_ms=4 * v))
    found = knee.find(sweep(tmp_path / "s", made, slo=slo), knee.slo(slo))
    assert found.fit and found.fit.at is not None and found.level == fit.LEVEL
    low, high = found.fit.within() or (None, None)
    assert low is not None and high is not None
    assert (high - low >= 0.99 * math.log1p(1 / 64)) is wide, (low, high)
    assert low - 1e-3 <= found.fit.at <= high + 1e-3


def test_a_step_that_broke_the_limit_below_the_knee_is_named(tmp_path: Path) -> None:
    """Not "kept at every value"."""

    def text(*p99_ms: float) -> str:
        points = [(str(n), Made(clients=n, p99_ms=ms)) for n, ms in enumerate(p99_ms, 1)]
        slo = knee.slo("p99=50ms")
        return knee.find(sweep(tmp_path / str(len(p99_ms)), points, slo="p99=50ms"), slo).text

    said = text(5, 5, 500, 5, 5, 5)
    assert "not at 3: where the knee is cannot be told" in said and "every" not in said
    said = text(5, 500, 5, 5, 5, 500, 500)
    assert "no longer at 6 clients" in said and said.endswith("; nor at 2")
