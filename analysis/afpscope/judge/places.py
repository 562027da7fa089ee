# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the loads of `versus` were made: whether two sides are one place, and whether a server
changed between its loads."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from ..saved.run import Run
from ..urls import scheme

# In which notes of a run settings are, and what such a note begins with otherwise.
SMB_CONF, AFP_CONF, NFS_CONF = CONF_FILES = ("smb.conf", "afp.conf", "ganesha.conf")
_NOT_VISIBLE = "not visible: "
# Notes of a run: on what its files are, and what else is the same in all runs of a side.
FILES = "file system"
_LASTING = ("machine", "program", FILES)
_PORTS = {"afp": "548", "smb": "445", "nfs": "2049"}


def configured(run: Run, file: str) -> dict[str, str]:
    """Settings of the server that its run has noted, as "Yes" or, of several shares, "Yes (2 of 3
    shares), No (1 of 3 shares)"."""
    noted = run.server.get(file, "")
    if noted.startswith(_NOT_VISIBLE):
        return {}
    found = (one.partition(" = ") for one in noted.split("; "))
    return {key: text for key, equals, text in found if equals}


def known(run: Run) -> dict[str, str]:
    """What its run has noted of the server that is the same in all runs of a side."""
    out = {key: text for key in _LASTING if (text := run.server.get(key))}
    for file in CONF_FILES:
        out |= {f"{file}: {key}": text for key, text in configured(run, file).items()}
    return out


def changed(before: Mapping[str, tuple[str, Run]], run: Run) -> list[tuple[Run, str]]:
    """What is not as it was when it was known last, `before`: each with that run."""
    return [
        (last, f"{key}: {was!r} against {text!r}")
        for key, text in known(run).items()
        if (found := before.get(key))
        for was, last in (found,)
        if was != text
    ]


def are_one(a: tuple[str, Sequence[Run]], b: tuple[str, Sequence[Run]]) -> bool:
    """Whether two URLs, or directories, with their runs are the same place, as far as that is
    known: the same process answered for the same name on it, asked in the same way."""
    (url, runs), (other, others) = a, b
    if scheme(url) != scheme(other):
        return False
    if not scheme(url):
        mine, its = runs[0].local, others[0].local
        return bool(mine and its) and _path(mine or "") == _path(its or "")
    starts = _starts(runs) & _starts(others)
    return bool(starts) and _on_server(url) == _on_server(other)


def may_be_one(a: tuple[str, Sequence[Run]], b: tuple[str, Sequence[Run]]) -> list[str]:
    """Why two URLs whose servers were restarted before their loads may be the same place; empty:
    they are not, or it can be told otherwise."""
    (url, runs), (other, others) = a, b
    starts = [_starts(runs), _starts(others)]
    if not all(starts) or starts[0] & starts[1] or max(map(len, starts)) < 2:
        return []
    same = (_address(url), _on_server(url)) == (_address(other), _on_server(other))
    first, then = known(runs[0]), known(others[0])
    differ = any(first[key] != then[key] for key in first if key in then and key != FILES)
    if not scheme(url) or scheme(url) != scheme(other) or not same or differ:
        return []
    return [
        "they have one address, and nothing shows that the restarts started different servers "
        "there, so that it may be one server"
    ]


def login(url: str) -> str:
    """ "user" of "smb://user:password@host/share"."""
    return unquote(_authority(url).rpartition("@")[0].partition(":")[0])


def _starts(runs: Sequence[Run]) -> set[str]:
    return {run.start for run in runs if run.start}


def _authority(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].partition("?")[0]


def _address(url: str) -> tuple[str, str]:
    """Host and port of a URL. All addresses of this host's loopback are one, and no name is looked
    up: it may mean another host by now."""
    whole = _authority(url).rpartition("@")[2]
    end = len(whole) if whole.endswith("]") or ":" not in whole else whole.rindex(":")
    host, port = unquote(whole[:end]).strip("[]").casefold(), whole[end + 1 :]
    try:
        if ipaddress.ip_address(host).is_loopback:
            host = "localhost"
    except ValueError:
        pass
    return host, port or _PORTS.get(scheme(url), "")


def _on_server(url: str) -> tuple[str, list[str]]:
    """What a URL names on its server, and how: "share/folder" of
    "smb://user@host:445/share/folder/", "/a" and "version=4" of "nfs://host/a?version=4"."""
    path, _, query = url.partition("://")[2].partition("/")[2].partition("?")
    path = _path(unquote(path))
    asked = sorted(q for q in query.split("&") if q and not q.startswith("mountport="))
    return path.casefold() if scheme(url) == "smb" else path, asked


def _path(path: str) -> str:
    return path.rstrip("/") or "/"
