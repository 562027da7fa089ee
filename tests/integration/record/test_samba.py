# SPDX-License-Identifier: GPL-2.0-or-later
"""record --kind smb: a real Samba, and what it says itself of its requests.

The judges are `smbstatus -P`, Samba's own profile (requests and bytes by command), and strace for
the calls of each. Tests user/kinds/smb.c, bpf/decode/smb2.h, bpf/park.h and bpf/commands.h.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from samba import COMMANDS, SUITES, Samba
from scope import OK, Run, Scope, wait_until

SIZE = 5000
FILES = 20
WAITED = " that waited"
# An end of a recording may come before the session that has just ended has told what it did.
SYNCHRONOUS = "aio read size = 0\naio write size = 0"


@pytest.fixture(scope="module", params=SUITES)
def samba(request: pytest.FixtureRequest) -> Iterator[Samba]:
    with Samba(request.param) as server:
        assert server.version.startswith(SUITES[request.param])
        yield server


def work() -> str:
    """Commands of smbclient: files are made, listed, read, renamed and deleted."""
    steps = ["mkdir d", "cd d"]
    for i in range(FILES):
        steps += [f"put block f{i}", f"get f{i} got", f"allinfo f{i}", f"rename f{i} g{i}"]
    steps += ["ls", *(f"del g{i}" for i in range(FILES)), "cd ..", "rmdir d"]
    return "; ".join(steps)


def counted(run: Run) -> dict[str, Counter[str]]:
    """The profile, as the clients' connections show it."""
    found: dict[str, Counter[str]] = {k: Counter() for k in ("count", "inbytes", "outbytes")}
    for account in run.phases[0].accounts().values():
        name = account["name"].removesuffix(WAITED)
        if name in COMMANDS.values():
            found["count"][name] += account["requests"] + account.get("untimed", 0)
            found["inbytes"][name] += account["bytes_in"]
            found["outbytes"][name] += account["bytes_out"]
    return {what: +counter for what, counter in found.items()}


def sessions(server: Samba) -> set[int]:
    """The processes of clients, and no zombies."""
    found = set()
    for child in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split():
        try:
            stat = Path(f"/proc/{child}/stat").read_text()
        except OSError:
            continue
        if stat.rpartition(")")[2].split()[0] not in "ZX":
            found.add(int(child))
    return found


def recorded(scope: Scope, server: Samba, *commands: str, args: tuple[str, ...] = ()) -> tuple:
    """A recording of smbclient, what Samba says of it, and the screen."""
    (server.root / "tmp/block").write_bytes(b"x" * SIZE)
    before, own = server.counts(), sessions(server)
    running = scope.record(None, "--kind", "smb", "--port", str(server.port))
    running.wait_recording()
    for command in commands:
        server.client(command, *args)
    wait_until(lambda: sessions(server) <= own, 10, "the session to end")
    after = server.counts()
    running.signal(signal.SIGINT)
    done = running.finish().expect(OK)
    assert done.run
    told = {what: +(counter - before[what]) for what, counter in after.items()}
    return done.run, told, done.out


def test_requests_and_bytes_are_those_of_sambas_own_profile(scope: Scope, samba: Samba) -> None:
    run, told, out = recorded(scope, samba, work())
    found = counted(run)
    print(samba.version, dict(found["count"]))
    for what in told:
        assert found[what] == told[what], (
            f"{what}: {found[what] - told[what]} more, {told[what] - found[what]} less"
        )
    assert told["count"]["CREATE"] >= 5 * FILES
    assert not run.open_books() and not run.losses() and run.saved["kind"] == "smb"
    assert "cross-checks agree" in out and "CREATE" in out
    for account in run.phases[0].accounts().values():
        assert "handed" not in account and account["times"] is not None
