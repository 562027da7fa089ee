# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps of docs/workflow.yml and of docs/cookbook.md's one for netatalk, run as they stand.

Played are GitHub (a repository with a base branch, its variables), the build of netatalk (the
installed folders are empty), sudo, the script that starts a server, and netatalk's own script that
reads metrics. Runs are cut short: by one test of lantest, and by fewer pairs.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import pytest
import yaml
from offline import command, preload
from scope import REPO, Run, Scope

# In make check: gate of one call more (test_gate_servers.py), and the cookbook (tests/python).
pytestmark = pytest.mark.judges
DOCS = REPO / "docs"
PORTS = ("5480", "5481", "5482")  # of the documents
TEST, PAIRS = "10", "2"
GATED = 3

STANDINS = {
    # Options of sudo, then a command.
    "sudo": 'while [ "${1#-}" != "$1" ]; do shift; done; exec "$@"\n',
    "meson": """case $1 in
setup) for word; do case $word in --prefix=*) echo "${word#*=}" > prefix ;; esac; done ;;
install) mkdir -p "$(cat prefix)" ;;
esac
""",
    "afpscope": """n=$#
while [ $((n--)) -gt 0 ]; do
    case $1 in
    12) set -- "$@" PAIRS ;;
    lantest) set -- "$@" lantest --tests TEST -n 2 ;;
    *) set -- "$@" "$1" ;;
    esac
    shift
done
case $1 in
lantest) exec SCOPE "$@" ;;
*) AFPSCOPE=SCOPE exec ANALYSIS "$@" ;;
esac
""",
    "perl": 'printf "%s\\n" "$@" > perl.words\n',
}
SERVER = """export AFPD_USERS=bench:secret1 AFPD_MEMORY=64M HOOKS
[ -d "$2" ] || { echo "nothing is installed in $2" >&2; exit 1; }
TESTS/server/down.sh "$1" > /dev/null 2>&1
exec TESTS/server/up.sh forky "$1" dbd > /dev/null
"""


def free_ports() -> list[int]:
    """As many as PORTS, each with the next one for its CNID server."""
    found: list[int] = []
    for port in range(30000 + os.getpid() % 1000 * 2, 32760, 2):
        with socket.socket() as one, socket.socket() as two, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            two.bind(("127.0.0.1", port + 1))
            found.append(port)
        if len(found) == len(PORTS):
            return found
    raise AssertionError("no free ports")


@dataclass
class Runner:
    """A checkout of a pull request, in which steps are run."""

    at: Path
    env: dict[str, str]
    ports: dict[str, int]

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        for name, port in self.ports.items():
            script = re.sub(rf"\b{name}\b", str(port), script)
        return subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=self.at,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def passes(self, script: str) -> str:
        done = self.run(script)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def server(self, **hooks: str) -> None:
        """From now on ci/server.sh starts such a one."""
        words = " ".join(f"{name}='{value}'" for name, value in hooks.items())
        text = SERVER.replace("HOOKS", words).replace("TESTS", str(REPO / "tests"))
        executable(self.at / "ci/server.sh", text)


def executable(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/bash\n{text}")
    path.chmod(0o755)


@pytest.fixture(scope="module")
def runner(scope: Scope, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    at, path = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("bin")
    names = {"SCOPE": scope.binary.resolve(), "ANALYSIS": " ".join(command())}
    names |= {"PAIRS": PAIRS, "TEST": TEST}
    for name, text in STANDINS.items():
        executable(path / name, re.sub(r"\b[A-Z]{4,}\b(?!=)", lambda m: str(names[m[0]]), text))
    env = os.environ | {
        "PATH": f"{path}:{os.environ['PATH']}",
        "USER": "root",
        "AFPSCOPE_PASSWORD": "secret1",
        "AFPSCOPE_RUNS": str(at / "runs"),
        "GITHUB_BASE_REF": "main",
        "GITHUB_STEP_SUMMARY": str(path / "summary"),
        "PR": "3301",
    }
    made = Runner(at, env, dict(zip(PORTS, free_ports(), strict=True)))
    who = "git -c user.name=ci -c user.email=ci@localhost"
    made.passes(f"mkdir ci; git init -q; touch code; git add code; {who} commit -qm base")
    made.passes("git update-ref refs/remotes/origin/main HEAD")
    made.server()
    try:
        yield made
    finally:
        for port in made.ports.values():
            subprocess.run([REPO / "tests/server/down.sh", str(port)], capture_output=True)


@pytest.fixture(scope="module")
def steps() -> dict[str, str]:
    """Name -> script; and how the counts are accepted, of the comment."""
    text = (DOCS / "workflow.yml").read_text()
    (job,) = yaml.safe_load(text)["jobs"].values()
    found = {step["name"]: step["run"] for step in job["steps"] if "run" in step}
    found["accept"] = "".join(re.findall(r"^#   ((?:for|afpscope) .*\n)", text, re.M))
    return found


@pytest.fixture(scope="module")
def measured(runner: Runner, steps: dict[str, str]) -> str:
    """What the step that counts has printed, once counts were accepted on such a server."""
    runner.passes(steps["Build both servers"])
    url = f"afp://bench@127.0.0.1:{runner.ports['5480']}/vol1"
    runner.passes(f'ci/server.sh 5480 "$PWD/installed"\nURL={url}\n{steps["accept"]}')
    shutil.move(runner.at / "counts.json", runner.at / "ci/counts.json")
    return runner.passes(steps["Count the calls of each AFP command"])


def test_the_steps_pass_on_a_server_that_did_not_change(
    runner: Runner, steps: dict[str, str], measured: str
) -> None:
    assert "gate: pass" in measured
    assert Run.load(runner.at / "new/run.json").complete
    runner.passes(steps["Compare times with the base branch"])
    runs = list((runner.at / "pairs").glob("**/run.json"))
    assert len(runs) == 2 * int(PAIRS) and all(Run.load(run).complete for run in runs)


def test_one_call_more_for_each_request_fails_the_job(
    runner: Runner, steps: dict[str, str], measured: str, tmp_path: Path
) -> None:
    shutil.rmtree(runner.at / "new")
    runner.server(AFPD_PRELOAD=preload(tmp_path), AFPD_ENV="ONCREATE_LGETXATTR=1")
    try:
        done = runner.run(steps["Count the calls of each AFP command"])
    finally:
        runner.server()
    assert done.returncode == GATED, done.stdout + done.stderr
    assert re.search(r"^::error .*FPCreateFile: afpd: xattr", done.stdout, re.M)


def rows(text: str) -> dict[str, tuple[str, str, float]]:
    """Key -> label, unit and value, by the rule of netatalk's metrics: five fields a line."""
    found = {}
    for line in text.splitlines():
        kind, key, label, unit, value = line.split("|")
        assert kind in ("table", "inline") and re.fullmatch(r"lantest\.[a-z0-9_]+\.mean_ms", key)
        assert label and key not in found
        found[key] = (label, unit, float(value))
    return found


def test_the_cookbook_s_steps_for_netatalk_s_own_workflow(
    runner: Runner, steps: dict[str, str], measured: str
) -> None:
    text = (DOCS / "cookbook.md").read_text()
    (block,) = (b for b in re.findall(r"(?:^    .*\n)+", text, re.M) if "netatalk-metrics" in b)
    script = re.sub(r"^    ", "", block, flags=re.M)
    accept = steps["accept"].replace("lantest", "lantest --set 4.6")
    accept = accept.replace("accepted", "accepted-46-").replace("counts.json", "ci/counts.json")
    for old in ("new", "ci/counts.json"):
        runner.passes(f"rm -rf {old}")
    url = f"afp://bench@127.0.0.1:{runner.ports['5480']}/vol1"
    runner.passes(f'ci/server.sh 5480 "$PWD/installed"\nURL={url}\n{accept}')
    assert "gate: pass" in runner.passes(script)
    found = rows((runner.at / "lantest.metrics").read_text())
    times: dict[int, list[float]] = {}
    for phase in Run.load(runner.at / "new/run.json").phases:
        times.setdefault(phase.test, []).append(phase["elapsed"] / 1e6)
    means = [value for key, (_, _, value) in found.items() if "all_tests" not in key]
    assert {unit for _, unit, _ in found.values()} == {"ms"}
    assert means == pytest.approx([fmean(of_test) for of_test in times.values()], abs=0.001)
    words = (runner.at / "perl.words").read_text().splitlines()
    assert words[0] == ".github/scripts/perf_history.pl"
    assert words[words.index("--section") + 1] == "lantest=lantest.metrics"
    assert words[words.index("--pr") + 1] == "3301"
