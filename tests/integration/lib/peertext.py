# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the text and the CSV of afp_speedtest, and works its figures out again."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from statistics import mean, median, pstdev

SAMPLE = re.compile(r"(\[W\d+\]|\d+)\t {0,8}(\d+)\t(\d+\.\d\d)")
FIGURE = re.compile(r"(\w[\w ]*): +(\d+) μs \((\d+\.\d\d)( MB/s|%)\)")
NUMBER = re.compile(r" *[-+]?\d+(\.\d+)?")
CSV_HEAD = ["test_name", "iteration", "file_size_mb", "microseconds", "throughput_mbs"]
SUMMARY_HEAD = [
    *("file_size_mb", "mean_throughput_mbs", "median_throughput_mbs", "min_throughput_mbs"),
    *("max_throughput_mbs", "stddev_ms", "mean_time_ms"),
]
METRIC_HEAD = ["metric", "initial", "final", "delta"]


def skeleton(text: str, *hidden: str) -> list[str]:
    """Its lines without what was measured, and without words of one tool only.

    Lines of the tables are as long as before: their columns have widths.
    """
    found = []
    for line in text.splitlines():
        for word in hidden:
            line = line.replace(word, "HIDDEN")
        if SAMPLE.fullmatch(line):
            line = SAMPLE.sub(lambda m: f"{m[1]}\t{'#' * (m.start(3) - m.end(1) - 2)}\t#.##", line)
        elif line.startswith(("║", "TCP ")) or "μs" in line:
            wide = 0 if "μs" in line else len(line)
            line = f"{line[:11]}{NUMBER.sub('#', line[11:])} {wide}"
        found.append(line)
    return found


@dataclass
class Table:
    """What one test says of one size."""

    work: str
    size: str
    warmups: list[tuple[int, float]] = field(default_factory=list)
    samples: list[tuple[int, float]] = field(default_factory=list)
    figures: dict[str, tuple[int, float]] = field(default_factory=dict)


def tables(text: str) -> list[Table]:
    found: list[Table] = []
    for line in text.splitlines():
        if head := re.fullmatch(r"(\w+) quantum \d+ KB, size (\d+ [KM]B)( sparse file)? ?", line):
            found.append(Table(head[1], head[2]))
        elif sample := SAMPLE.fullmatch(line):
            to = found[-1].warmups if sample[1].startswith("[W") else found[-1].samples
            to.append((int(sample[2]), float(sample[3])))
        elif figure := FIGURE.fullmatch(line):
            found[-1].figures[figure[1]] = int(figure[2]), float(figure[3])
    return found


def rate(size: int, us: float) -> float:
    """MB/s as the peer says it: 2^20 bytes."""
    return size / (1 << 20) / (us / 1e6)


def check_figures(table: Table, size: int) -> None:
    """The rules of the peer: the deviation is that of the population, a rate
    that of its time, P95 an observed value and only of 20 or more."""
    for us, mbs in [*table.warmups, *table.samples]:
        assert close(mbs, rate(size, us)), (table.work, us, mbs)
    times = sorted(us for us, _ in table.samples)
    if len(times) < 2:
        assert not table.figures
        return
    wanted: dict[str, float] = {
        "Mean": mean(times),
        "Median": median(times),
        "Min": times[0],
        "Max": times[-1],
    }
    if len(times) >= 20:
        wanted["P95"] = times[int((len(times) - 1) * 0.95)]
    assert set(table.figures) == {*wanted, "Std Dev"}
    for key, us in wanted.items():
        shown, mbs = table.figures[key]
        assert abs(shown - us) <= 0.5 + 1e-6, (table.work, key)
        assert close(mbs, rate(size, us)), (table.work, key)
    deviation, percent = table.figures["Std Dev"]
    assert abs(deviation - pstdev(times)) <= 0.5 + 1e-6, table.work
    assert abs(percent - 100 * pstdev(times) / mean(times)) <= 0.0051, table.work


def close(shown: float, wanted: float) -> bool:
    return abs(shown - wanted) <= 0.0051 + wanted * 1e-6


def blocks(text: str) -> dict[str, list[list[str]]]:
    """The CSV's blocks by title, that of the first is empty."""
    found: dict[str, list[list[str]]] = {"": []}
    rows = found[""]
    for row in csv.reader(text.splitlines()):
        if row and row[0].startswith("# "):
            rows = found[row[0][2:]] = []
        elif row:
            rows.append(row)
    return found


def csv_skeleton(text: str) -> dict[str, list[list[str]]]:
    """Titles, heads, names and sizes; of figures only how many decimals they have."""

    def masked(cell: str) -> str:
        return re.sub(r"-?\d+(\.\d+)?", lambda m: "#" + "." * len(m[1] or ""), cell)

    return {
        title: [[*row[:3], *map(masked, row[3:])] for row in rows]
        if not title
        else [[row[0], *map(masked, row[1:])] for row in rows]
        for title, rows in blocks(text).items()
    }


def check_csv(text: str, sizes: dict[str, int]) -> None:
    """Every figure of the file again, from the rows of the iterations."""
    found = blocks(text)
    head, *rows = found[""]
    assert head == CSV_HEAD
    assert all(len(row) == len(CSV_HEAD) for row in rows)
    times: dict[tuple[str, str], list[int]] = {}
    for name, iteration, size, us, mbs in rows:
        if iteration:
            times.setdefault((name, size), []).append(int(us))
            assert int(iteration) == len(times[name, size])
            assert close(float(mbs), rate(sizes[size], int(us)))
            continue
        work, what = name.rsplit("_", 1)
        _check_row(what, times[work, size], sizes[size], us, mbs)
    for title, (summary_head, *lines) in found.items():
        if title.startswith("File Size Performance Summary for "):
            assert summary_head == SUMMARY_HEAD
            for line in lines:
                _check_summary(line, times[title.split()[-1], line[0]], sizes[line[0]])
        elif title:
            assert title == "TCP Metrics Evolution Summary"
            assert summary_head == METRIC_HEAD
            assert all(len(line) == len(METRIC_HEAD) for line in lines)


def _check_row(what: str, times: list[int], size: int, us: str, mbs: str) -> None:
    wanted = {"mean": mean, "median": median, "stddev": pstdev, "min": min, "max": max}[what]
    value = float(wanted(times))
    # Cut off, not rounded.
    assert value - 1 - 1e-6 < int(us) <= value + 1e-6, (what, us, value)
    assert not mbs if what == "stddev" else close(float(mbs), rate(size, value)), (what, mbs)


def _check_summary(line: list[str], times: list[int], size: int) -> None:
    """Least and most are of the rate here; milliseconds are of whole microseconds."""
    rates = [mean(times), median(times), max(times), min(times)]
    for shown, us in zip(line[1:5], rates, strict=True):
        assert close(float(shown), rate(size, us)), line
    assert abs(float(line[5]) - pstdev(times) / 1000) <= 0.0511, line
    assert abs(float(line[6]) - mean(times) / 1000) <= 0.0511, line
