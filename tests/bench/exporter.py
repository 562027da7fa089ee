# SPDX-License-Identifier: GPL-2.0-or-later
"""The exporter: what it costs beside the counting, and its memory over thousands of logins."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from lab import REPO, Lab
from stats import Result, figure

sys.path.insert(0, str(REPO / "tests" / "integration" / "lib"))
from afpclient import AfpClient
from recording import RawClient

BATCH, BATCHES_PER_S = 100, 100
SECONDS = 20
SCRAPE_S = 1
FEW_LOGINS, LOGINS = 200, 5000


def _cpu_s(pids: list[int]) -> float:
    """All threads, to the nanosecond."""
    files = [f for pid in pids for f in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(f.read_text().split()[0]) for f in files) / 1e9


@contextlib.contextmanager
def _exporter(lab: Lab) -> Iterator[tuple[list[int], str]]:
    """Its processes and its address."""
    command = [str(lab.afpscope), "exporter", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, "-p", str(lab.server.port)], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        said = ""
        while "watching process" not in said:
            line = process.stderr.readline()
            if not line:
                raise RuntimeError(f"the exporter did not begin: {said}")
            said += line
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        yield [process.pid, *map(int, children.split())], said.split("listening: ")[1].split()[0]
        process.terminate()
        process.communicate()


def _scrape(address: str, stop: threading.Event) -> None:
    while not stop.wait(SCRAPE_S):
        urllib.request.urlopen(address, timeout=10).read()


def _send(client: RawClient) -> int:
    """So many requests in the time; returns their number."""
    begun = due = time.monotonic()
    n = 0
    while due < begun + SECONDS:
        client.send(b"".join(client.stat_frame() for _ in range(BATCH)))
        n += len(client.replies(BATCH))
        due += 1 / BATCHES_PER_S
        time.sleep(max(0, due - time.monotonic()))
    return n


def exporter_cost(lab: Lab, how: str) -> list[Result]:
    """CPU time of its processes once it watches, as a share of one CPU."""
    stop = threading.Event()
    with _exporter(lab) as (pids, address), contextlib.closing(RawClient(lab.server.port)) as one:
        scraping = threading.Thread(target=_scrape, args=(address, stop))
        scraping.start()
        try:
            before, begun = _cpu_s(pids), time.monotonic()
            n = _send(one)
            used, took = _cpu_s(pids) - before, time.monotonic() - begun
        finally:
            stop.set()
            scraping.join()
    remark = f"{used / took:.4f} at {n / took:,.0f} requests/s"
    return [figure("exporter's own CPU", used / took, "of a CPU", how, remark, goal=0.005)]


def _resident_mib(pids: list[int]) -> float:
    texts = [Path(f"/proc/{pid}/status").read_text() for pid in pids]
    return sum(int(t.split("VmRSS:")[1].split()[0]) for t in texts) / 1024


def exporter_logins(lab: Lab, how: str) -> list[Result]:
    """Memory of its processes, once they have seen many sessions come and go."""
    with _exporter(lab) as (pids, address):
        for n in range(1, LOGINS + 1):
            AfpClient(lab.server.port).close()
            if n % 50 == 0:
                answer = urllib.request.urlopen(address, timeout=10).read().decode()
            if n == FEW_LOGINS:
                before = _resident_mib(pids)
        grown = _resident_mib(pids) - before
    counted = int(answer.split("\nafpscope_logins_total{")[1].split()[1])
    remark = f"{before:.0f} MiB after {FEW_LOGINS} logins"
    return [
        figure("logins not counted", LOGINS - counted, "logins", how, goal=0),
        figure(f"memory grown in {LOGINS:,} logins", grown, "MiB", how, remark, goal=1),
    ]
