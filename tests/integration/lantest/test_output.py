# SPDX-License-Identifier: GPL-2.0-or-later
"""What is printed and saved, next to what the peer prints; logins and options.

Tests user/main/lantest.c, user/app/output.c, user/compat/peer.c.
"""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, stdev

import pytest
from netatalk import USERS, Server
from scheduling import WATCHES, in_check
from scope import BUILD, OK, TIMED, USAGE, Both, Done, Scope, pinning

IO_HEAD = [
    *("Test", "Time_ms", "Time±", "AFPD_R", "AFPD_R±", "AFPD_W", "AFPD_W±"),
    *("CNID_R", "CNID_R±", "CNID_W", "CNID_W±", "MB/s"),
]
PLAIN_HEAD = ["Test", "Time_ms", "Time±", "MB/s"]
# For tests that need any run.
QUICK = ("-n", "1", "-f", ";", "--watch=off")


@pytest.fixture
def full(twelve: Both) -> Done:
    """All twelve: text of both tables, JSON."""
    return twelve.dbd


def peer(server: Server, *args: str) -> subprocess.CompletedProcess[str]:
    """afp_lantest with the usual options first."""
    return run_peer(server, ["-h", "127.0.0.1", "-p", str(server.port), *args])


def run_peer(server: Server, args: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = server.peer_command("afp_lantest")
    at = command.index("afp_lantest") + 1
    return subprocess.run(
        [*pinning(server), *command[:at], *args],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


# The peer's table


def table(text: str) -> list[str]:
    """From the head of the table to the row before the sum, lines."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Test  "))
    end = next(i for i, line in enumerate(lines) if line.startswith("Sum of all"))
    return lines[start:end]


def shape(line: str) -> str:
    """A row with its numbers blotted out: titles, widths and decimals stay."""
    return line[:66] + re.sub(r" *-?\d+(\.\d+)?", lambda m: f"{len(m[0])}{bool(m[1])} ", line[66:])


@pytest.mark.limit(300)
def test_text_is_the_peers(full: Done, peer_text: Callable[[], str]) -> None:
    """Head, rules and titles to the character; cells of the same widths."""
    theirs, ours = peer_text(), full.out
    assert len(table(ours)) == len(table(theirs)) == 15
    for our_line, their_line in zip(table(ours), table(theirs), strict=True):
        assert shape(our_line) == shape(their_line)
    banner = next(line for line in theirs.splitlines() if line.startswith("Netatalk Lantest"))
    assert ours.splitlines()[0] == banner
    for line in ("Aggregates Summary:",):
        assert line in ours.splitlines()
    for start in ("Average Time per AFP OP: ", "Average AFPD Reads per AFP OP: "):
        assert f"\n{start}" in theirs
        assert f"\n{start}" in ours


@pytest.mark.limit(300)
def test_progress_is_the_peers(full: Done, peer_text: Callable[[], str]) -> None:
    def lines(text: str) -> list[str]:
        found = re.findall(r"^(?:Run \d|         IO Oper).*$", text, re.MULTILINE)
        return [re.sub(r"\d+", "#", re.sub(r" +(?=\d+ ms)", " ", line)) for line in found]

    assert lines(full.err) == lines(peer_text())


def test_csv(scope: Scope, dbd: Server) -> None:
    """One header, one row a test, one sum; nothing else on stdout."""
    done = scope(dbd, "-n", "2", "-f", "2:;", "-c", save=True).expect(OK)
    rows = list(csv.reader(done.out.splitlines()))
    assert rows[0] == IO_HEAD
    assert all(len(row) == len(IO_HEAD) for row in rows)
    titles = [done.run.phase(test).title for test in (2, 10, 11)] if done.run else []
    assert [row[0] for row in rows[1:4]] == titles
    assert rows[4][0] == f"Sum of all AFP OPs = {101 + 820 + 3500}"
    assert len(rows) == 5
    assert rows[2][3:7] == ["820", "0.0", "1620", "0.0"]
    for row in rows[1:4]:
        assert float(row[1]) > 0
        assert float(row[2]) >= 0
    # A rate only where data is moved in bulk.
    assert [float(row[11]) > 0 for row in rows[1:4]] == [True, False, False]


def test_csv_without_watch(scope: Scope, dbd: Server) -> None:
    done = scope(dbd, "-n", "1", "-f", ";", "-c", "--watch=off").expect(OK)
    rows = list(csv.reader(done.out.splitlines()))
    assert rows[0] == PLAIN_HEAD
    assert len(rows) == 3


def test_set_4_6_on_a_server_of_4_5(scope: Scope, dbd: Server) -> None:
    """Its CSV is read by who takes six numbers at the end of a line, the second alone with
    decimals; the titles, and so the last row, say 49,326 operations; 49,321 are sent."""
    done = scope(dbd, "--set", "4.6", "-n", "1", "-c", "--watch=off", save=True).expect(OK)
    row = re.compile(r"(.+),(\d+),([\d.]+),(\d+),(\d+),(\d+),(\d+)")
    head, *lines = done.out.splitlines()
    assert head == "Test,Time_ms,Time±,Min_ms,Max_ms,Median_ms,MB/s"
    titles = [found[1] for line in lines if (found := row.fullmatch(line))]
    said = [re.search(r"\[~?([\d,]+) AFP ops\]$", title) for title in titles]
    assert sum(int(n[1].replace(",", "")) for n in said if n) == 49326
    assert done.run and done.run.saved["set"] == "lantest-4.6"
    assert [p.title for p in done.run.phases] == titles and len(titles) == 17
    assert sum(p["ops"] for p in done.run.phases) == 49321
    assert lines[17].startswith("Sum of all AFP OPs = 49326,") and len(lines) == 18


def test_csv_head_is_the_peers(dbd: Server) -> None:
    done = peer(dbd, "-s", "vol1", "-u", "bench1", "-w", "secret1", "-n", "1", "-f", ";", "-c")
    assert ",".join(IO_HEAD) in done.stdout.splitlines()


# JSON


def test_json_has_everything(full: Done) -> None:
    assert full.run
    saved = full.run.saved
    assert saved["schema"] == 2
    assert saved["command"] == "lantest"
    assert saved["set"] == "lantest-4.5"
    assert re.fullmatch(r"[0-9a-f]{16}", saved["id"])
    assert re.fullmatch(r"\d{4}(-\d\d){2}T(\d\d:){2}\d\d\.\d{9}Z", saved["started"])
    full.run.assert_trustworthy()
    congestion = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    assert saved["environment"]["client.congestion"] == congestion
    assert saved["server"]["afpd.congestion"] == congestion
    keys = {metric["key"] for metric in saved["metrics"]}
    assert len(keys) == len(saved["metrics"])
    assert all(metric["unit"] in ("ns", "1", "B") for metric in saved["metrics"])
    assert all(metric["meaning"] for metric in saved["metrics"])
    assert [(p.test, p.iteration) for p in full.run.phases] == [(test, 1) for test in range(1, 13)]
    for phase in full.run.phases:
        assert set(phase.metrics) == keys
        unknown = {key for key, value in phase.metrics.items() if value is None}
        # of smallfile and of rx
        others = {key for key in keys if key in ("cache_looked", "cached") or key.startswith("rx_")}
        assert unknown == others
        assert phase.commands() == TIMED[phase.test]
        assert phase["errors"] == 0
        assert phase["elapsed"] > 0
        for command in phase.saved["commands"]:
            check_latency(command)
    starts = [phase.saved["start_ns"] for phase in full.run.phases]
    assert starts == sorted(starts)


def check_latency(command: dict[str, object]) -> None:
    latency = command["latency"]
    assert isinstance(latency, dict)
    assert latency["n"] == command["ops"]
    order = [latency[key] for key in ("min_ns", "p50_ns", "p95_ns", "p99_ns", "p999_ns", "max_ns")]
    assert order == sorted(order)
    assert 0 < latency["min_ns"] <= latency["max_ns"] < 120 * 10**9
    assert latency["min_ns"] * latency["n"] <= latency["sum_ns"]
    assert latency["sum_ns"] <= latency["max_ns"] * latency["n"]
    assert sum(count for _, count in latency["histogram"]["buckets"]) == latency["n"]


def test_json_agrees_with_the_table(scope: Scope, dbd: Server) -> None:
    """Both are of the same figures: means over the iterations."""
    done = scope(dbd, "-n", "3", "-v", "-f", "2:;", save=True).expect(OK)
    assert done.run
    assert "across 3 iterations)" in done.out
    for test, row in zip((2, 10, 11), table(done.out)[2:-1], strict=True):
        cells = row[66:].split()
        phases = [done.run.phase(test, iteration) for iteration in (1, 2, 3)]
        for cell, key, unit in (
            (0, "elapsed", 1e6),
            (2, "afpd_syscr", 1),
            (4, "afpd_syscw", 1),
            (6, "cnid_syscr", 1),
            (8, "cnid_syscw", 1),
        ):
            values = [phase[key] / unit for phase in phases]
            assert abs(float(cells[cell]) - mean(values)) <= 0.5 + 1e-6, (test, key)
            assert abs(float(cells[cell + 1]) - stdev(values)) <= 0.05 + 1e-6, (test, key)


def test_json_to_stdout(scope: Scope, dbd: Server) -> None:
    """And nothing else."""
    done = scope(dbd, *QUICK, "--json", "-").expect(OK)
    assert json.loads(done.out)["complete"] is True


def test_json_replaces(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")
    scope(dbd, *QUICK, "--json", str(path)).expect(OK)
    assert json.loads(path.read_text())["complete"] is True
    assert [each.name for each in tmp_path.iterdir()] == ["run.json"]


# Work


@pytest.mark.limit(300)
def test_one_gigabyte(scope: Scope, dbd: Server) -> None:
    """-g moves it, and the rate is of the bytes moved."""
    done = scope(dbd, "-n", "1", "-v", "-g", "-f", "3", save=True).expect(OK)
    assert done.run
    for test, code in ((2, 61), (3, 60)):
        phase = done.run.phase(test)
        assert phase["bytes"] == 1_048_540_000
        assert phase.commands() == {code: 1000, 4: 1}
        rate = phase["bytes"] * 1e3 / phase["elapsed"]
        row = next(line for line in table(done.out) if line.startswith(phase.title))
        assert abs(float(row.split()[-1]) - rate) <= 0.5 + 1e-6
    assert done.run.phase(2)["afpd_wchar"] >= 1_048_540_000


@pytest.mark.parametrize("watch", WATCHES)
def test_tests_as_a_list(scope: Scope, dbd: Server, watch: str) -> None:
    done = scope(dbd, "-n", "1", "--tests", "6,10-11", watch, save=True).expect(OK)
    assert done.run
    assert [phase.test for phase in done.run.phases] == [5, 6, 10, 11]


@pytest.mark.parametrize("watch", WATCHES)
def test_own_file_is_read(scope: Scope, dbd: Server, watch: str) -> None:
    """-F: test 3 alone, and the file stays."""
    own = dbd.vol1 / "own.bin"
    with own.open("wb") as out:
        out.truncate(100 * 1048540)
    own.chmod(0o666)
    try:
        args = ("-n", "2", "-f", "3", "-F", "own.bin", watch)
        done = scope(dbd, *args, save=True).expect(OK)
        assert done.run
        assert [phase.test for phase in done.run.phases] == [3, 3]
        assert done.run.phase(3)["bytes"] == 100 * 1048540
        assert own.stat().st_size == 100 * 1048540
    finally:
        own.unlink()


@pytest.mark.parametrize("table_name", ["peer", "netatalk", "afpscope", "screen"])
def test_one_table(scope: Scope, dbd: Server, table_name: str) -> None:
    done = scope(dbd, "-n", "1", "-f", ";", "--table", table_name).expect(OK)
    assert ("Netatalk Lantest Results" in done.out) == (table_name in ("peer", "netatalk"))
    assert (f"{'AFP commands':12}" in done.out) == (table_name == "afpscope")


# Logins


VERSIONS = {"-3": "AFPX03", "-4": "AFP3.1", "-5": "AFP3.2", "-6": "AFP3.3", "-7": "AFP3.4"}
# The oldest and the newest one are watched in check, the others in check-judges.
MIDDLE = [(option, "--watch=off") for option in ("-4", "-5", "-6")]
WATCHED = [(option, "--watch=auto") for option in VERSIONS]


@pytest.mark.parametrize(
    ("option", "watch"), in_check([*WATCHED, *MIDDLE], [WATCHED[0], WATCHED[-1], *MIDDLE])
)
def test_version(scope: Scope, dbd: Server, option: str, watch: str) -> None:
    run = scope.measure(dbd, *QUICK, watch, option)
    assert run.saved["server"]["afp_version"] == VERSIONS[option]
    assert run.phase(11).commands() == TIMED[11]


def test_best_method_is_chosen(scope: Scope, dbd: Server) -> None:
    done = scope(dbd, *QUICK, save=True, uam=None).expect(OK)
    assert done.run
    assert done.run.saved["server"]["uam"] == "DHX2"


def test_long_password(scope: Scope, dbd: Server) -> None:
    """Longer than the eight bytes of clear text: by DHX2."""
    assert len(USERS["longpw"]) > 8
    scope(dbd, *QUICK, user="longpw", uam="dhx2").expect(OK)
    scope(dbd, *QUICK, user="longpw", uam=None).expect(OK)


def test_guest(scope: Scope, dbd: Server) -> None:
    done = scope(dbd, *QUICK, save=True, user=None, uam="guest").expect(OK)
    assert done.run
    assert done.run.saved["server"]["uam"] == "No User Authent"


def test_password_from_a_file(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text("secret1\nignored\n")
    scope(dbd, *QUICK, "--password-file", str(path)).expect(OK)
    path.write_text("")
    command = scope.command(dbd, *QUICK, "--password-file", str(path))
    scope.execute(command).expect(USAGE, str(path), "empty")


def without_password(scope: Scope, server: Server, *args: str) -> list[str]:
    command = scope.command(server, *args)
    at = command.index("-w")
    return command[:at] + command[at + 2 :]


def test_password_from_the_environment(scope: Scope, dbd: Server) -> None:
    env = {"AFPSCOPE_PASSWORD": "secret1"}
    scope.execute(without_password(scope, dbd, *QUICK), env=env).expect(OK)


def test_password_is_not_in_ps(scope: Scope, dbd: Server) -> None:
    """Neither of -w nor of a URL."""
    url = f"afp://bench1:secret1@127.0.0.1:{dbd.port}/vol1"
    program = [*pinning(dbd), str(scope.binary), "lantest", "-v", *QUICK]
    for command in (scope.command(dbd, "-v", *QUICK), [*program, url]):
        running = scope.start(command)
        running.wait_for("Connecting to host")
        assert "secret1" not in Path(f"/proc/{running.process.pid}/cmdline").read_text()
        running.finish().expect(OK)


def test_url(scope: Scope, dbd: Server) -> None:
    program = [*pinning(dbd), str(scope.binary), "lantest", *QUICK]
    env = {"AFPSCOPE_PASSWORD": "secret1"}
    for url in (
        f"afp://bench1@127.0.0.1:{dbd.port}/vol1",
        f"AFP://bench1:secret1@localhost:{dbd.port}/vol%31",
        f"afp://b%65nch1:s%65cret1@127.0.0.1:{dbd.port}/vol1",
    ):
        done = scope.execute([*program, url], save=True, env=env).expect(OK)
        assert done.run
        assert done.run.saved["server"]["volume"] == "vol1"


# Under the peer's name


@pytest.fixture
def compatible(scope: Scope, tmp_path: Path) -> Path:
    link = tmp_path / "afp_lantest"
    link.symlink_to(scope.binary)
    return link


def test_make_builds_the_link() -> None:
    assert (BUILD / "afp_lantest").resolve() == (BUILD / "afpscope").resolve()


MISTAKES: dict[str, list[str]] = {
    "nothing": [],
    "unknown option": ["-Z"],
    "no volume": ["-h", "127.0.0.1", "-u", "bench1", "-w", "secret1"],
    "no password": ["-h", "127.0.0.1", "-s", "vol1", "-u", "bench1"],
    "-n 0": ["-s", "vol1", "-u", "bench1", "-w", "secret1", "-n", "0"],
    "-n x": ["-s", "vol1", "-u", "bench1", "-w", "secret1", "-n", "x"],
    "-p 0": ["-s", "vol1", "-u", "bench1", "-w", "secret1", "-p", "0"],
    "-p 65536": ["-s", "vol1", "-u", "bench1", "-w", "secret1", "-p", "65536"],
    "nobody listens": ["-h", "127.0.0.1", "-p", "1", "-s", "vol1", "-u", "bench1", "-w", "x"],
    "wrong volume": ["-h", "SERVER", "-p", "PORT", "-s", "no", "-u", "bench1", "-w", "secret1"],
    "wrong password": ["-h", "SERVER", "-p", "PORT", "-s", "vol1", "-u", "bench1", "-w", "wrong"],
    "wrong user": ["-h", "SERVER", "-p", "PORT", "-s", "vol1", "-u", "nosuch", "-w", "x"],
    "read-only": ["-h", "SERVER", "-p", "PORT", "-s", "ro", "-u", "bench1", "-w", "secret1"],
}
PEERS_CODE = {
    **dict.fromkeys(("nothing", "unknown option", "no volume", "no password"), 1),
    **dict.fromkeys(("-n 0", "-n x", "-p 0", "-p 65536"), 8),
    "nobody listens": 2,
    "wrong volume": 9,
    "wrong password": 10,
    "wrong user": 10,
    "read-only": 3,
}


def arguments_of(mistake: str, server: Server) -> list[str]:
    words = {"SERVER": "127.0.0.1", "PORT": str(server.port)}
    return [words.get(arg, arg) for arg in MISTAKES[mistake]]


# Of the others, which are found before a connection is made: unit/main/test_usage.c.
@pytest.mark.parametrize("mistake", ["no password", *(m for m in MISTAKES if "-h" in MISTAKES[m])])
def test_exit_codes(scope: Scope, dbd: Server, compatible: Path, mistake: str) -> None:
    ours = scope.execute([str(compatible), *arguments_of(mistake, dbd)], timeout=20)
    assert ours.status == PEERS_CODE[mistake], f"{ours}"


@pytest.mark.judges
@pytest.mark.parametrize("mistake", MISTAKES)
def test_exit_codes_are_the_peers(
    scope: Scope, dbd: Server, compatible: Path, mistake: str
) -> None:
    args = arguments_of(mistake, dbd)
    ours = scope.execute([str(compatible), *args], timeout=20)
    theirs = run_peer(dbd, args)
    code = PEERS_CODE[mistake]
    assert ours.status == code, f"{ours}"
    # Now and then it logs out on the connection that the server has closed.
    sigpipe = [-signal.SIGPIPE] if code == 10 else []
    assert theirs.returncode in (code, *sigpipe), f"{theirs}"


@pytest.mark.parametrize("more", [["-f", "0"], ["-f", "K"], ["-f", "=", "extra"]])
def test_what_the_peer_forgives(
    scope: Scope, dbd: Server, compatible: Path, more: list[str]
) -> None:
    """Tests that there are not: it runs nothing and is content. An operand is not looked at."""
    args = ["-h", "127.0.0.1", "-p", str(dbd.port), "-s", "vol1", "-u", "bench1", "-w", "secret1"]
    done = scope.execute([str(compatible), *args, *more]).expect(OK)
    assert "Run 1" not in done.out and not done.messages


def test_compatible_csv_is_the_peers(scope: Scope, dbd: Server, compatible: Path) -> None:
    """All on stdout, as there, and titles without quotes."""
    args = ["-h", "127.0.0.1", "-p", str(dbd.port), "-s", "vol1", "-u", "bench1", "-w", "secret1"]
    args += ["-c", "-n", "1", "-f", ";"]
    ours = scope.execute([*pinning(dbd), str(compatible), *args]).expect(OK)
    theirs = run_peer(dbd, args)

    def lines(text: str) -> list[str]:
        kept = [line for line in text.splitlines() if "/proc_io" not in line]
        kept = [re.sub(r"'(LanTest|\.?afpscope)[^']*'", "'NAME'", line) for line in kept]
        return [re.sub(r"\d+(\.\d+)?", "#", re.sub(r" +(?=\d+ ms)", " ", line)) for line in kept]

    assert lines(ours.out) == lines(theirs.stdout)
    assert not ours.err
    assert re.search(r"^Deep path[^\"]*,", ours.out, re.MULTILINE)
    assert "\nSuccessfully deleted test directory '" in ours.out
    assert "\nIO monitoring enabled (afpd: " in ours.out


def test_compatible_output(scope: Scope, dbd: Server, compatible: Path) -> None:
    """Progress on stdout, as the peer's, then its table, and no other one."""
    args = ["-h", "127.0.0.1", "-p", str(dbd.port), "-s", "vol1", "-u", "bench1", "-w", "secret1"]
    args += ["-n", "1", "-f", ";"]
    done = scope.execute([*pinning(dbd), str(compatible), *args]).expect(OK)
    theirs = run_peer(dbd, args)
    assert theirs.returncode == 0
    assert done.out.startswith(theirs.stdout.splitlines()[0] + "\n")
    for ours_line, theirs_line in zip(table(done.out), table(theirs.stdout), strict=True):
        assert shape(ours_line) == shape(theirs_line)
    assert "Run 1 => Deep path" in done.out
    assert "AFP commands" not in done.out
    assert "\n" + "=" * 108 + "\n" in done.out and "\n" + "=" * 108 + "\n" in theirs.stdout
    assert done.out.endswith(theirs.stdout.splitlines()[-2] + "\n\n")
    assert not done.messages
