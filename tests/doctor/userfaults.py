# SPDX-License-Identifier: GPL-2.0-or-later
"""What users, their programs, names and settings do to a server."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from afpclient import AfpClient
from company import asking
from diskfaults import slowed
from faults import MIXES, Fault, Part, Site, Tally, flagged, repeated

LOOK = str(MIXES / "look.ini")
SHARED = str(MIXES / "list-shared.ini")


@contextlib.contextmanager
def name_service(site: Site, ms: float) -> Iterator[None]:
    """slowcalls asks here for each name, and gets the answer so late."""
    path = site.inst / "names"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    path.chmod(0o777)
    listener.listen(64)
    over = threading.Event()

    def answer(client: socket.socket) -> None:
        with client:
            over.wait(ms / 1000)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=answer, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield
    finally:
        path.unlink()
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@contextlib.contextmanager
def mapping(site: Site, _: float) -> Iterator[Tally]:
    """A client that asks for names of user ids, as Finder's windows of permissions do."""
    with asking(site, "map_id", 0.05) as tally:
        yield tally


@contextlib.contextmanager
def logging_in(site: Site, _: float) -> Iterator[Tally]:
    """A user logs in every second, and stays; those that hang are left alone."""
    clients = []
    tally = Tally()

    def login() -> None:
        with tally.one():
            clients.append(AfpClient(site.port, user="bench2", volume="vol2"))

    def step(over: threading.Event) -> None:
        threading.Thread(target=login, daemon=True).start()
        over.wait(1)

    with repeated(step):
        yield tally


@contextlib.contextmanager
def pam_program(site: Site, _: float) -> Iterator[None]:
    shutil.copy(site.programs["pamhang"], site.inst)
    yield


pam_hangs = flagged("hang")  # PAM does not answer


@contextlib.contextmanager
def mistyping(site: Site, pause_s: float) -> Iterator[None]:
    """A user gives a wrong password so often."""

    def step(over: threading.Event) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            AfpClient(site.port, password="wrong").drop()
        over.wait(pause_s)

    with repeated(step):
        yield


def connecting(site: Site, per_s: float) -> contextlib.AbstractContextManager[None]:
    """A client logs in and out so often."""
    program = Path(os.environ["AFPSCOPE"])
    url = f"afp://bench2@127.0.0.1:{site.port}/vol2"
    options = ["load", "--no-save", "--watch=off", "--no-probe", "--uam=cleartext", "-n1", "-d1"]
    command = [str(program), *options, "--ramp=0", "--mix=idle", url]
    env = os.environ | {"AFPSCOPE_PASSWORD": "secret1"}

    def step(over: threading.Event) -> None:
        for _ in range(round(per_s)):
            quiet = subprocess.DEVNULL
            subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=env)
        over.wait(1)

    return repeated(step)


@contextlib.contextmanager
def refused(site: Site, per_s: float) -> Iterator[Tally]:
    """Users who want to log in so often, and to stay."""
    tally = Tally()
    came: list[AfpClient] = []

    def step(over: threading.Event) -> None:
        if per_s:
            with tally.one():
                came.append(AfpClient(site.port, user="bench2", volume="vol2"))
        over.wait(1 / per_s if per_s else 1)

    try:
        with repeated(step):
            yield tally
    finally:
        for client in came:
            client.drop()


@contextlib.contextmanager
def conflicts(site: Site, per_s: float) -> Iterator[Tally]:
    """One user has a file open and a range of it locked, another asks for both so often."""
    tally = Tally()
    one, two = AfpClient(site.port), AfpClient(site.port, user="bench2")
    for name in ("in use", "locked"):
        one.create(name)
        (site.vol1 / name).chmod(0o666)
    held = [one.open_fork("in use", 3 | 0x30)[1], one.open_fork("locked", 3)[1]]
    if one.lock(held[1], 0, 100):
        raise RuntimeError("no lock")
    code, fork = two.open_fork("locked", 3)
    if code:
        raise RuntimeError(f"FPOpenFork: {code}")

    def step(over: threading.Event) -> None:
        if per_s:
            with tally.one():
                if two.open_fork("in use", 3)[0] and two.lock(fork, 10, 10):
                    raise RuntimeError("denied")
        over.wait(2 / per_s if per_s else 1)

    try:
        with repeated(step):
            yield tally
    finally:
        one.drop()
        two.drop()


@contextlib.contextmanager
def deaf(site: Site, n: float) -> Iterator[None]:
    """So many connections on which nothing is said."""
    with contextlib.ExitStack() as stack:
        for _ in range(int(n)):
            stack.enter_context(socket.create_connection(("127.0.0.1", site.port)))
        yield


@contextlib.contextmanager
def failing(site: Site, per_s: float) -> Iterator[None]:
    """A client lists a folder that is not there, so often."""
    client = AfpClient(site.port)

    def step(over: threading.Event) -> None:
        for _ in range(max(1, round(per_s / 50))) if per_s else ():
            client.list_folder("no such folder")
        over.wait(0.02)

    try:
        with repeated(step):
            yield
    finally:
        client.drop()


@contextlib.contextmanager
def big_folder(site: Site, n: float) -> Iterator[None]:
    """vol1 has a folder of so many files with long names, and a small one."""
    for name, files in (("big", int(n)), ("small", 10)):
        folder = site.vol1 / name
        folder.mkdir()
        for i in range(files):
            path = (
                folder
                / f"{i:06} a file with a name that is about as long as names are, once in a while"
            )
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
    yield


@contextlib.contextmanager
def lists_small(site: Site, _: float) -> Iterator[Tally]:
    """A client lists the small folder now and then."""
    with asking(site, "list_folder", 0.5, "small") as tally:
        yield tally


@contextlib.contextmanager
def lists_big(site: Site, _: float) -> Iterator[Tally]:
    """A client lists the big folder once."""
    tally = Tally()
    client = AfpClient(site.port)

    def list_it() -> None:
        time.sleep(1.5)
        with tally.one():
            client.list_folder("big")

    thread = threading.Thread(target=list_it, daemon=True)
    thread.start()
    try:
        yield tally
    finally:
        client.hang_up()
        client.drop()


@contextlib.contextmanager
def searching(site: Site, ms: float) -> Iterator[Tally]:
    """Clients come, and each of them searches."""
    tally = Tally()
    came: list[AfpClient] = []

    def search(client: AfpClient) -> None:
        with tally.one():
            client.spotlight()

    def step(over: threading.Event) -> None:
        client = AfpClient(site.port)
        came.append(client)
        threading.Thread(target=search, args=(client,), daemon=True).start()
        over.wait(0.5)

    try:
        with repeated(step):
            yield tally
    finally:
        for client in came:
            with contextlib.suppress(OSError):
                client.hang_up()


@contextlib.contextmanager
def over_quota(site: Site, _: float) -> Iterator[Tally]:
    """A user who may write no more tries all the same; once there is slowed()."""
    with slowed(site, 0), asking(site, "create_or_fail", 0.3, user="bench2") as tally:
        yield tally


BENCH2 = 5002  # its number
NAMES = {"AFPD_PRELOAD": "{slowcalls}"}

USER_FAULTS = (
    Fault(
        "slow getcwd", ("",), (0, 1, 200), slowed,
        hooks={"AFPD_PRELOAD": "{slowcalls}", "AFPD_ENV": "SLOW_GETCWD_MS={0:.0f}"},
    ),
    Fault(
        "name service", ("name-service",), (0, 6, 1000), name_service, company=mapping,
        hooks=NAMES,
    ),
    Fault(
        "slow login", ("slow-login", "name-service"), (0, 100, 2500), name_service,
        company=logging_in, hooks=NAMES,
    ),
    Fault(
        "hanging login", ("slow-login", "name-service"), (None, None, 8e4), name_service,
        company=logging_in, hooks=NAMES,
    ),
    Fault(
        "hanging PAM", ("slow-login",), (None, None, 1), pam_hangs, company=logging_in,
        hooks={
            "AFPD_PAM": "auth required pam_exec.so INST/pamhang\nauth required pam_unix.so nodelay"
        },
        before=pam_program, suites=("forky", "trixie"),  # afpd 3.1 reaps what pam_exec starts
    ),
    Fault("login loop", ("login-loop",), (0, 1, 4), connecting),
    Fault(
        "session limit", ("session-limit",), (0, None, 4), refused, settle_s=1,
        own=(Part("browse", 3, 0.05, ("--files=20",)),),
        hooks={"AFPD_GLOBAL": "max connections = 4"},
    ),
    Fault(
        "log level", ("log",), ("note", "debug", "maxdebug"), apart=True,
        hooks={"AFPD_GLOBAL": "log level = default:{}"},
    ),
    Fault("files in use", ("lock-conflicts",), (0, None, 50), conflicts),
    Fault("deaf clients", ("no-login",), (1, 4, 30), deaf, settle_s=2.5),
    Fault("repeated errors", ("repeated-errors", "chatty-client"), (0, 200, 2000), failing),
    Fault(
        "huge folder", ("huge-folder", "cnid-behind"), (100, 6000, 15000), lists_big,
        before=big_folder, company=lists_small, seconds=8,
    ),
    Fault(
        "folder listed again and again", ("huge-folder",), (100, 130, 6000), apart=True,
        own=(Part(SHARED, 4, 0.2, ("--files={0:.0f}",)),),
        calm=(Part(SHARED, 4, 0.2, ("--files=100",)),),
    ),
    Fault(
        "chatty client", ("chatty-client",), (0.05, 0.001, 0),
        own=(Part(LOOK, 1, 0, ("--think={}",)),), calm=(Part(LOOK, 1, 0.05),), apart=True,
    ),
    Fault(
        "search", ("spotlight",), (None, None, 60000), company=searching, suites=("forky",),
        apart=True,
        hooks={
            "AFPD_GLOBAL": "spotlight = yes", "AFPD_ENV": "ONQUERY_MS={0:.0f}",
            "AFPD_PRELOAD": "{onquery}",
        },
    ),
)  # fmt: skip
