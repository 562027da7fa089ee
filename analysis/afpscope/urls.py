# SPDX-License-Identifier: GPL-2.0-or-later
"""Which words are URLs, and which are paths: as text_url() of the C program tells them apart."""

from __future__ import annotations

import re

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")  # RFC 3986, 3.1


def scheme(word: str) -> str:
    """ "smb" of "smb://host/share"; empty: it is no URL."""
    found = _SCHEME.match(word)
    return found[1].lower() if found else ""
