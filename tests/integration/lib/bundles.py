# SPDX-License-Identifier: GPL-2.0-or-later
"""Bundles of runs in which hostile names stand, and all that anybody could read of them."""

from __future__ import annotations

import html
import json
import re
import shutil
import socket
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonwalk import texts
from offline import analysis, command
from scope import FINDINGS, NOT_TOLD, OK, Scope


def with_bundles(scope: Scope, folder: Path) -> Path:
    """The program in a folder where it finds what makes bundles."""
    folder.mkdir()
    shutil.copy(scope.binary, folder / "afpscope")  # it looks for others beside itself
    script = folder / "afpscope-bundle"
    script.write_text(f'#!/bin/sh\nexec {" ".join(command())} bundle "$@"\n')
    script.chmod(0o755)
    return folder / "afpscope"


@dataclass(frozen=True)
class Told:
    """A bundle, and everything that it and what is made of it say."""

    made: Any
    everything: str

    @classmethod
    def of(cls, scope: Scope, bundle: Path, doctor: bool = True) -> Told:
        """What `bundle --show`, `info`, `report` and `doctor` make of it."""
        page = bundle.with_suffix(".html")
        made = json.loads(bundle.read_text())
        shown = scope.execute([*command(), "bundle", "--show", str(bundle)]).expect(OK).out
        report = analysis("report", str(bundle), "-o", str(page))
        assert report.returncode == 0, report.stderr
        info = analysis("info", str(bundle))
        assert info.returncode in (0, 4), info.stderr
        text = re.sub(r"base64,[\w+/=]+", "", page.read_text())  # pictures
        said = [shown, html.unescape(text), info.stdout, info.stderr]
        if doctor:
            told = scope.execute([str(scope.binary), "doctor", str(bundle)])
            assert told.status in (OK, FINDINGS, NOT_TOLD), str(told)
            said += [told.out, told.err]
        return cls(made, "\n".join((*texts(made), *said)))

    def assert_has_none(self, names: Iterable[str], numbers: Collection[int | str]) -> None:
        """No name stands anywhere, and no number by itself in a text."""
        secrets = {*names, socket.gethostname()} if len(socket.gethostname()) > 3 else {*names}
        found = [
            self.everything[m.start() - 60 : m.end() + 60]
            for name in secrets
            for m in re.finditer(re.escape(name), self.everything)
        ]
        assert not found, found[:5]
        known = {str(n) for n in numbers}
        told = [
            (n, text)
            for text in texts(self.made)
            for n in re.findall(r"(?<![\w.,-])\d+(?![\w.,-])", text)
            if n in known
        ]
        assert not told, told[:5]


def saved(folder: Path) -> Any:
    """run.json of a run."""
    return json.loads((folder / "run.json").read_text())


def bundled(scope: Scope, run: Path, doctor: bool = True, into: Path | None = None) -> Told:
    """The bundle of a saved run, in a folder whose path has no name of it: the one above it."""
    bundle = (into or run.parent) / "bundle.json"
    done = analysis("bundle", str(run), "-o", str(bundle))
    assert done.returncode == 0, done.stderr
    return Told.of(scope, bundle, doctor)
