# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers measured in turn by the C program: the order of their runs, their restarts (ab, versus).

The order is ABBA BAAB BAAB ABBA ...: an even drift affects all sides alike, and so does anything
that recurs every two, four or eight runs. (The sequence of Thue and Morse.)
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import Failure
from ..saved.files import written
from ..saved.run import AB_FILE, Run
from ..saved.steps import Sweep, is_sweep, open_sweep
from ..urls import scheme
from .children import Relay, address, last_line

# How long a server may take after its restart until it listens.
_UP_S = 60
_BLOCK = 4  # rounds after which another side begins, if they are more than two


def order(rounds: int, sides: Sequence[str] = "ab") -> list[tuple[int, str]]:
    """(round, side) in the order of the runs: 1a 1b 2b 2a 3b 3a 4a 4b ...

    Any two of more sides are in that order, too; with each four rounds the next side is the first,
    so that none has always the same one before it.
    """
    out = []
    for n in range(rounds):
        by = n // _BLOCK % len(sides) if len(sides) > 2 else 0
        turned = [*sides[by:], *sides[:by]]
        out += [(n + 1, side) for side in (turned[::-1] if n.bit_count() % 2 else turned)]
    return out


def measured(relay: Relay, line: list[str], place: Path) -> Run | Sweep | None:
    """The run, or the sweep, that the command keeps in place; its output goes beside it. None:
    stopped."""
    log = place.with_suffix(".txt")
    code = relay.call(line, log)
    if relay.caught:
        return None
    if code not in (0, 4):
        raise Failure(f"{' '.join(line[:2])} ended with {code}: {last_line(log)}")
    return open_sweep(place) if is_sweep(place) else Run.open(place)


def _wait_for(relay: Relay, url: str) -> None:
    """Waits until the server accepts connections. Failure if it does not."""
    end = time.monotonic() + _UP_S
    while not relay.caught:
        try:
            socket.create_connection(address(url), 5).close()
            return
        except OSError as e:
            if time.monotonic() > end:
                raise Failure(f"{url} does not listen {_UP_S} s after its restart: {e}") from None
        time.sleep(0.1)


def restart(relay: Relay, command: str, side: str, url: str, log: Path) -> None:
    """Runs the command by the shell, then waits for the server of the URL."""
    env = os.environ | {"AFPSCOPE_SIDE": side, "AFPSCOPE_URL": url}
    code = relay.call(["/bin/sh", "-c", command], log, env)
    if code and not relay.caught:
        raise Failure(f"--restart: {command!r} ended with {code}: {last_line(log)}")
    if scheme(url):
        _wait_for(relay, url)


def restarted(runs: Sequence[Run], command: str | None) -> None:
    """Failure if --restart did not restart the server before the last of these runs, as far as the
    runs show it."""
    if command and len(runs) > 1 and runs[-1].start in {r.start for r in runs[:-1]}:
        raise Failure(
            f"--restart: the server of {runs[-1].name} was not restarted by {command!r}: "
            f"{runs[-1].start}"
        )


def note(folder: Path, document: Mapping[str, Any], starts: Mapping[str, str]) -> None:
    """Writes how the runs were made beside them; `starts`: the start of the server by folder."""
    with written(folder / AB_FILE) as file:
        text = json.dumps({**document, "starts": starts}, indent=1, ensure_ascii=False)
        file.write((text + "\n").encode())
