# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of a bar are told apart by readers with each kind of impaired colour vision.

The simulation is that of Machado, Oliveira and Fernandes (2009) for the whole loss of a kind of
cone; a difference is the distance in CIE Lab (1976), of which 2.3 can just be seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from afpscope.limit.limits import PARTS as SWEEP_PARTS
from afpscope.page.colours import LINES, PART_COLOURS, contrast, ink
from afpscope.page.sweepfigures import PART_COLOUR, PART_HATCH
from conftest import Done
from sweeping import Made, each, sweep

SEEN = {
    "all cones": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "no blue": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]
    ),
}  # fmt: skip
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
     [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip
LEAST = 18.0  # between any two parts of one bar; the closest are 18.3 apart
GROUNDS = ("#FFFFFF", "#181A1B")  # of pages, light and dark


def lab(colour: str, seen: np.ndarray) -> np.ndarray:
    share = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(seen @ linear, 0, 1) / np.array([0.95047, 1, 1.08883])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def apart(one: str, other: str, kind: str) -> float:
    return float(np.linalg.norm(lab(one, SEEN[kind]) - lab(other, SEEN[kind])))


@pytest.mark.parametrize("kind", SEEN)
def test_parts_of_a_bar_are_told_apart(kind: str) -> None:
    near = {
        (a, b): apart(PART_COLOURS[a], PART_COLOURS[b], kind)
        for a, b in combinations(PART_COLOURS, 2)
    }
    closest = min(near, key=lambda pair: near[pair])
    assert near[closest] >= LEAST, (closest, near[closest])


@pytest.mark.parametrize("kind", SEEN)
def test_parts_of_a_sweep_differ_in_colour_or_in_pattern(kind: str) -> None:
    for a, b in combinations(SWEEP_PARTS, 2):
        patterns = PART_HATCH.get(a), PART_HATCH.get(b)
        assert patterns[0] != patterns[1] or apart(PART_COLOUR[a], PART_COLOUR[b], kind) >= LEAST, (
            a, b,
        )  # fmt: skip


def test_what_is_drawn_is_seen_on_light_and_dark_pages() -> None:
    """3 to 1 is what WCAG 2 asks of graphics; a lighter one has a border of the page's colour."""
    low = {
        (name, ground): contrast(colour, ground)
        for name, colour in PART_COLOURS.items()
        for ground in GROUNDS
        if contrast(colour, ground) < 1.5
    }
    assert not low


@pytest.mark.painted
def test_curves_are_seen_on_a_light_and_on_a_dark_page(
    tmp_path: Path, execute: Callable[..., Done]
) -> None:
    values = each([1, 2, 4, 8], lambda v: Made(clients=int(v)))
    execute("report", sweep(tmp_path / "s", values).folder, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    drawn = {*re.findall(r"stroke: (#\w{6})", page)} - {"#ffffff"}  # white: between parts
    assert len(drawn) >= 4
    assert all(contrast(colour, ground) >= 2 for colour in drawn for ground in GROUNDS)


def test_shares_in_bars_can_be_read() -> None:
    assert all(contrast(colour, ink(colour)) >= 4.5 for colour in PART_COLOURS.values())


def test_lines_differ_in_their_dashes() -> None:
    assert len({dash for _, dash in LINES}) == len(LINES)
