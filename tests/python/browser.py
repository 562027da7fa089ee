# SPDX-License-Identifier: GPL-2.0-or-later
"""Chromium without a window, over a pipe: what a page looks like, as figures."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium")
_ABOVE = 20  # descriptors that a child's 3 and 4 do not replace


class Browser:
    """One page at a time; end() ends the program."""

    def __init__(self, profile: Path) -> None:
        assert PROGRAM
        ours, theirs = os.pipe(), os.pipe()
        read, write = (fcntl.fcntl(fd, fcntl.F_DUPFD, _ABOVE) for fd in (ours[0], theirs[1]))

        def ends() -> None:
            os.dup2(read, 3)
            os.dup2(write, 4)

        self._program = subprocess.Popen(
            [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=ends, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for fd in (ours[0], theirs[1], read, write):
            os.close(fd)
        self._write, self._read = ours[1], theirs[0]
        self._n, self._got, self._session = 0, b"", ""
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        self.call("Page.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)  # as the window in front

    def end(self) -> None:
        self._session = ""
        self.call("Browser.close")
        self._program.wait(30)
        os.close(self._write)
        os.close(self._read)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._got:
            more = os.read(self._read, 1 << 20)
            assert more, "the browser ended"
            self._got += more
        one, _, self._got = self._got.partition(b"\0")
        return dict(json.loads(one))

    def _ask(self, method: str, params: dict[str, Any]) -> int:
        self._n += 1
        asked = {"id": self._n, "method": method, "params": params}
        asked |= {"sessionId": self._session} if self._session else {}
        text = json.dumps(asked).encode() + b"\0"
        while text:
            text = text[os.write(self._write, text) :]
        return self._n

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """What the browser answers to a command of its protocol."""
        number = self._ask(method, params)
        while (got := self._message()).get("id") != number:
            pass
        assert "error" not in got, got
        return dict(got["result"])

    def open(self, page: Path, width: int, media: str = "screen", scheme: str = "light") -> None:
        """Shows a page in a window of this width, in pixels."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", media=media, features=[feature])
        self._ask("Page.navigate", {"url": page.as_uri()})
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def ask(self, script: str) -> Any:
        """The value of an expression in the page."""
        got = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in got, got
        return got["result"].get("value")
