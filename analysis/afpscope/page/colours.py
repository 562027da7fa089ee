# SPDX-License-Identifier: GPL-2.0-or-later
"""The colours of pages and figures. tests/python/test_colours.py says how far apart they are for
readers with each kind of impaired colour vision; no figure tells things apart by colour alone."""

from __future__ import annotations

# Okabe and Ito's, and others between them.
COLOURS = ("#0072B2", "#56B4E9", "#999999", "#D55E00", "#E69F00", "#CC79A7", "#882255",
           "#009E73", "#F0E442", "#000000")  # fmt: skip
UNREAD = "unread"
MAP = "#2186C4"  # as far from a light page as from a dark one
# A part of the time has the same colour in every figure.
PART_COLOURS = {
    "user": "#0072B2",
    "calls": "#56B4E9",
    "runq": "#886644",
    "disk": "#D55E00",
    "cnid": "#E69F00",
    "lock": "#993366",
    "log": "#8811FF",
    "net": "#88BB66",
    "other": "#BB55FF",
    "stopped": "#CCBBAA",
    UNREAD: "#990000",  # requests that nobody has read yet
}
# The part that has the colour of a part inside the helper.
ALIKE = {"cpu": "user", "sync": "disk", "io": "calls", "idle": "net", "unknown": "other"}
# Colour and dashes of a line, so that it can be told from the others without colours.
LINES = (
    ("#0072B2", ""),
    ("#D55E00", "8 3"),
    ("#009E73", "2 3"),
    ("#CC79A7", "8 3 2 3"),
    ("#56B4E9", "14 3"),
    ("#E69F00", "5 2"),
    ("#999999", "1 2"),
)
CURVES = tuple(colour for colour, _ in LINES)


def _channel(value: int) -> float:
    share = value / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    """As WCAG 2 defines it: 0 for black, 1 for white."""
    red, green, blue = (_channel(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def ink(ground: str) -> str:
    """Black or white, whichever can be read better on it."""
    return max(("#000000", "#FFFFFF"), key=lambda colour: contrast(colour, ground))
