# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands for a name or a number that identifies: "user-3fa91c02".

It is a hash with a key of this run alone: the same name has the same token wherever it stands in a
bundle, another one in the bundle of another run, and nobody without the key can try names.
Numbers (of processes, of ports) are counted in the order in which they are met.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections import Counter
from pathlib import Path

from ..errors import Failure
from ..saved.files import Folder, opened

KEY_BYTES = 32
_DIGITS = 8
_ID = re.compile(r"[0-9a-f]{16}")
# "127.0.0.1:41998", "[fe80::1%3]:548": an address and its port.
_ENDED = re.compile(r"(.+):(\d{1,5})", re.S)
PORT = "port"


def keys_folder() -> Path:
    """Where the keys of this user's bundles are."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local/state") / "afpscope/keys"


def key_of(run_id: str) -> bytes:
    """The key of this run, which is made and kept if there is none yet. Only its owner may read
    the file. Errors: Failure."""
    if not _ID.fullmatch(run_id):
        raise Failure(f"{run_id!r} is no id of a run: the file is damaged")
    path = keys_folder() / run_id
    try:
        with opened(path) as file:
            key = file.read()
        if len(key) != KEY_BYTES:
            raise Failure(f"{path} is damaged: remove it, and a new key is made")
        return key
    except FileNotFoundError:
        key = secrets.token_bytes(KEY_BYTES)
    except OSError as e:
        raise Failure(f"cannot read {path}: {e.strerror}") from None
    with Folder(path.parent, 0o700).written(run_id, 0o600) as file:
        file.write(key)
    return key


class Tokens:
    """`of`: what each token stands for."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._numbers: dict[str, dict[int, int]] = {}
        self.of: dict[str, str] = {}
        self.n: Counter[str] = Counter()

    def _hash(self, kind: str, name: str) -> str:
        text = f"{kind}\0{name}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()

    def token(self, kind: str, name: str) -> str:
        made = f"{kind}-{self._hash(kind, name)[:_DIGITS]}"
        if made not in self.of:
            self.of[made] = name
            self.n[kind] += 1
        return made

    def id(self, run_id: str) -> str:
        """In place of a run's id, of the same form."""
        made = self._hash("run", run_id)[:16]
        self.of.setdefault(made, f"run {run_id}")
        return made

    def address(self, kind: str, address: str) -> str:
        """Of an address and its port each a token, so that clients of one host are seen as such."""
        ended = _ENDED.fullmatch(address)
        if ended is None:
            return self.token(kind, address)
        port = self._hash(PORT, ended[2])[:4]
        return f"{self.token(kind, ended[1])}:{port}"

    def number(self, kind: str, value: int) -> int:
        """In place of a process id, a port: 1, 2, 3 ... 0 stays: it is none."""
        of = self._numbers.setdefault(kind, {})
        if value and value not in of:
            of[value] = len(of) + 1
            self.of[f"{kind} {of[value]}"] = f"{kind} {value}"
        return of[value] if value else 0

    def known(self, kind: str, value: int) -> int | None:
        """What number() gave it; None: it has met no such one."""
        return self._numbers.get(kind, {}).get(value)
