# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the loads of `versus` were made: whether two sides are one place, and whether a server
changed between its loads."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from ..saved.run import Run
from ..urls import scheme

# In which notes of a run settings are, and what such a note begins with otherwise.
SMB_CONF, AFP_CONF, NFS_CONF = CONF_FILES = ("smb.conf", "afp.conf", "ganesha.conf")
_NOT_VISIBLE = "not visible: "
# Notes of a run: on what its files are, and what else is the same in all runs of a side.
FILES = "file system"
_LASTING = ("machine", "program", FILES)


def configured(run: Run, file: str) -> dict[str, str]:
    """Settings of the server that its run has noted, as "Yes" or, of several shares, "Yes (2 of 3
    shares), No (1 of 3 shares)"."""
    noted = run.server.get(file, "")
    if noted.startswith(_NOT_VISIBLE):
        return {}
    found = (one.partition(" = ") for one in noted.split("; "))
    return {key: text for key, equals, text in found if equals}


def changed(first: Run, run: Run) -> list[str]:
    """What is known of the server in both runs, and is not the same."""
    a, b = map(_known, (first, run))
    return [f"{key}: {a[key]!r} against {b[key]!r}" for key in a if b.get(key, a[key]) != a[key]]


def _known(run: Run) -> dict[str, str]:
    out = {key: text for key in _LASTING if (text := run.server.get(key))}
    for file in CONF_FILES:
        out |= {f"{file}: {key}": text for key, text in configured(run, file).items()}
    return out


def are_one(a: tuple[str, Sequence[Run]], b: tuple[str, Sequence[Run]]) -> bool:
    """Whether two URLs, or directories, with their runs are the same place, as far as that is
    known: the same process answered for the same name on it."""
    (url, runs), (other, others) = a, b
    if scheme(url) != scheme(other):
        return False
    if not scheme(url):
        mine, its = runs[0].local, others[0].local
        return bool(mine and its) and _path(mine or "") == _path(its or "")
    starts = {run.start for run in runs} & {run.start for run in others}
    return bool(starts - {None}) and _on_server(url) == _on_server(other)


def _on_server(url: str) -> str:
    """What a URL names on its server: "share/folder" of "smb://user@host:445/share/folder/"."""
    path = _path(unquote(url.partition("://")[2].partition("/")[2].partition("?")[0]))
    return path.casefold() if scheme(url) == "smb" else path


def _path(path: str) -> str:
    return path.rstrip("/") or "/"
