# SPDX-License-Identifier: GPL-2.0-or-later
"""The exporter, what it answers, and a real Prometheus that reads it."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scope import Running, Scope, wait_until
from unpacked import unpacked

TREE = Path(__file__).resolve().parents[3]
MONITORING = TREE / "monitoring"
OPENMETRICS = "application/openmetrics-text"
TEXT = "text/plain"
SAMPLE = re.compile(r'(\w+)(?:\{((?:[^"}]|"(?:\\.|[^"\\])*")*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:\\.|[^"\\])*)"')
SERVER = ("port", "name")
Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Metrics:
    """What was answered, by name and labels, without those that name the server."""

    text: str

    @functools.cached_property
    def server(self) -> dict[str, str]:
        """The labels that every series has."""
        lines = [line for line in self.text.splitlines() if not line.startswith("#")]
        found = [tuple(p for p in LABEL.findall(line) if p[0] in SERVER) for line in lines]
        assert len(set(found)) == 1, set(found)
        return dict(found[0])

    @functools.cached_property
    def samples(self) -> dict[str, dict[Labels, float]]:
        found: dict[str, dict[Labels, float]] = {}
        for line in self.text.splitlines():
            if line.startswith("#"):
                continue
            match = SAMPLE.fullmatch(line)
            assert match, f"no sample: {line!r}"
            series = found.setdefault(match[1], {})
            found_labels = LABEL.findall(match[2] or "")
            labels = tuple(pair for pair in found_labels if pair[0] not in SERVER)
            assert labels not in series, f"twice: {line!r}"
            series[labels] = float(match[3])
        return found

    def by(self, name: str, label: str) -> dict[str, float]:
        """The sum by one label."""
        found: dict[str, float] = {}
        for labels, value in self.samples.get(name, {}).items():
            key = dict(labels)[label]
            found[key] = found.get(key, 0) + value
        return found

    def one(self, name: str) -> float | None:
        return self.samples.get(name, {}).get(())

    def label(self, name: str, label: str) -> str:
        (labels,) = self.samples[name]
        return dict(labels)[label]

    def requests(self) -> dict[str, float]:
        return self.by("afpscope_requests_total", "command")


def fetch(port: int, accept: str = TEXT, path: str = "/metrics", **more: Any) -> tuple[str, str]:
    """What is answered, and of which type."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"Accept": accept}, **more
    )
    with urllib.request.urlopen(request, timeout=90) as answer:
        return answer.read().decode(), answer.headers["Content-Type"]


class Exporter:
    """A running one, which listens on a port of its own."""

    def __init__(self, running: Running) -> None:
        self.running = running
        running.wait_for("listening: http://127.0.0.1:", timeout=20)
        found = re.search(r"listening: http://127\.0\.0\.1:(\d+)/metrics", running.err)
        assert found
        self.port = int(found[1])

    @property
    def pid(self) -> int:
        return self.running.process.pid

    def metrics(self, accept: str = TEXT) -> Metrics:
        return Metrics(fetch(self.port, accept)[0])

    def wait_up(self, times: int = 1) -> None:
        self.running.wait_for(": watching process ", times, 30)
        wait_until(lambda: self.metrics().one("afpscope_watches_total") == times, 10, "a watch")


def export(
    scope: Scope, *args: str, before: Sequence[str] = (), binary: Path | None = None
) -> Exporter:
    listen = ("--listen", "127.0.0.1:0")
    program = str(binary or scope.binary)
    return Exporter(scope.start([*before, program, "exporter", *listen, *args]))


def promtool(*args: str | Path, text: str | None = None) -> str:
    command = [str(unpacked("prometheus") / "promtool"), *(str(a) for a in args)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


class Prometheus:
    def __init__(self, port: int) -> None:
        self.port = port

    def api(self, what: str, **query: str) -> Any:
        url = f"http://127.0.0.1:{self.port}/api/v1/{what}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=90) as answer:
            found: Mapping[str, Any] = json.load(answer)
        assert found["status"] == "success"
        return found["data"]

    def query(self, expression: str) -> list[Any]:
        rows: list[Any] = self.api("query", query=expression)["result"]
        return rows


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
    return port


@contextlib.contextmanager
def prometheus(scope: Scope, folder: Path, exporter: Exporter) -> Iterator[Prometheus]:
    """One that scrapes the exporter each second, with the rules that are shipped."""
    port = free_port()
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(MONITORING / "afpscope-alerts.yml")],
        "scrape_configs": [
            {
                "job_name": "afpscope",
                "static_configs": [{"targets": [f"127.0.0.1:{exporter.port}"]}],
            }
        ],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))  # which is YAML, too
    running = scope.start(
        [
            str(unpacked("prometheus") / "prometheus"),
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]
    )
    server = Prometheus(port)

    def ready() -> bool:
        assert running.process.poll() is None, running.err
        with contextlib.suppress(OSError):
            return bool(server.query("afpscope_up"))
        return False

    try:
        wait_until(ready, 30, "Prometheus to scrape", 0.1)
        yield server
    finally:
        running.process.terminate()
        running.process.wait(20)


def dashboard() -> list[tuple[str, str]]:
    """Title and query of each panel; what Grafana puts in for variables is put in."""
    saved = json.loads((MONITORING / "afpscope-dashboard.json").read_text())
    found = []
    for panel in saved["panels"]:
        for target in panel["targets"]:
            query = target["expr"].replace("$__rate_interval", "10s")
            query = re.sub(r"\$(instance|port|name)\b", ".*", query)
            assert "$" not in query
            found.append((panel["title"], query))
    return found


def alerts(server: Prometheus) -> list[tuple[str, str]]:
    """Name of each alert, and what it compares with a limit."""
    found = []
    for group in server.api("rules")["groups"]:
        for rule in group["rules"]:
            assert not rule.get("lastError"), rule
            value, limit = re.fullmatch(r"(?s)(.*\S)\s+(?:>|==)\s+([\d.]+)", rule["query"]).groups()
            assert float(limit) >= 0
            found.append((rule["name"], value))
    return found


def unit_capabilities() -> str:
    """Those that the unit gives, as setpriv writes them: "+bpf,+perfmon"."""
    unit = (MONITORING / "afpscope-exporter.service").read_text()
    ambient = re.search(r"^AmbientCapabilities=(.*)$", unit, re.M)
    bounding = re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.M)
    assert ambient and bounding and ambient[1] == bounding[1]
    return ",".join("+" + name.removeprefix("CAP_").lower() for name in ambient[1].split())
