# SPDX-License-Identifier: GPL-2.0-or-later
"""What -v prints of a run below its head is on the page of the HTML report: each title and row,
the page in Japanese has no sentence in English, and the saved run has what is promised of it.

For each command that keeps a run, and each kind of server.
Tests user/report/long/own.c, user/report/json/tables.c.
"""

from __future__ import annotations

import html
import itertools
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import promised
import pytest
from checks import port_option
from ganesha import Ganesha
from gluster import Gluster
from leftover import english
from netatalk import Server
from offline import joined, scripted
from rxing import Serving
from samba import Samba
from scheduling import in_check
from scope import FINDINGS, NOT_TOLD, OK, REPO, SLOW, Run, Scope
from terminal import on_terminal

WIDE = 1000  # columns: no table leaves out a column
# The page in English and the one in Japanese. Of the first nobody reads the figures, which take
# half of its time.
PAGES = """
import sys
from afpscope.cli import main
from afpscope.page import figures
folder, page, japanese = sys.argv[1:]
svg, figures.svg = figures.svg, lambda _made, _salt: "<svg></svg>"
code = main(["afpscope", "report", folder, "-o", page])
figures.svg = svg
sys.exit(code or main(["afpscope", "report", folder, "-o", japanese, "--lang", "ja"]))
"""


def lines_of(page: str) -> list[list[str]]:
    """The words of each row of a table, heading and paragraph."""
    found = re.findall(r"<(tr|h2|p)\b[^>]*>(.*?)</\1>", page, re.S)
    texts = (re.sub(r"<h2.*?</h2>|<[^>]*>", " ", text) for _, text in found)
    return [joined(html.unescape(text)).split() for text in texts]


def holds(line: Sequence[str], words: Sequence[str]) -> bool:
    """All words in their order. A head's may be the begin or the end of one."""
    at = 0
    for word in words:
        whole = word.rstrip("-")
        while at < len(line) and not (line[at].startswith(whole) or line[at].endswith(whole)):
            at += 1
        if at == len(line):
            return False
        at += word[-1] != "-"
    return True


def below_head(text: str) -> list[str]:
    """Without netatalk's table, the head, the short answers at the end, and where the run is."""
    body = re.split(r"^afpscope \S+ ", text, maxsplit=1, flags=re.M)[1].split("\n\n", 1)[1]
    body = re.split(r"\n\n(?:In short|Everything measured is in) ", body)[0]
    return [line.rstrip("#") for line in body.splitlines() if line.strip()]  # bars


def names_of(folder: Path) -> list[str]:
    """What is called so in every language: titles of tests, actions, options as they were given,
    settings of servers, as testparm prints those of Samba, a file system and its disks."""
    run = Run.load(folder / "run.json").saved
    titles = (p["title"].split(" [")[0] for p in run["phases"])
    actions = [a["name"] for p in run["phases"] for a in p.get("load", {}).get("actions", [])]
    notes = (run["server"].get(key) or "-" for key in ("smb.conf", "afp.conf"))
    settings = [setting for note in notes for setting in note.split("; ")]
    files = ("file system", run["server"].get("file system") or "-")
    return [*titles, *actions, *run["options"].values(), *settings, *files, str(folder)]


def walk(scope: Scope, tmp_path: Path, command: list[str], *others: int) -> None:
    """Runs the command with -v, makes the page of its run, and looks for each line on it.

    Exit codes: OK, and `others`.
    """
    folder, page = tmp_path / "run", tmp_path / "page.html"
    ended, said = on_terminal([*command, "-v", "-o", str(folder)], WIDE)
    assert ended in (OK, *others), said
    promised.keep_run(folder)
    assert promised.broken_run(promised.label_of(folder), folder) == []
    japanese = page.with_suffix(".ja.html")
    made = scripted(PAGES, folder, page, japanese)
    assert made.returncode == 0, made.stderr
    there = lines_of(page.read_text())
    # A heading and what it says besides stand in two lines of the page, and may be long.
    there += [a + b for a, b in itertools.pairwise(there)]
    lines = below_head(said)
    assert len(lines) > 10
    # The page's answer has the numbers of this line, in other words.
    replayed = [line for line in lines if line.startswith("Replayed: ")]
    for number in re.findall(r"\d[\d,]*", "".join(replayed)):
        assert any(number in word for one in there for word in one), replayed
    lines = [line.replace("DID NOT KEEP UP", "did not keep up") for line in lines]
    untold = r"CANNOT TELL (whether.* kept up)"
    lines = [re.sub(untold, lambda m: f"W{m[1][1:]} cannot be told", line) for line in lines]
    lines = [line for line in lines if line not in replayed]
    missing = [line for line in lines if not any(holds(one, joined(line).split()) for one in there)]
    assert not missing, "\n".join(missing)
    text = japanese.read_text()
    left = english(text, names_of(folder))
    words = (
        "Possible",
        "AFP commands",
        " others<",
        " processes)",
        "NOT KEPT",
        " too few",
        "AFP error",
    )
    for word in words:
        left += re.findall(f".{{0,80}}{re.escape(word)}.{{0,20}}", text)
    assert not left, "\n".join(left)


def test_lantest(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    walk(scope, tmp_path, scope.command(dbd, "-n", "1", "--tests", "5,8"))


def test_speedtest(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    work = ("-f", "Read,Write,Copy,ServerCopy", "-z", "64K,1", "-n", "2")
    walk(scope, tmp_path, scope.command(dbd, *work, tool="speedtest"))


# With pauses: what is printed of a load is the same of any number of actions.
LOAD = ("-n", "2", "-d", "2", "--ramp=0", "--files=4", "--file-size=16K", "--think=0.02")
WITHOUT_PAUSES = LOAD[:-1]  # of few requests nothing is concluded


def test_load(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    """With limits that are kept, and one that is not."""
    limits = ("--slo", "failed<=100%,p99<=60s", "--slo", "rate>=1000000")
    walk(scope, tmp_path, scope.command(dbd, *LOAD, *limits, tool="load"), SLOW)


@pytest.fixture
def recording(scope: Scope, dbd: Server, tmp_path: Path) -> str:
    """Of a load over AFP."""
    there, trace = str(tmp_path / "recording"), ("--trace=requests", "--replayable")
    scope(dbd, *LOAD, *trace, "-o", there, tool="load").expect(OK)
    return there


def test_replay(scope: Scope, dbd: Server, recording: str, tmp_path: Path) -> None:
    """In which a limit is not kept."""
    again = scope.command(dbd, recording, "--slo", "rate>=1000000", tool="replay")
    walk(scope, tmp_path, again, SLOW)
    page = (tmp_path / "page.html").read_text()
    assert page.index("Answered as recorded: all") < page.index("Recorded, as the server took")


def test_probe(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    walk(scope, tmp_path, scope.command(dbd, "-q", "-d", "2", tool="probe"))


def test_smallfile_on_a_server(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    walk(scope, tmp_path, scope.command(dbd, "--files", "20", "--threads", "2", tool="smallfile"))


@pytest.mark.judges
def test_smallfile(scope: Scope, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    work = ("smallfile", str(tmp_path / "files"), "--files", "20", "--threads", "2")
    walk(scope, tmp_path, [str(scope.binary), *work])


def test_a_recording_of_afp(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    load = [str(scope.binary), "load", *scope.login(dbd), *WITHOUT_PAUSES, "--no-save"]
    loading = scope.start(load)
    walk(scope, tmp_path, scope.recorder(dbd, "-d", "4"))
    loading.finish().expect(OK)


def test_a_diagnosis(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    load = [str(scope.binary), "load", *scope.login(dbd), *WITHOUT_PAUSES, "--no-save"]
    loading = scope.start(load)
    watch = [str(scope.binary), "doctor", *port_option(dbd), "-d", "3"]
    walk(scope, tmp_path, watch, FINDINGS, NOT_TOLD)
    loading.finish().expect(OK)
    assert "Causes that doctor looked for" in (tmp_path / "page.html").read_text()


@pytest.mark.judges
def test_a_recording_of_another_program(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    load = [str(scope.binary), "load", *scope.login(dbd), *WITHOUT_PAUSES, "--no-save"]
    loading = scope.start(load)
    walk(scope, tmp_path, scope.recorder(dbd, "--kind", "any", "-d", "4"))
    loading.finish().expect(OK)


# Of the replays in check only this one is on a share, and only it has no pauses: in phases[].replay
# what tells how it kept up is null then.
ON_SHARE = in_check(["load", "smallfile", "replay"], ["load", "replay"])


def walk_work(
    scope: Scope, tmp_path: Path, command: list[str], place: str, recording: str, tool: str
) -> None:
    work = {
        "load": (place, *LOAD),
        "smallfile": (place, "--files", "20", "--threads", "2"),
        "replay": (recording, place, "--no-think"),
    }
    (tmp_path / tool).mkdir()
    walk(scope, tmp_path / tool, [*command, tool, *work[tool]])


@pytest.fixture
def bricks() -> Iterator[Gluster]:
    with Gluster(GLUSTER_MOUNT="one", GLUSTER_MEMORY="64M") as server:
        yield server


@pytest.mark.judges
@pytest.mark.limit(300)
def test_a_recording_of_gluster(scope: Scope, bricks: Gluster, tmp_path: Path) -> None:
    folder = bricks.mnt / "one"
    writes = f"for i in 1 2 3 4 5 6; do echo x > {folder}/f$i; sleep 0.5; done"
    loading = scope.start(["sh", "-c", writes])
    pid = str(bricks.brick_pid("one"))
    walk(scope, tmp_path, scope.recorder(None, "--kind", "gluster", "--pid", pid, "-d", "4"))
    loading.finish().expect(OK)
    (tmp_path / "small").mkdir()
    work = ("smallfile", str(folder), "--files", "20", "--threads", "2")
    walk(scope, tmp_path / "small", [str(scope.binary), *work])
    page = (tmp_path / "small" / "page.html").read_text()
    assert "AFP" not in page and "FPRead" not in page
    assert "brick: calls per operation of a client" in page and ">LOOKUP<" in page


@pytest.fixture(scope="module")
def samba() -> Iterator[Samba]:
    with Samba("bookworm") as server:
        yield server


@pytest.fixture
def on_share(scope: Scope, samba: Samba) -> tuple[list[str], str]:
    """What stands before a command that works on a share, and the share."""
    library = subprocess.run(
        [REPO / "tests/need.sh", "--libsmb2"], stdout=subprocess.PIPE, text=True, check=True
    )
    there = ["env", f"LD_LIBRARY_PATH={library.stdout.strip()}", "AFPSCOPE_PASSWORD=secret1"]
    return [*there, str(scope.binary)], f"smb://bench1@127.0.0.1:{samba.port}/share1"


def test_a_recording_of_samba(
    scope: Scope, samba: Samba, on_share: tuple[list[str], str], tmp_path: Path
) -> None:
    command, share = on_share
    loading = scope.start([*command, "load", share, *LOAD, "--no-save"])
    which = ("--kind", "smb", "--port", str(samba.port), "-d", "4")
    walk(scope, tmp_path, scope.recorder(None, *which))
    loading.finish().expect(OK)


@pytest.mark.parametrize("tool", ON_SHARE)
def test_work_on_samba(
    scope: Scope,
    on_share: tuple[list[str], str],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tool: str,
) -> None:
    recording = request.getfixturevalue("recording") if tool == "replay" else ""
    walk_work(scope, tmp_path, *on_share, recording, tool)


@pytest.mark.judges
@pytest.mark.usefixtures("with_libnfs")
@pytest.mark.limit(300)
def test_a_recording_of_ganesha(scope: Scope, recording: str, tmp_path: Path) -> None:
    """And work on an export of it, and a replay."""
    with Ganesha("bookworm") as server:
        where = f"127.0.0.1:{server.port}{server.path1}?mountport={server.mount_port}"
        command = [str(scope.binary)]
        loading = scope.start([*command, "load", f"nfs://{where}", *LOAD, "--no-save"])
        which = ("--kind", "nfs", "--port", str(server.port), "-d", "4")
        walk(scope, tmp_path, scope.recorder(None, *which))
        loading.finish().expect(OK)
        for tool in ("load", "smallfile", "replay"):
            walk_work(scope, tmp_path, command, f"nfs://{where}", recording, tool)


def test_calls_over_rx_and_a_recording_of_their_server(scope: Scope, tmp_path: Path) -> None:
    with Serving(scope) as served:
        command = ["rx", f"127.0.0.1:{served.port}", "-c", "recv,rpc", "--times", "50"]
        calls = [str(scope.binary), *command]
        (tmp_path / "a").mkdir()
        walk(scope, tmp_path / "a", calls)
        loading = scope.start(["sh", "-c", f"sleep 1; exec {' '.join(calls)} --no-save"])
        where = ("--kind", "rx", "--port", str(served.port), "-d", "4")
        (tmp_path / "b").mkdir()
        walk(scope, tmp_path / "b", scope.recorder(None, *where))
        loading.finish().expect(OK)
