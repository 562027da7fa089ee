# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import Failure


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """What to write to: it takes the place of `path` when all is done, else nothing changes.

    A pipe or a device is `path` itself. Failure names the file.
    """
    whole = not path.exists() or path.is_file()
    real = path.resolve() if whole else path
    aside = real.with_name(f".{real.name}.{os.getpid()}") if whole else path
    try:
        yield aside
        if whole:
            aside.replace(real)
    except OSError as e:
        if e.filename is not None and str(e.filename) not in (str(aside), str(path)):
            raise
        raise Failure(f"cannot write {path}: {os.strerror(e.errno) if e.errno else e}") from None
    finally:
        if whole:
            aside.unlink(missing_ok=True)
