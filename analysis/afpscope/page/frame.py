# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a figure that is drawn as markup has its axes; macros.html draws what stands at them."""

from __future__ import annotations

from dataclasses import dataclass

WIDTH, HEIGHT = 640, 230
LEFT, RIGHT = 60, 26  # beside the axes


@dataclass(frozen=True)
class Tick:
    """At `at` of the figure, in its pixels."""

    at: float
    text: str


@dataclass(frozen=True)
class Frame:
    """`top` and `bottom`: pixels above and below the axes. Shares are those of an axis."""

    top: int
    bottom: int

    @property
    def wide(self) -> float:
        return WIDTH - LEFT - RIGHT

    @property
    def high(self) -> float:
        return HEIGHT - self.top - self.bottom

    def x(self, share: float) -> float:
        return LEFT + self.wide * share

    def y(self, share: float) -> float:
        return HEIGHT - self.bottom - self.high * share
