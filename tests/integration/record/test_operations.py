# SPDX-License-Identifier: GPL-2.0-or-later
"""What requests asked for, as record --replayable tells it, against who sent them.

Tests user/trace/operation.c, operations.c, path.c, bpf/decode/dsi.h.
"""

from __future__ import annotations

import signal
import struct
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from netatalk import Server
from recording import PathClient
from scope import OK, USAGE, Scope
from tracefile import read

ARGUMENTS, BEFORE, LOST, REPLY = 1, 4, 8, 16  # marks
ASCII, DECOMPOSED, BEYOND = 1, 3, 5  # kinds of names
CREATE_DIR, CREATE_FILE, DELETE, OPEN_VOLUME, OPEN_FORK = 6, 7, 8, 24, 26
READS, WRITES, RENAME, MOVE, LOCK_EXT, WRITE_EXT = (27, 60), (33, 61), 28, 23, 59, 61
BENCH1 = 5001  # as its user number


def joined(folder: Path) -> list[tuple[Any, Any]]:
    """Operations in their order, each with the record of the client that sent it."""
    sent = {(c.port, c.dsi_id): c for c in read(folder / "client").records}
    asked = read(folder / "operations").records
    assert len({(o.port, o.dsi_id) for o in asked}) == len(asked)  # no id came again
    return [(o, sent[o.port, o.dsi_id]) for o in asked if (o.port, o.dsi_id) in sent]


def test_a_load_is_told_as_it_was_sent(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    """Each request has a record; data have the lengths that the client says; names are hashes."""
    args = ("--tests", "1,5", "-n", "1", "--trace=requests", "--replayable")
    done = scope(dbd, *args, "-o", str(tmp_path / "run"), save=True).expect(OK)
    assert done.run
    done.run.assert_trustworthy()
    folder = tmp_path / "run" / "trace"
    requests, operations = (read(folder / name) for name in ("requests", "operations"))
    same = ("timestamp", "t", "time_ns", "session", "port", "dsi_id", "command", "result")
    for name in same:
        assert [getattr(r, name) for r in requests.records] == [
            getattr(o, name) for o in operations.records
        ], name
    assert operations.lost == operations.torn == 0
    pairs = joined(folder)
    assert len(pairs) == len(read(folder / "client").records) > 3000
    assert {o.marks for o, _ in pairs} == {BEFORE}  # it has logged in before it watches
    reads = [(o, c) for o, c in pairs if o.command in READS and not o.result]
    writes = [(o, c) for o, c in pairs if o.command in WRITES]
    assert reads and writes
    assert all(o.actual == o.length == c.len for o, c in reads)
    # the client counts what the reply carries, too: the end
    assert all(o.length + (8 if o.command == WRITE_EXT else 4) == c.len for o, c in writes)
    assert all(o.actual == o.offset + o.length for o, c in writes)
    forks = {r.dsi_id: r.fork for r in requests.records if r.fork}
    assert {o.dsi_id: o.fork for o in operations.records if o.fork} == forks
    names = {(n.session, n.dsi_id): n for n in read(folder / "names").records}
    told = [o for o in operations.records if o.name]
    assert all(names[o.session, o.dsi_id].name == o.name for o in told if o.depth == 1)
    made = [o for o in told if o.command == CREATE_FILE]
    assert len({(o.dir, o.name) for o in made}) == len(made) > 1000
    assert {o.name for o in made} <= {o.name for o in told if o.command == DELETE}
    created = {o.id for o in told if o.command == CREATE_DIR}
    assert 0 not in created and {o.dir for o in made} <= created
    for path in folder.iterdir():
        assert b"File." not in path.read_bytes() and b"LanTest-" not in path.read_bytes()


def known(client: PathClient) -> None:
    """Some requests of each kind, with names of three kinds."""
    folder = struct.unpack(">I", client.named(CREATE_DIR, 2, client.path("Fo\u0308lder")))[0]
    client.named(CREATE_FILE, folder, client.path("secret name.jpeg"))
    opened = client.named(
        OPEN_FORK, folder, client.path("secret name.jpeg"), struct.pack(">HH", 0x0200, 3)
    )
    fork = struct.unpack_from(">H", opened, 2)[0]
    write = struct.pack(">BBHqq", WRITE_EXT, 0, fork, 5_000_000_000, 3000)
    assert client.ask(write + b"secret" * 500, 6, len(write)) == (
        0, struct.pack(">q", 5_000_003_000)
    )  # fmt: skip
    assert client.ask(struct.pack(">BBHqq", 59, 0, fork, 100, 20))[0] == 0
    assert client.ask(struct.pack(">BBHqq", 59, 1, fork, 100, 20))[0] == 0
    assert len(client.ask(struct.pack(">BBHqq", 60, 0, fork, 5_000_000_000, 1000))[1]) == 1000
    assert client.ask(struct.pack(">BBH", 4, 0, fork))[0] == 0
    client.named(
        RENAME, 2, client.path("Fo\u0308lder", "secret name.jpeg") + client.path("\U0001f600")
    )
    client.named(
        MOVE, folder, client.path("\U0001f600") + client.path() + client.path(),
        struct.pack(">I", 2),
    )  # fmt: skip
    client.named(DELETE, 2, client.path("\U0001f600"))
    client.named(DELETE, 2, client.path("Fo\u0308lder"))


def test_known_requests_are_told_in_any_pieces(
    scope: Scope, guests: Server, tmp_path: Path
) -> None:
    """Of one session that is older than the recording, and of new ones, sent in pieces."""
    args = ("--trace", "--replayable", "-o", str(tmp_path / "run"))
    with closing(PathClient(guests.port)) as old:
        running = scope.start(scope.recorder(guests, *args))
        running.wait_recording()
        known(old)
        ports = [old.local_port()]
        for pieces in ((), (16, 3000), (7,)):
            with closing(PathClient(guests.port)) as client:
                client.pieces = pieces
                known(client)
                ports.append(client.local_port())
        running.signal(signal.SIGINT)
        running.finish().expect(OK)
    folder = tmp_path / "run" / "trace"
    records = read(folder / "operations").records
    for path in folder.iterdir():
        data = path.read_bytes()
        assert b"secret" not in data and "Fo\u0308lder".encode() not in data
    told = [check_known([o for o in records if o.port == port], port == ports[0]) for port in ports]
    assert len(told[0]) == len(set(told[0])) and told == [told[0]] * len(ports)


def check_known(records: list[Any], old: bool) -> list[int]:
    """The hashes of the names."""
    assert {o.marks for o in records} == {BEFORE if old else 0}
    by = {o.command: o for o in records}
    root, made, opened = by[CREATE_DIR], by[CREATE_FILE], by[OPEN_FORK]
    assert {root.user, made.user, opened.user} == {BENCH1}
    assert (root.dir, root.depth, root.name_kind, root.name_len) == (2, 1, DECOMPOSED, 8)
    assert made.dir == root.id and (made.name_kind, made.ext_len, made.name_len) == (ASCII, 4, 16)
    assert (opened.dir, opened.name, opened.size, opened.flags) == (made.dir, made.name, 0, 3)
    write, read_ = by[WRITE_EXT], by[60]
    assert (write.offset, write.length, write.actual) == (5_000_000_000, 3000, 5_000_003_000)
    assert (read_.offset, read_.length, read_.actual) == (5_000_000_000, 1000, 1000)
    assert write.fork == read_.fork == opened.fork == by[4].fork
    locks = [(o.offset, o.length, o.flags) for o in records if o.command == LOCK_EXT]
    assert locks == [(100, 20, 0), (100, 20, 1)]
    renamed, moved = by[RENAME], by[MOVE]
    assert (renamed.dir, renamed.depth, renamed.parent, renamed.name_len) == (2, 2, root.name, 16)
    assert (renamed.dir2, renamed.parent2, renamed.name2_kind) == (2, root.name, BEYOND)
    assert (moved.dir, moved.dir2, moved.depth2, moved.name2) == (root.id, 2, 1, moved.name)
    gone = [(o.dir, o.name) for o in records if o.command == DELETE]
    assert gone == [(2, moved.name2), (2, root.name)]
    assert {o.volume for o in records if o.volume} == {root.volume}
    if not old:
        assert by[OPEN_VOLUME].volume == root.volume
    return [root.name, made.name, renamed.name, renamed.name2, moved.name]


def test_what_is_lost_is_marked(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    done = scope(
        dbd,
        *("--tests", "5", "-n", "1", "--trace", "--replayable", "-o", str(tmp_path / "run")),
        *("--trace-buffer", "4096"),
        save=True,
    ).expect(OK)
    assert done.run
    folder = tmp_path / "run" / "trace"
    requests, operations = (read(folder / name) for name in ("requests", "operations"))
    assert requests.lost == operations.lost > 0
    assert [r.dsi_id for r in requests.records] == [o.dsi_id for o in operations.records]
    marks = Counter(o.marks & (ARGUMENTS | LOST | REPLY) for o in operations.records)
    assert len(marks) > 1 and marks.keys() != {0}
    (lost,) = (x["n"] for x in done.run.saved["losses"] if "records of operations" in x["what"])
    assert lost > 0


def test_a_limit_ends_it_with_the_rest(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    done = scope(
        dbd,
        *("--tests", "5", "-n", "1", "--trace", "--replayable", "-o", str(tmp_path / "run")),
        *("--max-size", "1M"),
        save=True,
    ).expect(OK)
    assert done.run and done.run.saved["rungs"]["trace.truncated"] == "limit"
    folder = tmp_path / "run" / "trace"
    requests, operations = (read(folder / name) for name in ("requests", "operations"))
    assert 0 <= len(requests.records) - len(operations.records) <= 1
    assert sum(path.stat().st_size for path in folder.iterdir() if path.suffix == "") <= 1 << 20


def test_it_needs_a_trace_of_afp(scope: Scope) -> None:
    line = [str(scope.binary), "record", "--replayable"]
    scope.execute(line).expect(USAGE, "--replayable is about a trace: add --trace")
    for kind in ("gluster", "rx", "any"):
        scope.execute([*line, "--trace", "--kind", kind]).expect(
            USAGE, f"--trace records requests of --kind afp, smb and nfs, not of {kind}"
        )
    scope.execute([*line, "--trace", "--kind", "smb"]).expect(
        USAGE, "--replayable records what requests of --kind afp asked for, not of smb"
    )
