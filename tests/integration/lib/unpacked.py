# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs whose packages would start services: they are not installed, only unpacked."""

import functools
import subprocess
from pathlib import Path

NEED = Path(__file__).resolve().parents[2] / "need.sh"


@functools.cache
def unpacked(what: str) -> Path:
    """The folder that need.sh --WHAT names, in which they are; it is made if missing."""
    done = subprocess.run([NEED, f"--{what}"], check=True, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip())
