# SPDX-License-Identifier: GPL-2.0-or-later
"""A bundle of a server whose users, volumes and files have hostile names has none of them, nor has
the page that is made of it, nor what doctor says of it.

Tests user/app/beside.c.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bundles import Told, with_bundles
from netatalk import Server
from offline import command
from recording import RawClient, ask_for
from scope import FINDINGS, NOT_TOLD, OK, PinnedServer, Scope, both_cpus

# Names that are found wherever they stand, and those that are like words of the program, too.
USERS = ('u "quoted"\'s <b>', "Ünï çødé 日本語", "x" * 31, "u; waited 100 %, for 5 s", "<i>&amp;",
         r"^(zq|.*)+[a-z]{2}\d$", "zq%41%2F+zq", "Zoe\u0308q (own code)")  # fmt: skip
WORDS = ("afpd", "lantest", "queue", "5000", "FPRead", "cnid_dbd", "disk", "12h", "localhost", "an")
VOLUMES = ('v "q" <u>', "V 12.5ms, 99 %", "Größe 日本", "w" * 27)
WORD_VOLUMES = ("run queue", "6000")
FILES = (b"f\nnewline", b"f\x1b[2J", "Datei mit Ümlaut".encode(), b"<script>f", b"f" * 200)
UIDS = range(5101, 5101 + len(USERS) + len(WORDS))


@pytest.fixture(scope="module")
def hostile() -> Iterator[Server]:
    lines = "".join(
        f"[s{i}]\nvolume name = {name}\npath = /inst/s{i}\n" for i, name in enumerate(VOLUMES)
    )
    users = "\n".join(f"{name}:secret1" for name in (*USERS, *WORDS))
    with PinnedServer(
        "forky", "dbd", both_cpus()[0],
        AFPD_USERS=users, AFPD_VOLUMES="\n".join(WORD_VOLUMES), AFPD_GLOBAL=lines,
    ) as server:  # fmt: skip
        for i in range(len(VOLUMES)):
            (server.root / f"inst/s{i}").mkdir(exist_ok=True)
            (server.root / f"inst/s{i}").chmod(0o777)
        yield server
        for i in range(len(VOLUMES)):
            shutil.rmtree(server.root / f"inst/s{i}")


def used(server: Server) -> str:
    """Each user works on a volume, and asks for files; others do not get in. The port of one who
    says nothing."""
    volumes = (*VOLUMES, *WORD_VOLUMES)
    with contextlib.ExitStack() as stack:
        silent = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        with contextlib.suppress(RuntimeError, ConnectionError):
            RawClient(server.port, user="unknown stranger", password="wrong")
        for i, user in enumerate((*USERS, *WORDS)):
            volume = volumes[i % len(volumes)]
            client = RawClient(server.port, user=user, volume=volume)
            stack.enter_context(contextlib.closing(client))
            for name in FILES:
                ask_for(client, name)
            for _ in range(30):
                client.stat_root()
            client.create(f"file {i} of nobody")
        time.sleep(2.5)  # after 2 s doctor names who has not logged in
        return str(silent.getsockname()[1])


@pytest.mark.limit(180)
def test_a_bundle_names_nobody(scope: Scope, hostile: Server, tmp_path: Path) -> None:
    folder, bundle = tmp_path / "run", tmp_path / "bundle.json"
    watch = ("doctor", "-p", str(hostile.port), "-d", "8", "-o", str(folder))
    line = [
        str(with_bundles(scope, tmp_path / "tools")),
        *watch,
        "--bundle",
        str(bundle),
        "--label",
        "who=hostile-label",
    ]
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    running = scope.start(["env", *(f"{k}={v}" for k, v in state.items()), *line])
    running.wait_for("ing process ")
    silent = used(hostile)
    done = running.finish()
    assert done.status in (OK, FINDINGS, NOT_TOLD), str(done)
    assert f"The run without names is in {bundle}" in done.err, str(done)

    run = json.loads((folder / "run.json").read_text())
    assert {s["user"] for s in run["sessions"]} >= {*USERS, *WORDS}, "what is to be hidden"
    told = Told.of(scope, bundle)
    made = told.made

    ports = {silent} | {s["address"].rpartition(":")[2] for s in run["sessions"]}
    pids = {s["pid"] for s in run["sessions"]} | {hostile.pid}
    secrets = {*USERS, *VOLUMES, "hostile-label", "stranger", "127.0.0.1", "of nobody", "Ümlaut",
               "<script>f", "x" * 27, "zq", "oe\u0308q", "o\u00ebq", "%41", "w" * 20, "/inst",
               "/afp.conf", run["id"],
               run["started"][10:19], str(folder)}  # fmt: skip
    told.assert_has_none(secrets, (*UIDS, *pids, *ports, hostile.port))

    tokens = re.compile(r"(user|volume|host)-[0-9a-f]{8}(:[0-9a-f]{4})?")
    for s in made["sessions"]:
        for name in filter(None, (s["user"], s["address"], *s["volumes"])):
            assert tokens.fullmatch(name), name
    for section in made["bundle"]["tables"]["sections"]:
        for i, column in enumerate(section["columns"]):
            if column["name"] in ("user", "client", "volume"):
                for row in section["rows"]:
                    text = row["cells"][i]["text"] if "cells" in row else ""
                    assert tokens.fullmatch(text) or text in ("", "n/a"), (column, text)
    # The same user has the same token in all places, and two have two.
    users = {s["user"] for s in made["sessions"]} - {None}
    assert len(users) == len(USERS) + len(WORDS)

    names = scope.execute(
        [
            "env",
            *(f"{k}={v}" for k, v in state.items()),
            *command(),
            "bundle",
            str(folder),
            "--names",
        ]
    ).expect(OK)
    of = dict(re.findall(r"^(user-[0-9a-f]{8}) +(.*)$", names.out, re.M))
    assert {of[user] for user in users} >= {*WORDS}
    assert (tmp_path / "state/afpscope/keys" / run["id"]).stat().st_mode & 0o777 == 0o600
