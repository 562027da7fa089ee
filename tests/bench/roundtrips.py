# SPDX-License-Identifier: GPL-2.0-or-later
"""How long actions take over ways of 0.2, 5, 20 and 100 ms, beside what was said before: by AFP,
SMB or NFS.

roundtrips.py [--over afp|smb|nfs] [--suite SUITE] [--seconds N] [--rtt MS,...] [--tun]

A load of one client, once through a relay that holds nothing, then through the same relay as it
holds all bytes for half the round-trip time in each direction. Prints a line for each action and
way: what was said, what was measured (medians), the difference. Exits with 1 if one is off by more
than a tenth. What was said is for the way as it was: the relay lets bytes go a little late, on a
busy machine a tenth of a millisecond and more, and measures that; "way" has it in it. --tun: real
packets that are late, on a TUN device, in place of the relay, so that TCP itself sees the way
(root); how late it carries them is not known.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path += [str(REPO / "tests" / part) for part in ("integration/lib", "server", "doctor")]

from fakes import Far  # noqa: E402
from far import Way, far  # noqa: E402
from farther import Seen, options, seen  # noqa: E402
from ganesha import Ganesha  # noqa: E402
from netatalk import Server  # noqa: E402
from samba import Samba  # noqa: E402

PROGRAM = REPO / "build" / "afpscope"
OFF = 0.1


# HOST:PORT, and what tells how long the round trip was, in ms.
At = tuple[str, Callable[[], float]]


@contextlib.contextmanager
def _relay(port: int, rtt_ms: float) -> Iterator[At]:
    with Far(port, rtt_ms / 1e3) as relay:
        yield f"127.0.0.1:{relay.port}", lambda: rtt_ms + 2e3 * statistics.median(relay.late_s)


@contextlib.contextmanager
def _tun(port: int, rtt_ms: float) -> Iterator[At]:
    with far(port, Way(rtt_ms / 2e3)) as where:
        yield where, lambda: rtt_ms


def _library(option: str) -> None:
    line = [str(REPO / "tests/need.sh"), option]
    os.environ["LD_LIBRARY_PATH"] = subprocess.check_output(line, text=True).strip()


@contextlib.contextmanager
def _server(args: argparse.Namespace) -> Iterator[tuple[int, str]]:
    """A server: its port, and what its place is called, with {} for HOST:PORT."""
    if args.over == "smb":
        _library("--libsmb2")
        with Samba(args.suite or "bookworm") as smb:
            yield smb.port, "smb://bench1@{}/share1"
    elif args.over == "nfs":
        _library("--libnfs")
        with Ganesha(args.suite or "bookworm") as nfs:
            yield nfs.port, f"nfs://{{}}{nfs.path1}?mountport={nfs.mount_port}"
    else:
        with Server(args.suite or "forky", "dbd") as afp:
            yield afp.port, "afp://bench1@{}/vol1"


def _load(
    port: int, place: str, rtt_ms: float, args: argparse.Namespace
) -> tuple[dict[str, Seen], float]:
    """Its actions, and how long the round trip was, in ms."""
    way = _tun if args.tun else _relay
    with tempfile.TemporaryDirectory() as made, way(port, rtt_ms) as (where, was_ms):
        # Each action is done about five times, whatever the way.
        seconds = max(args.seconds, round(0.4 * rtt_ms))
        saved = Path(made) / "run.json"
        command = [str(PROGRAM), "load", *options(Path(made), seconds, args.over), "--no-save"]
        command += ["--rtt", args.rtt, "--json", str(saved), place.format(where)]
        done = subprocess.run(
            command,
            env=os.environ | {"AFPSCOPE_PASSWORD": "secret1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{rtt_ms} ms: {done.stderr}")
        return seen(json.loads(saved.read_text())), was_ms()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--over", choices=("afp", "smb", "nfs"), default="afp")
    parser.add_argument("--suite")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rtt", default="0.2,5,20,100")
    parser.add_argument("--tun", action="store_true")
    args = parser.parse_args()
    worst = 0.0
    with _server(args) as (port, place):
        here, way_here = _load(port, place, 0, args)
        print(f"{'action':10} {'trips':>5} {'way':>9} {'said':>9} {'took':>9} {'off':>6} {'n':>4}")
        for rtt_ms in map(float, args.rtt.split(",")):
            there, way = _load(port, place, rtt_ms, args)
            for name, action in there.items():
                said = here[name].median_over(rtt_ms)
                said += action.trips * (way - way_here - rtt_ms)
                if name == "login" and not args.tun:
                    said -= rtt_ms  # the relay takes the connection at once
                off = action.median_ms / said - 1
                worst = max(worst, abs(off))
                print(
                    f"{name:10} {action.trips:5.1f} {way - way_here:7.2f}ms {said:7.1f}ms "
                    f"{action.median_ms:7.1f}ms {off:+6.1%} {action.n:4}"
                )
    print(f"off by at most {worst:.1%}")
    return worst > OFF


if __name__ == "__main__":
    sys.exit(main())
