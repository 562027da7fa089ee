# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks at saved runs of afpscope: run folders in, nothing else.

`Run.open(find(name))` gives a run; `Trace.open(run.trace)` its records. Both modules are loaded
when first used, so that a program can report which package is missing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import process
from .errors import Failure

if TYPE_CHECKING:
    from .saved.run import Run, find
    from .saved.trace import Stream, Trace

process.leave_on_interrupt()

__all__ = ["Failure", "Run", "Stream", "Trace", "find"]
__version__ = "1.0.0"
_HOME = {"Run": "run", "find": "run", "Stream": "trace", "Trace": "trace"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".saved.{_HOME[name]}", __name__), name)
