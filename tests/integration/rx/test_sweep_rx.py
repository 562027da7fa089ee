# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope sweep of servers over Rx: ours, made anew for each step, and one that a command sets up.

What is computed of it: tests/python/test_rx_sweep.py.
"""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from offline import analysis, command
from rxing import Serving
from scope import FAILED, OK, USAGE, Scope, wait_until


def sweep(scope: Scope, out: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return analysis("sweep", "--program", scope.binary, "-o", out, "--pause", "0", *words)


def noted(out: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((out / "sweep.json").read_text())
    return value


def test_the_buffer_of_our_server_is_swept(scope: Scope, tmp_path: Path) -> None:
    """With the small one its socket drops, and calls wait; the large one drops nothing."""
    out = tmp_path / "out"
    # On a busy machine 40 clients may come one after the other, and nothing is dropped.
    calls = ("-c", "recv,send", "-n", "100", "-T", "2", "-b", "64000")
    done = sweep(scope, out, "--serve", "--buffer 64K,8M -s 64 -S 64", *calls, "--refine", "0",
                 "--json")  # fmt: skip
    assert done.returncode == OK, done.stderr
    found = json.loads(done.stdout)
    small, large = found["rows"]
    assert (small["value"], large["value"]) == ("64K", "8M")
    assert (small["buffer"], large["buffer"]) == (65536, 8 << 20)
    assert small["drops"] > 0 and large["drops"] == 0
    assert [test["name"] for test in found["tests"]] == ["recv", "send"]
    assert found["tests"][1]["ratio"] > 1.5  # of send
    # a slow machine may find another cause as well, or grow no further
    assert not found["limit"] or found["limit"]["kind"] in ("socket-buffer", "listener-waits")
    made = noted(out)
    assert made["complete"] and made["command"] == "rx" and made["option"] == "serve.buffer"
    for step in made["steps"]:
        server = json.loads((out / f"{step['folder']}-server.json").read_text())
        row = small if step["value"] == "64K" else large
        assert server["drops"] == row["drops"]
        assert server["buffer_granted"] == row["buffer"]
        assert server["calls"]["recvs"] == server["calls"]["sends"] == 200
    page = tmp_path / "page.html"
    report = analysis("report", out, "-o", page)
    assert report.returncode == OK, report.stderr
    assert "serve.buffer" in page.read_text()
    step = next(s["folder"] for s in made["steps"] if s["value"] == "64K")
    report = analysis("report", out / step, "-o", page)
    assert report.returncode == OK, report.stderr
    text = page.read_text()
    for heading in ("rx_calls", "rx_packets", "rx_served", "rx_sockets"):
        assert f'<h2 id="r1-{heading}">' in text, heading
    # By /proc and by the tracepoint.
    assert f'<td class="alarm">{small["drops"]:,}</td><td>{small["drops"]:,}</td>' in text


def test_a_command_sets_up_each_step(scope: Scope, tmp_path: Path) -> None:
    """For servers that are not ours; its failure ends the sweep with what was measured."""
    said, out = tmp_path / "said", tmp_path / "out"
    each = f'echo {{}} $AFPSCOPE_VALUE >> {said}; [ {{}} != 4M ] || {{ echo "no" >&2; exit 3; }}'
    with Serving(scope) as server:
        done = sweep(scope, out, "--each", each, "--values", "1M,2M,4M", "--order", "up",
                     "-c", "rpc", f"rx://127.0.0.1:{server.port}")  # fmt: skip
        assert done.returncode == FAILED
    assert "--each failed with 3 at 4M: no" in done.stderr
    assert said.read_text().splitlines() == ["1M 1M", "2M 2M", "4M 4M"]
    assert [s["exit"] for s in noted(out)["steps"]] == [OK, OK, None]
    assert server["rpcs"] == 200


def test_a_signal_leaves_no_server(scope: Scope, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["sweep", "--program", str(scope.binary), "-o", str(out), "--pause", "0"]
    line = [*command(), *words, "--serve", "-S 2,4", "-c", "rpc", "-d", "60"]
    running = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(
        lambda: any("UDP port" in f.read_text() for f in out.glob("*-server.txt")), 30, "a server"
    )
    wait_until(lambda: any(out.glob("001-*/run.json*")) or any(out.glob("001-?")), 30, "a step")
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert noted(out)["stopped"] == "SIGINT"
    assert next(out.glob("001-*-server.json")).stat().st_size > 0
    left = subprocess.run(["pgrep", "-f", f"json {out}/"], capture_output=True, text=True)
    assert not left.stdout


def test_a_server_of_ours_and_another_one_are_not_both_loaded(scope: Scope, tmp_path: Path) -> None:
    done = sweep(scope, tmp_path / "out", "--serve", "-S 2,4", "rx://127.0.0.1:7009")
    assert done.returncode == USAGE and "is another one" in done.stderr
