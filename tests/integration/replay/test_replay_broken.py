# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings that are not whole, not right or not honest: what can be replayed is, the rest is
counted, and nothing else on the volume is touched.

Tests user/replay/recording.c, user/trace/reader.c, client/work/replay/replay_plan.c,
replay_make.c. Some 10 s.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import zlib
from pathlib import Path

import pytest
from netatalk import Server
from replaying import (
    LIST,
    TRACE,
    Change,
    about,
    copied,
    found_there,
    of,
    office,
    packets,
    put_others,
    recorded,
    rewrite,
    seen,
    summed,
    sums,
)
from scheduling import in_check
from scope import FAILED, OK, REFUSED, Done, Scope, left_on, wait_until
from tracefile import HEAD, PACKET

QUICK = ("--no-think", "--watch", "off")
VARIANTS = in_check([40, 120], [40])
HUGE, MOST = 1 << 63, 1 << 31


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory, scope: Scope, _dbd: Server) -> Path:
    return recorded(scope, _dbd, tmp_path_factory.mktemp("broken") / "recording", office(3, 5, 2))


def planned(scope: Scope, folder: Path, *args: str) -> tuple[Done, int, int]:
    """--dry-run, which says how many requests there are; those that are sent, and those that are
    left out for each reason, are all of them."""
    done = scope(None, "--dry-run", *args, str(folder), tool="replay", timeout=60)
    assert done.status in (OK, FAILED), done
    found = re.search(r"^Recording: ([\d,]+) requests", done.out, re.M)
    if not found:
        assert done.status == FAILED and done.messages, done
        return done, 0, 0
    sent = re.search(r"^Replay: ([\d,]+) requests", done.out, re.M)
    assert sent, done
    left = re.findall(r"^([\d,]+) of [\d,]+ requests are not replayed: those ", done.out, re.M)
    n, m, *rest = (int(text.replace(",", "")) for text in (found[1], sent[1], *left))
    assert n == m + sum(rest), done
    assert (done.status == OK) == (m > 0), done
    return done, n, m


def replayed(scope: Scope, folder: Path, to: Path, place: Path) -> Done:
    """In a directory in which others have files, which are as they were at the end."""
    before = put_others(place)
    args = (str(folder), str(place), *QUICK, "-o", str(to))
    done = scope(None, *args, tool="replay", timeout=90)
    assert seen(place) == before, done
    if (value := about(to)) is not None:
        assert sum(sums(value).values()) == value["planned"], done
    return done


def test_of_a_file_that_was_cut_anywhere_the_rest_is_planned(
    scope: Scope, recording: Path, tmp_path: Path
) -> None:
    whole = of(recording).read_bytes()
    broken = copied(recording, tmp_path / "cut")
    _, all_, _ = planned(scope, recording)
    last = 0
    edges = [i * PACKET + more for i in range(3) for more in (0, 1, 79, 80, 4000)]
    for at in [*edges, len(whole) // 2, len(whole) - PACKET, len(whole) - 1]:
        of(broken).write_bytes(whole[:at])
        done, n, _ = planned(scope, broken)
        assert n >= last or at < edges[-1], at
        last = n
        if n:
            lost = f"{all_ - n:,} {'is' if all_ - n == 1 else 'are'}"
            assert f"of the requests that were recorded {lost} not in the" in done.out
            torn = at % PACKET
            assert (f"and {torn:,} bytes at its end" in done.out) == bool(torn)
    (broken / "run.json").unlink()  # says how many there were
    done, n, _ = planned(scope, broken)
    assert n == last and "of the requests that were recorded" not in done.out


def test_a_packet_that_is_missing_or_comes_twice_is_named(
    scope: Scope, recording: Path, tmp_path: Path
) -> None:
    whole = of(recording).read_bytes()
    parts = [whole[at : at + PACKET] for at in range(0, len(whole), PACKET)]
    assert len(parts) > 2
    _, all_, _ = planned(scope, recording)
    broken = copied(recording, tmp_path / "packets")
    of(broken).write_bytes(b"".join([*parts[:1], *parts[2:]]))
    done, n, _ = planned(scope, broken)
    assert "not whole: 1 packet is missing between others" in done.out and n < all_
    of(broken).write_bytes(b"".join([parts[0], parts[1], *parts]))
    done, n, _ = planned(scope, broken)
    assert f"damaged: 2 of {len(parts) + 2} packets" in done.out and n == all_


def flipped(data: bytes, dice: random.Random, *, right_sums: bool, times: int = 1) -> bytes:
    """One to eight bits, so many times; right_sums: also the packets' sums, so that they are
    believed."""
    changed = bytearray(data)
    for _ in range(times):
        for _ in range(dice.randrange(1, 9)):
            at = dice.randrange(len(changed))
            if not right_sums or at % PACKET >= HEAD.size:
                changed[at] ^= 1 << dice.randrange(8)
    return b"".join(map(summed, packets(bytes(changed)))) if right_sums else bytes(changed)


def test_flipped_bits_are_noticed(scope: Scope, recording: Path, tmp_path: Path) -> None:
    dice, broken = random.Random(43), copied(recording, tmp_path / "flipped")
    whole = of(recording).read_bytes()
    _, all_, _ = planned(scope, recording)
    for _ in range(15):
        of(broken).write_bytes(flipped(whole, dice, right_sums=False))
        done, n, _ = planned(scope, broken)
        assert "the recording is damaged" in done.out and n < all_, done
    layout = broken / "trace" / ".layout.json"
    text = layout.read_bytes()
    for _ in range(15):
        layout.write_bytes(flipped(text, dice, right_sums=False))
        said = scope(None, "--dry-run", str(broken), tool="replay").expect(FAILED).err
        assert re.search("damaged|does not read|is not text", said), said


@pytest.mark.parametrize("variants", VARIANTS)
def test_flipped_bits_that_are_believed_do_no_harm(
    scope: Scope, dbd: Server, recording: Path, tmp_path: Path, variants: int
) -> None:
    """As if they came from a recorder that is broken. Some are replayed, two on a server."""
    dice, whole, tried = random.Random(44), of(recording).read_bytes(), 0
    for i in range(variants):
        broken = copied(recording, tmp_path / f"flips-{i}")
        times = dice.randrange(1, 20)
        of(broken).write_bytes(flipped(whole, dice, right_sums=True, times=times))
        done, _, m = planned(scope, broken)
        if not m:
            assert "cannot be right" in done.err  # a time of years
            continue
        tried += 1
        if tried % 20 == 0:
            done = replayed(scope, broken, tmp_path / f"run-{i}", tmp_path / f"place-{i}")
            assert done.status in (OK, REFUSED), done
        if tried % 20 == 10:
            before = seen(dbd.vol1)
            done = scope(dbd, str(broken), *QUICK, tool="replay", timeout=90)
            assert done.status in (OK, REFUSED), done
            assert seen(dbd.vol1) == before and not left_on(dbd)
        shutil.rmtree(broken)
    assert tried > variants / 4


def every(**values: int) -> Change:
    return lambda record: record | values


HOSTILE: dict[str, tuple[Change, str]] = {
    "lengths": (every(offset=HUGE - 1, length=HUGE, actual=HUGE), "the files of this run take"),
    "sizes": (
        lambda r: found_there(r) and r | {"size": HUGE - 1},
        "the files of this run take",
    ),
    "all ones": (every(offset=2 * HUGE - 1, length=2 * HUGE - 1, actual=2 * HUGE - 1), ""),
    "lists": (
        lambda r: (
            found_there(r)
            and r | ({"offset": MOST - 100, "actual": 50} if r["command"] == LIST else {})
        ),
        "the files of this run take",
    ),
    "times": (lambda r: r | {"t": r["t"] ^ (r["dsi_id"] & 1) << 62}, "cannot be right"),
    "sessions": (lambda r: r | {"session": r["dsi_id"] * 7919 % 5}, ""),
    "names": (every(name_len=65535, name_kind=200, ext_len=255), ""),
    "one folder": (every(dir=77, parent=0, id=77), ""),
    "above the root": (every(dir=1, dir2=1), ""),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_recording_that_lies_is_refused_or_does_no_harm(
    scope: Scope, recording: Path, tmp_path: Path, what: str
) -> None:
    change, said = HOSTILE[what]
    broken = copied(recording, tmp_path / "hostile")
    rewrite(broken, change)
    if what != "times":
        planned(scope, broken)
    done = replayed(scope, broken, tmp_path / "run", tmp_path / "place")
    if said:
        assert done.status in (FAILED, REFUSED) and said in done.err, done
    else:
        assert done.status in (OK, REFUSED), done


def with_sum(text: str) -> str:
    """A layout with its last line anew."""
    head = text[: text.rindex('"crc32": "')]
    return f'{head}"crc32": "{zlib.crc32(head.encode()):08x}"}}\n'


def test_what_cannot_be_read_is_refused_with_the_reason(
    scope: Scope, recording: Path, tmp_path: Path
) -> None:
    broken = copied(recording, tmp_path / "unreadable")
    whole = of(broken).read_bytes()

    def refused(*texts: str) -> Done:
        return scope(None, "--dry-run", str(broken), tool="replay").expect(FAILED, *texts)

    of(broken).write_bytes(b"")
    assert "Recording: 0 requests" in refused("nothing in it can be replayed").out
    of(broken).write_bytes(b"".join(b"CTF?" + p[4:] for p in packets(whole)))
    n = len(whole) // PACKET
    assert f"damaged: {n} of {n} packets" in refused("nothing in it can be replayed").out
    of(broken).write_bytes(b"".join(p[3::-1] + p[4:] for p in packets(whole)))
    refused("of a machine of the other byte order, which is not read")
    of(broken).unlink()
    refused("is no recording that can be replayed")
    of(broken).write_bytes(whole)
    layout = broken / "trace" / ".layout.json"
    text = layout.read_text()
    assert json.loads(with_sum(text)) and with_sum(text) == text
    layout.write_text(with_sum(text.replace('"format": 1', '"format": 2')))
    refused("of a version that this one does not read")
    layout.write_text(with_sum(text.replace('"name_len"', '"name_length"')))
    refused("the trace has no field name_len of operations")
    uuid = json.loads(text)["uuid"]
    layout.write_text(with_sum(text.replace(uuid, "../../../../../../etc/passwd-and")))
    refused("damaged")
    layout.unlink()
    refused("no recording")


def test_lost_requests_are_counted_and_the_rest_is_replayed(
    scope: Scope, dbd: Server, tmp_path: Path
) -> None:
    args = ("--tests", "5", "-n", "1", "--trace", "--replayable", "--trace-buffer", "4096")
    scope(dbd, *args, "-o", str(tmp_path / "recording"), save=True).expect(OK)
    done, n, m = planned(scope, tmp_path / "recording")
    assert "requests were lost while it was recorded" in done.out and n > m
    done = replayed(scope, tmp_path / "recording", tmp_path / "run", tmp_path / "place")
    assert done.status in (OK, REFUSED), done


def test_a_recording_may_begin_and_end_in_mid_session(
    scope: Scope, dbd: Server, tmp_path: Path
) -> None:
    args = ("--mix", "office", "-n", "3", "-d", "600", "--ramp=0", "--no-probe", "--watch=off")
    args += ("--think", "0.01")
    running = scope.start(scope.command(dbd, *args, tool="load"))
    wait_until(lambda: bool([*dbd.vol1.glob("LanTest-*/*/*")]), 60, "its files")
    folder = tmp_path / "recording"
    record = (*TRACE, "-d", "1", "-o", str(folder))
    scope.execute(scope.recorder(dbd, *record)).expect(OK)
    running.signal(2)
    running.finish()
    _, n, m = planned(scope, folder)
    assert n > 100 and m > n / 2
    done = replayed(scope, folder, tmp_path / "run", tmp_path / "place")
    assert done.status in (OK, REFUSED), done
