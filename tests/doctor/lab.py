# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope doctor on servers with faults, and on healthy ones: who is named first?

lab.py [-k NAME] [--levels 012] [--pairs] [--healthy] [--rows N] [--jobs 2] [--out FILE]
lab.py --table FILE...
lab.py --clean

Each row is a server with a fault in one of three doses (none, about a third of clients' waiting,
most of it), under a load, with a CNID scheme, of a version of netatalk, or of Samba (--cnid smb).
What clients wait is measured without the fault and with it. Prints a line for each row, and the
table. Rows that FILE already has are not run again. Needs root.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration" / "lib"))
from faults import CGROUPS, programs, ungroup
from outcome import FAILED, FALSE, SURE, summary, table, told
from patient import OWNER, How, Row, examine
from rows import planned, row_name, sampled, why_not

REPO = Path(__file__).resolve().parents[2]
PR_SET_PDEATHSIG = 1
ROW_S = 120  # the most that a row may take
Result = dict[str, Any]


def _examined(row: Row, how: How, pinned: bool, out: multiprocessing.connection.Connection) -> None:
    """In a process of its own, which cleans up when it, or who started it, is told to end."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()
    if pinned:
        os.sched_setaffinity(0, {how.cpus[0]})
    try:
        out.send(examine(row, how))
    except Exception as error:
        out.send({"error": str(error).strip(), "trace": traceback.format_exc()})


class Running:
    """A row that is being examined."""

    def __init__(self, row: Row, how: How, pinned: bool) -> None:
        self.row, self.cpus = row, how.cpus
        self.began = time.monotonic()
        self.pipe, theirs = multiprocessing.Pipe(False)
        self.process = multiprocessing.Process(target=_examined, args=(row, how, pinned, theirs))
        self.process.start()
        theirs.close()

    def result(self) -> Result | None:
        """None: it is not known yet."""
        if self.pipe.poll(0):
            try:
                result: Result = self.pipe.recv()
            except EOFError:
                result = {"error": f"it ended with {self.process.exitcode}"}
            self.process.join()
            return result
        if time.monotonic() - self.began > ROW_S:
            self.process.terminate()
            self.process.join(30)
            return {"error": f"it took more than {ROW_S} s"}
        return None

    def end(self) -> None:
        self.process.terminate()
        self.process.join()


class Lab:
    """Runs rows, and keeps their results."""

    def __init__(self, o: argparse.Namespace) -> None:
        self.o = o
        folder = REPO / "build" / "lab"
        folder.mkdir(parents=True, exist_ok=True)
        self.programs = programs(folder)
        self.out: Path = o.out
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.done = read([self.out]) if self.out.exists() else {}

    def _keep(self, row: Row, result: Result, seconds: float) -> None:
        is_ = {"name": row_name(row), "seconds": seconds, "load": row.load, "cnid": row.cnid}
        is_ |= {"suite": row.suite} | summary(row, result) | {"result": result}
        self.done[is_["name"]] = is_
        with self.out.open("a") as file:
            file.write(json.dumps(is_) + "\n")
        print(told(is_), flush=True)
        if self.o.v and (is_["outcome"] in (FALSE, SURE, FAILED) or self.o.v > 1):
            print(result.get("screen") or result.get("trace"), result.get("stderr", ""))

    def _run(self, rows: list[Row], cpus: list[tuple[int, int]], pinned: bool) -> None:
        """As many at a time as there are pairs of CPUs."""
        free, running = list(cpus), list[Running]()
        try:
            while rows or running:
                while rows and free:
                    how = How(self.o.d, free.pop(), self.programs)
                    running.append(Running(rows.pop(0), how, pinned))
                multiprocessing.connection.wait([it.pipe for it in running], 1)
                for it in list(running):
                    if (result := it.result()) is not None:
                        self._keep(it.row, result, time.monotonic() - it.began)
                        running.remove(it)
                        free.append(it.cpus)
        finally:
            for it in running:
                it.end()

    def run(self, rows: list[Row]) -> None:
        had = {name for name, row in self.done.items() if row["outcome"] != FAILED}
        left = []
        for row in rows:
            if why := why_not(row):
                print(f"skipped            {row_name(row)}: {why}", flush=True)
            elif row_name(row) not in had:
                left.append(row)
        print(f"{len(left)} rows; {len(rows) - len(left)} are done or cannot be made", flush=True)
        both = sorted(os.sched_getaffinity(0))[-2:][::-1]
        alone = [row for row in left if any(fault.alone for fault, _ in row.faults)]
        rest = [row for row in left if row not in alone]
        apart = (both[0], both[-1])
        if self.o.jobs > 1:
            self._run(rest, [(cpu, cpu) for cpu in both[: self.o.jobs]], True)
        else:
            self._run(rest, [apart], False)
        self._run(alone, [apart], False)


def read(files: list[Path]) -> dict[str, Result]:
    """The rows of files; a row of a later one counts instead of one of the same name."""
    rows: dict[str, Result] = {}
    for file in files:
        for line in file.read_text().splitlines():
            row = json.loads(line)
            rows[row["name"]] = row
    return rows


def unmount(env: Path, root: str, port: str) -> Path:
    """What is mounted in the folder of the server that has this environment; that folder."""
    values = dict(line.split("=", 1) for line in env.read_text().splitlines())
    folder = Path(values[root]) / "inst" / port
    for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
        if (at := line.split()[1]).startswith(f"{folder}/"):
            subprocess.run(["umount", "-l", at], check=True)
    return folder


def clean() -> None:
    """Removes what a laboratory left that was killed."""
    base = os.environ.get("AFPSCOPE_CACHE") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "afpscope"
    )
    down = REPO / "tests" / "server" / "smb-down.sh"
    for owner in Path(base, "server").glob(f"smb-inst-*/{OWNER}"):
        if Path("/proc", owner.read_text()).exists():
            continue
        port = owner.parent.name.removeprefix("smb-inst-")
        for group in CGROUPS.glob(f"*/afpscope-{port}"):
            ungroup(group)
        unmount(owner.parent / "env", "SMB_ROOT", port)
        subprocess.run([str(down), port], check=True)
        print(f"removed the server of port {port}")
    for owner in Path(base, "server").glob(f"inst-*/{OWNER}"):
        if Path("/proc", owner.read_text()).exists():
            continue
        port = owner.parent.name.removeprefix("inst-")
        for group in CGROUPS.glob(f"*/afpscope-{port}"):
            ungroup(group)
        with contextlib.suppress(OSError):
            subprocess.run(["ip", "link", "del", f"afplaba{port}"], stderr=subprocess.DEVNULL)
        folder = unmount(owner.parent / "env", "AFPD_ROOT", port)
        subprocess.run(["chattr", "-R", "-f", "-i", str(folder / "cnid")])
        down = REPO / "tests" / "server" / "down.sh"
        subprocess.run([str(down), port], check=True)
        print(f"removed the server of port {port}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("-k", metavar="NAME", default="", help="rows with this in their names")
    parser.add_argument("--levels", default="012", help="0 no harm, 1 a third, 2 most of it")
    parser.add_argument("--pairs", action="store_true", help="only two faults at once")
    parser.add_argument("--healthy", action="store_true", help="only servers without a fault")
    parser.add_argument("--rows", type=int, metavar="N", help="a sample of so many")
    parser.add_argument("--seed", type=int, default=1, help="of the sample, and of what meets what")
    parser.add_argument("--jobs", type=int, default=1, help="rows at a time, each on one CPU")
    parser.add_argument("-d", type=int, default=5, metavar="SECONDS", help="how long doctor looks")
    parser.add_argument("--suite", default="", help="of Debian, whose netatalk it is")
    parser.add_argument("--cnid", default="", help="only rows with this CNID scheme")
    parser.add_argument("--out", type=Path, default=REPO / "build" / "lab" / "results.json",
                        help="results, a line each")  # fmt: skip
    parser.add_argument("--table", nargs="+", type=Path, metavar="FILE", help="print only this")
    parser.add_argument("--list", action="store_true", help="print only the names of the rows")
    parser.add_argument("--clean", action="store_true", help="remove what a killed one left")
    parser.add_argument("-v", action="count", default=0, help="screens of what is wrong; -vv: all")
    o = parser.parse_args()
    os.environ.setdefault("AFPSCOPE", str(REPO / "build" / "afpscope"))
    if o.table:
        print(table(list(read(o.table).values())))
        return 0
    if o.clean:
        clean()
        return 0
    one, two, none = planned(o.seed)
    rows = two if o.pairs else none if o.healthy else one + two + none
    rows = [
        row for row in rows
        if o.k in row_name(row) and str(row.faults[0][1]) in o.levels
        and o.suite in row.suite and o.cnid in row.cnid
    ]  # fmt: skip
    if o.rows is not None:
        rows = sampled(rows, o.rows, o.seed)
    if o.list:
        print("\n".join(row_name(row) for row in rows))
        return 0
    if any(row.is_smb for row in rows):
        need = [str(REPO / "tests" / "need.sh"), "--libsmb2"]
        os.environ["LD_LIBRARY_PATH"] = subprocess.check_output(need, text=True).strip()
    lab = Lab(o)
    began = time.monotonic()
    lab.run(rows)
    print(table(list(lab.done.values())))
    print(f"- This took {(time.monotonic() - began) / 60:.1f} min")
    return any(row["outcome"] in (SURE, FAILED) for row in lab.done.values())


if __name__ == "__main__":
    sys.exit(main())
