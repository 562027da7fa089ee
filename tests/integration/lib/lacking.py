# SPDX-License-Identifier: GPL-2.0-or-later
"""What each kind of place has of the verbs of client/store/store.h, and what it says of the others.

The tests of each kind use each verb once, and expect these reasons; docs/load.md has the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import ganesha
import samba
from scope import REPO

STORE_H = (REPO / "client/store/store.h").read_text()
VERBS = re.findall(r'\bX\([A-Z_]+,[\s\\]*"(\w+)"\)', STORE_H)

NO_CALLS = {"exchange": "a directory has files, and no calls"}
ONLY_AFP = dict.fromkeys(
    ("swap", "setfinder", "search", "login", "logout", "other"), "only AFP servers have that"
)
FILES = NO_CALLS | ONLY_AFP
ONE_SESSION = dict.fromkeys(("login", "logout"), "this store has one session only")
RECORDED = dict.fromkeys(
    ("delxattr", "listxattr", "other"), "it is sent only as another client has sent it"
)
AFP = {
    **NO_CALLS,
    **ONE_SESSION,
    **RECORDED,
    "link": "AFP has no hard links",
    "symlink": "AFP has no symbolic links",
}
DIRECTORY = FILES | {"copy": "a local directory has no server that copies"}
GLUSTER = FILES | {"copy": "GlusterFS has no copy by the server for all kinds of volumes"}
SMB = {
    **FILES,
    **dict.fromkeys(("lock", "unlock"), "libsmb2 does not export its locks"),
    **dict.fromkeys(("delxattr", "listxattr"), "streams are not removed and listed here"),
    "copy": "libsmb2 has no copy by the server",
    "chmod": "SMB has no permission bits",
    "symlink": "SMB servers do not let clients make symbolic links",
    "link": "libsmb2 has no request for hard links",
}
ATTRIBUTES = ("getxattr", "setxattr", "delxattr", "listxattr")
NO_LOCKS = "libnfs has no locks of NFSv3, and with NFSv4 locks only the first file of a connection"
NFS = {
    **FILES,
    **dict.fromkeys(ATTRIBUTES, "NFSv3 and NFSv4.0 have no extended attributes"),
    **dict.fromkeys(("lock", "unlock"), NO_LOCKS),
    "copy": "libnfs has no copy by the server",
}
KINDS = {"AFP": AFP, "DIRECTORY": DIRECTORY, "GlusterFS": GLUSTER, "SMB": SMB, "NFS": NFS}
SINCE = {"chmod": "3.0", "getxattr": "3.2", "setxattr": "3.2"}  # the version of AFP
# What is there under a condition, or of the stores of some commands.
PARTLY = {
    "AFP": {
        **{verb: f"from AFP {version} on" for verb, version in SINCE.items()},
        **dict.fromkeys(ONE_SESSION, "in `load`"),
        **dict.fromkeys(RECORDED, "in `replay`"),
    },
    "SMB": dict.fromkeys(("getxattr", "setxattr"), "with `streams_xattr` or `fruit`"),
}


def versions(suites: Mapping[str, str]) -> str:
    return ", ".join(version.removesuffix(".") for version in suites.values())


TRIED = {
    "AFP": "netatalk 4.2, 4.5; AFP 2.1 to 3.4",
    "DIRECTORY": "this machine",
    "GlusterFS": "the version of Debian 12",
    "SMB": f"Samba {versions(samba.SUITES)}",
    "NFS": f"nfs-ganesha {versions(ganesha.SUITES)}, NFSv3 and NFSv4.0",
}


def cell(kind: str, verb: str) -> str:
    why = KINDS[kind].get(verb)
    return PARTLY.get(kind, {}).get(verb) or (f"no: {why}" if why else "yes")


def table() -> str:
    """The table of docs/load.md: verbs that have the same cells are a row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for verb in VERBS:
        cells = tuple(cell(kind, verb) for kind in KINDS)
        if not all(text.startswith("no") for text in cells):
            rows.setdefault(cells, []).append(verb)
    lines = [["", *KINDS], ["---"] * (1 + len(KINDS))]
    lines += [[", ".join(verbs), *cells] for cells, verbs in rows.items()]
    lines.append(["tried with", *TRIED.values()])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
