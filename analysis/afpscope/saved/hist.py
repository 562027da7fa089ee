# SPDX-License-Identifier: GPL-2.0-or-later
"""The log-linear histogram of user/base/hist.h, as in a run.

Below 2^bits each value has a bucket; above, each octave is cut into 2^bits equal ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import Failure
from .node import INT_MAX, Node

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}  # shown of latencies


def low(index: int, bits: int) -> int:
    """The smallest value of a bucket; its highest is low(index + 1) - 1."""
    group = index >> bits
    if group == 0:
        return index
    return ((1 << bits) + (index & ((1 << bits) - 1))) << (group - 1)


def middle(index: int, bits: int) -> int:
    """The representative value of a bucket."""
    first = low(index, bits)
    return first + (low(index + 1, bits) - first) // 2


def index_of(value: int, bits: int) -> int:
    """The bucket of a value."""
    if value < 1 << bits:
        return value
    octave = value.bit_length() - 1
    return ((octave - bits + 1) << bits) + (value >> (octave - bits)) - (1 << bits)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts by bucket, only those that are not empty, in order."""

    bits: int
    buckets: tuple[tuple[int, int], ...] = ()

    @property
    def n(self) -> int:
        return sum(count for _, count in self.buckets)

    def _bucket(self, q: float) -> int | None:
        """The bucket of the value of nearest rank; None if empty."""
        total = self.n
        if not total:
            return None
        rank = max(1, -int(-(q * total) // 1))
        seen = 0
        for index, count in self.buckets:
            seen += count
            if seen >= rank:
                return index
        return None

    def quantile(self, q: float) -> int | None:
        """Nearest rank, as the middle of its bucket; None if empty."""
        index = self._bucket(q)
        return None if index is None else middle(index, self.bits)

    def quantile_within(self, q: float) -> tuple[int, int] | None:
        """Lower and upper limit of the value of nearest rank."""
        index = self._bucket(q)
        return None if index is None else (low(index, self.bits), low(index + 1, self.bits) - 1)

    def bulk_mean(self, share: float, exact_sum: int) -> float:
        """The mean without the `share` smallest and the `share` largest values; 0 of none.

        By the middles of buckets. Their difference to `exact_sum`, the sum of all values, is
        distributed by the squares of the buckets' widths, as independent errors add up: so nearly
        all of it falls on a few large values, if there are any.
        """
        n = self.n
        cut = share * n
        seen, missed, bulk = 0, float(exact_sum), 0.0
        spread, of_bulk = 0.0, 0.0
        for index, count in self.buckets:
            first = low(index, self.bits)
            width = low(index + 1, self.bits) - first
            value = first + width // 2
            inside = max(0.0, min(seen + count, n - cut) - max(seen, cut))
            seen += count
            missed -= count * value
            bulk += inside * value
            spread += count * width**2
            of_bulk += inside * width**2
        return (bulk + missed * of_bulk / spread) / (n - 2 * cut) if n else 0.0

    @staticmethod
    def merge(all_of: Iterable[Histogram]) -> Histogram:
        """The sum of histograms of the same bits; of none: empty, 6 bits."""
        counts: dict[int, int] = {}
        bits: int | None = None
        for one in all_of:
            if bits is not None and one.bits != bits:
                raise Failure(f"histograms of {bits} and {one.bits} bits cannot be merged")
            bits = one.bits
            for index, count in one.buckets:
                counts[index] = counts.get(index, 0) + count
        return Histogram(6 if bits is None else bits, tuple(sorted(counts.items())))


def parse(node: Node) -> Histogram:
    """{"bits": s, "buckets": [[index, count], ...]}."""
    bits = node["bits"].count()
    if bits > 16:
        raise Failure(f"{node.where} has {bits} bits: the file is damaged")
    buckets, end = node["buckets"], (65 - bits) << bits
    out: list[tuple[int, int]] = []
    last = -1
    # Plain values: most numbers of a run are in buckets, and a Node for each takes too long.
    for i, pair in enumerate(buckets.array()):
        if not (
            type(pair) is list
            and len(pair) == 2
            and type(pair[0]) is type(pair[1]) is int
            and last < pair[0] < end
            and 0 <= pair[1] <= INT_MAX
        ):
            raise _damaged(Node(pair, i, buckets))
        last = pair[0]
        out.append((last, pair[1]))
    return Histogram(bits, tuple(out))


def _damaged(pair: Node) -> Failure:
    """What is wrong with this bucket."""
    for number in pair.items():
        number.count()
    return Failure(f"{pair.where} is not a bucket after the last one: the file is damaged")
