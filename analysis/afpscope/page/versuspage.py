# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of `versus`: what is not equal first, then times and costs, then each pair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..judge import overview, versus
from ..judge.sides import Outcome, Pair, Side
from ..saved.run import NO_WORDS
from ..tables import costs
from ..tables.digest import CommandView, digest
from . import bars, forest, painter
from .bars import Bars
from .painter import Painter, Picture

TEMPLATE = "versus.html"


def _view(side: Side, work: str) -> CommandView | None:
    """The time inside the server of the mean action of a work, as one bar; None: requests were not
    watched, or no action ended."""
    out, n = CommandView(side.name, 1), 0
    for run in side.runs.get(work, ()):
        found = costs.load_of(run)
        if not found or found[0].requests is None:
            return None
        n += costs.ended(found[1])
        for command in digest(run).commands:
            out.service_ns += command.service_ns
            for key, ns in command.times.items():
                out.times[key] += ns
    if not n:
        return None
    out.service_ns = round(out.service_ns / n)
    out.times.update({key: round(ns / n) for key, ns in out.times.items()})
    return out


def _where(o: Outcome, made: Painter) -> list[Bars]:
    out = []
    for work in o.works:
        views = [view for side in o.sides if (view := _view(side, work))]
        caption = made.w.say("versus_where_note", work=work)
        if found := bars.of_servers(views, caption, made.w):
            out.append(found)
    return out


def _drawn(o: Outcome, made: Painter) -> Picture | None:
    from . import versusfigures  # and matplotlib

    drawn = versusfigures.times([f for f in o.times if f.what.endswith(" p50")],
                                [side.name for side in o.sides], made.labels)  # fmt: skip
    return made.drawn("versus-times", made.w["versus_picture"], drawn)


def _whose(side: Side, made: Painter) -> str:
    on = ", ".join(filter(None, (side.first.server_name, side.url)))
    return made.w.say("versus_side", name=side.name, n=len(side.all), on=on)


def _heads(pair: Pair) -> list[str]:
    """Those of versus.cells, with the sides' names."""
    return [pair.a.name, pair.b.name, *versus.CELLS[2:]]


def page(o: Outcome, rtts: Sequence[float], doubts: Sequence[str], figures: Path | None) -> str:
    """As HTML; the figures are kept in that folder if there is one."""
    kinds = {side.first.kind for side in o.sides}
    words = o.sides[0].first.words if len(kinds) == 1 else NO_WORDS
    made = Painter(figures, "en", words)
    telling = overview.telling(o)
    return painter.render(
        TEMPLATE,
        w=made.w,
        o=o,
        telling=telling,
        others=[fact for fact in o.unequal if fact not in telling],
        overview=overview.rows(o),
        note=overview.note(o),
        doubts=doubts,
        whose=[_whose(side, made) for side in o.sides],
        equal=", ".join(f"{key} {text}" for key, text in o.equal),
        drawn=_drawn(o, made),
        where=_where(o, made),
        trips=o.trips(rtts),
        forests=[(pair, forest.forest(pair.rows, o.least)) for pair in o.pairs],
        heads=_heads,
        least=versus.share(o.least),
    )
