# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts of the page of several servers under the same load, in English."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "versus": "The same load on several servers",
    "versus_side": "{name}: {n:,} runs on {on}",
    "versus_safe": (
        "The mean action of each load made as many sync calls on data files on all servers (to "
        "5%, or 0.02 of a call)."
    ),
    "versus_short": "In short",
    "versus_overview": "Of {work}: p50 of each action, and what the mean action cost.",
    "versus_others": "What only some protocols have, and places",
    "versus_unequal": "What is not equal",
    "versus_unequal_note": (
        "Read this before any difference: a server that does less is faster. Sync calls (fsync and "
        "the like) are what makes saved data safe from a power cut. They were counted, and are "
        "those that the server made for an action."
    ),
    "versus_equal": "Equal: {what}.",
    "versus_times": "How long an action took",
    "versus_times_note": (
        "Half of the actions of a run took at most p50, 95 of 100 at most p95. Medians of the runs "
        "of each server; in parentheses the 95% interval of the median, where it is not that "
        "alone. Alone: in a load that has no other action."
    ),
    "versus_picture": (
        "p50 of each action: the median of the runs, with its 95% interval. The axis is "
        "logarithmic."
    ),
    "versus_costs": "What an action cost",
    "versus_costs_note": (
        "What the server's processes used in a run, divided by its actions; of a mix that is its "
        "mean action. n/a: not measured. Disk writes are those that the processes themselves "
        "handed to a disk: what the kernel writes later is not in them."
    ),
    "versus_where": "Where the server spent it",
    "versus_where_note": (
        "Time inside the server for each action of {work}, by what it was spent on. Behind each "
        "bar: all of it."
    ),
    "versus_trips": "Over a longer way",
    "versus_trips_note": (
        "Requests and round trips of an action, and how long it would take at other round-trip "
        "times. ≥: with a longer way its data may take more of them."
    ),
    "versus_pairs": "Each pair of servers",
    "versus_pairs_note": (
        "How much longer the second server took than the first one, or how much more it used. All "
        "rows of all pairs were judged together."
    ),
    "versus_itself": "Each server against itself",
    "versus_itself_note": (
        "Two series of runs of one server, made as those of two servers are. A difference here is "
        "not a difference between servers, and such a row is not judged between servers."
    ),
    "versus_remarks": "What to know of these figures",
    "versus_load": "Load",
    "versus_axis": "time of an action",
}
