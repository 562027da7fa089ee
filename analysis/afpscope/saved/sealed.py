# SPDX-License-Identifier: GPL-2.0-or-later
"""The file of `afpscope bundle` (docs/bundle.md): a run as one JSON object, and its checksum.

It begins with the member "bundle" and ends with the CRC-32 of all before that, as the layout of a
trace does: a bit that changed on its way is seen. The C program reads it as well (runs_load).
"""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

from ..errors import Failure

BUNDLE = "bundle"
SCHEMA = 1
_HEAD = b'{"bundle": '
_END = re.compile(rb', "crc32": "([0-9a-f]{8})"\}\n\Z')
_END_BYTES = 64


def sealed(bundle: dict[str, Any], run: dict[str, Any]) -> bytes:
    """The file: ASCII, one line."""
    text = json.dumps({BUNDLE: bundle} | run, allow_nan=False).encode()[:-1]
    return text + b', "crc32": "%08x"}\n' % zlib.crc32(text)


def check(raw: bytes, path: Path) -> None:
    """Failure if it is a bundle that is damaged; nothing if it is no bundle."""
    end = _END.search(raw, max(0, len(raw) - _END_BYTES))
    if not end and not raw.startswith(_HEAD):
        return
    if not end or zlib.crc32(raw[: end.start()]) != int(end[1], 16):
        raise Failure(f"{path}: this bundle is cut off or damaged: ask for it once more")
