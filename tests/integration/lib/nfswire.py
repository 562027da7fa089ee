# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests of NFS that went over the wire, as tshark reads them, by the names of kind nfs."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

PROCEDURES = [
    *("NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK", "READ", "WRITE", "CREATE"),
    *("MKDIR", "SYMLINK", "MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK", "READDIR", "READDIRPLUS"),
    *("FSSTAT", "FSINFO", "PATHCONF", "COMMIT"),
]
OF_MOUNT = ["NULL", "MNT", "DUMP", "UMNT", "UMNTALL", "EXPORT"]
NAMES = {
    **{("100003", "3", number): name for number, name in enumerate(PROCEDURES)},
    ("100003", "4", 0): "NULL",
    **{("100005", "3", number): f"MOUNT {name}" for number, name in enumerate(OF_MOUNT)},
}
# What goes to a file or says which it is, as Wireshark numbers it.
ON_THE_WAY = {9, 10, 15, 16, 22, 23, 24, 31, 32, 53}
OPERATIONS = {
    **dict(enumerate(["ACCESS", "CLOSE", "COMMIT", "CREATE"], 3)),
    **{9: "GETATTR", 10: "GETFH", 15: "LOOKUP", 18: "OPEN", 20: "OPEN_CONFIRM"},
    **dict(enumerate(["READ", "READDIR", "READLINK", "REMOVE", "RENAME", "RENEW"], 25)),
    **{34: "SETATTR", 35: "SETCLIENTID", 36: "SETCLIENTID_CONFIRM", 38: "WRITE"},
}
STATUSES = "nfs.status3", "nfs.nfsstat4", "mount.status"


def compound_name(operations: list[int]) -> str:
    """The first that does more than go to a file; or the one that says most."""
    more = [op for op in operations if op not in ON_THE_WAY]
    weak = [op for op in (15, 9, 10, 53) if op in operations]
    return f"v4 {OPERATIONS[(more or weak)[0]]}"


def records(capture: Path, ports: tuple[int, ...]) -> Iterator[dict[str, list[str]]]:
    """The records of SunRPC, as tshark reads them: fields -> their values."""
    ways = [word for port in ports for word in ("-d", f"tcp.port=={port},rpc")]
    out = subprocess.run(
        ["tshark", "-n", "-r", capture, *ways, "-Y", "rpc", "-T", "pdml"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found: dict[str, list[str]] = {}
    for proto in ElementTree.fromstring(out).iter("proto"):
        if proto.get("name") == "rpc":
            if found:
                yield found
            found = {}
        if proto.get("name") in ("rpc", "nfs", "mount"):
            for field in proto.iter("field"):
                found.setdefault(str(field.get("name")), []).append(str(field.get("show")))
    if found:
        yield found


def on_the_wire(capture: Path, ports: tuple[int, ...]) -> dict[str, Counter[str]]:
    """requests, bytes_in, bytes_out, errors -> account -> how many."""
    found: dict[str, Counter[str]] = {
        k: Counter() for k in ("requests", "bytes_in", "bytes_out", "errors")
    }
    names: dict[str, str] = {}
    for record in records(capture, ports):
        xid, size = record["rpc.xid"][0], sum(int(n) + 4 for n in record["rpc.fraglen"])
        if record["rpc.msgtyp"][0] == "0":
            key = record["rpc.program"][0], record["rpc.programversion"][0]
            procedure = int(record["rpc.procedure"][0])
            operations = [int(n) for n in record.get("nfs.opcode", [])]
            name = NAMES.get((*key, procedure)) or compound_name(operations)
            names[xid] = name
            found["requests"][name] += 1
            found["bytes_in"][name] += size
        else:
            # Of version 4 that of the whole comes first; of MNT it is alone.
            status = [n for key in STATUSES for n in record.get(key, [])] or ["0"]
            found["bytes_out"][names[xid]] += size
            found["errors"][names[xid]] += status[0] != "0"
    return found
