# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts of a history in English: its page, and the changes as sentences."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "history": "What changed",
    "history_runs": "{n} runs of {what}, {first} to {last}",
    "history_none": "No change could be shown.",
    "history_few": (
        "No change could be shown: {few} of {rows} rows have too few runs, {needed} are needed."
    ),
    "history_zeros": "Of rows that are 0 in some runs only the other runs are judged: {which}.",
    "history_zero_runs": "0 in {n} of {of} runs",
    "history_note": (
        "Each dot is a run, in order of time; lines are the levels between changes, and the way "
        "of a drift; the scale of each curve goes from its smallest to its largest value."
    ),
    "history_whose": (
        "A change may be the machine's: afpscope ab measures both sides of it in turn."
    ),
    "history_change": "{name} {how} {when}.",
    "history_curve_of": "{name}: {n} runs, {changes} changes",
    "history_row": "row",
    "history_curve": "curve",
    "history_least": "smallest",
    "history_most": "largest",
    "history_last": "last",
    "history_better": "better",
    "history_worse": "worse",
    "history_changed": "changed from {before} to {after} ({by}, {verdict})",
    "history_drifted": "drifted from {before} to {after} ({by}, {verdict})",
    "history_since": "since {run}",
    "history_or": "since {run} (or another of {first} to {last})",
    "history_slowly": "little by little, between {first} and {last}, or nearly so",
    "history_between": (
        "between {first} and {last}; whether at once or little by little cannot be told"
    ),
}
