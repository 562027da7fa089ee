# SPDX-License-Identifier: GPL-2.0-or-later
"""Run folders: how they are named, found and read."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..errors import Failure, wrong_use
from ..urls import scheme
from . import model, ranks, sealed
from .files import opened
from .model import Metric, Phase, Session
from .node import Node, load
from .replayed import Replay

SCHEMAS = (1, 2)
RUN_FILE = "run.json"
# The id is among the first members of a run, all before it are plain: of a thousand runs only their
# beginning is read.
_HEAD_BYTES = 4096
_ID_IN_HEAD = re.compile(
    rb'\s*\{(?:\s*"\w+"\s*:\s*(?:"[^"\\]*"|[-+.\w]+)\s*,)*?\s*"id"\s*:\s*"([\w.-]+)"', re.ASCII
)
# Key of the server's note with the process that all sessions descend from, and its start.
# What a kind of server calls its things: of AFP, for runs that do not say so themselves; and where
# a kind has no word.
AFP_WORDS = {
    "server": "afpd",
    "helper": "cnid_dbd",
    "backend": "CNID server",
    "database": "CNID database",
    "asked": "CNID",
}
NO_WORDS = {
    "server": "server",
    "helper": "backend",
    "backend": "backend",
    "database": "database",
    "asked": "backend",
}

# What a run is about that does not say so itself, by its command; of others: files.
_ABOUT = {"record": "server", "doctor": "faults", "rx": "calls"}
# How calls of AFP's server are recorded that are on what it asks.
BACKEND_SOCKET, DATABASE_FILE = "CNID socket", "CNID database"

START = "afpd.start"
# The file that `ab` writes beside its runs.
AB_FILE = "ab.json"
# The end of rungs.trace, and the streams of its numbers.
_COUNTED = ("requests", "calls", "waits", "client")
# Why a run is not to be trusted.
DOUBTS = (
    "the run broke off: it is not complete",
    "lost: {n1} x {s2}",
    "a cross-check disagrees: {s1}: {s2} against {s3} ({s4})",
)
# "allowed 1, last on 1", not "allowed 1,3, last on 1"
USUAL_PORT = "548"  # of AFP
_JOINED = re.compile(r"^([A-Za-z]+)(\d)")
_ONLY_CPU = re.compile(r"allowed (\d+)(?=$|, )")
_WRITTEN = re.compile(
    r": (\d{1,18}) requests, (\d{1,18}) calls, (\d{1,18}) waits, "
    r"(\d{1,18}) of the client's requests,"
)


@dataclass(frozen=True, slots=True)
class Book:
    name: str
    with_: str
    ours: int | None
    theirs: int | None
    closed: bool


@dataclass(frozen=True, slots=True)
class Socket:
    """A UDP socket of the server. None: not known.

    `memory`: the kernel's, in bytes; `queue_max`: the most of it that was seen in use; `seen`: the
    drops as the kernel's tracepoint counted them; `points`: time since the first look in ns, most
    memory in use since the point before, drops so far.
    """

    port: int
    memory: int | None
    drops: int
    queue_max: int | None = None
    seen: int | None = None
    points: tuple[tuple[int, int, int], ...] = ()

    @property
    def buffer(self) -> int | None:
        """As it was asked for, in bytes: the kernel's memory is twice as much."""
        return self.memory and self.memory // 2


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure that shows a cause, as the program prints it."""

    key: str
    text: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Noticed:
    """What stands out in the server's time."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Cause:
    """A finding of the diagnosis."""

    key: str
    text: str
    todo: str
    disproof: str
    next: str  # a command that looks further
    sure: bool
    whom: bool  # it says only who or where, and not why
    harms: bool  # of a note: it would be a finding if people noticed it
    evidence: tuple[Shown, ...]  # older runs have none
    doubt: str = ""  # why it is not sure; older runs have none
    doubtful: str = ""  # what the figure means that this is about, if it is about one


@dataclass(frozen=True)
class Run:
    """A saved run. `path` is its run.json; `folder` the run folder, None for a lone file."""

    path: Path
    folder: Path | None
    id: str
    version: str
    command: str
    set: str
    started: str
    complete: bool
    environment: dict[str, str]
    server: dict[str, str]
    options: dict[str, str]
    rungs: dict[str, str]
    absent: dict[str, str]
    warnings: tuple[str, ...]
    losses: tuple[tuple[str, int], ...]
    books: tuple[Book, ...]
    sessions: tuple[Session, ...]
    phases: tuple[Phase, ...]
    kind: str = "afp"  # of server
    has_requests: bool = True  # of this kind of server they are known
    about: str = "files"  # that, "calls", "server" or "faults"
    metrics: tuple[Metric, ...] = ()  # of the phases
    sockets: tuple[Socket, ...] = ()  # of kinds whose clients send datagrams
    verdict: str | None = None  # of the diagnosis; None: there is none
    opinion: str | None = None  # the verdict in a sentence; None: causes say it
    causes: tuple[Cause, ...] = ()  # of the diagnosis, the first explains most
    # So many of the first causes explain about as much: which of them counts more cannot be told.
    rivals: int = 1
    limits: tuple[Cause, ...] = ()  # such ones, while nobody waits long for them
    unseen: tuple[str, ...] = ()  # keys of causes that would explain waits, but were not visible
    may_be: tuple[str, ...] = ()  # keys of causes that were not visible, and not ruled out by that
    called: Mapping[str, str] = field(default_factory=dict)  # the screen's names of such keys
    words: Mapping[str, str] = field(default_factory=lambda: AFP_WORDS)  # of the kind of server
    findings: tuple[Noticed, ...] = ()  # what stands out in the server's time; older runs have none
    labels: Mapping[str, str] = field(default_factory=dict)  # that the user gave it
    conf: str = ""  # the server's settings, as a path on its host; empty: not known
    pending_ns: float = 0.0  # of requests that had no answer at the end, where that was measured
    # Shares that look names up whatever their case; None: not known. Of servers of SMB.
    case_folded: float | None = 0.0
    bundle: Node | None = None  # of a file of afpscope bundle: what it has besides the run

    @property
    def trace(self) -> Path | None:
        """The folder of the trace, where there is one."""
        if self.folder and (self.folder / "trace").is_dir():
            return self.folder / "trace"
        return None

    @property
    def written(self) -> dict[str, int]:
        """Records of the trace by stream, as noted in the run; empty if not noted."""
        return noted(self.rungs)

    @property
    def diagnosed(self) -> Cause | None:
        """The first finding of the diagnosis that says why; None: it has none."""
        return next((c for c in self.causes if not c.whom), None)

    @property
    def is_replay(self) -> bool:
        return any(p.replay for p in self.phases)

    @property
    def replay(self) -> Replay | None:
        """What its first complete phase did beside a recording; None: it is no replay."""
        return next((p.replay for p in self.whole_phases if p.replay), None)

    @property
    def lasted_ns(self) -> int | None:
        """From the begin of its first phase to the end of its last one; None: it has none."""
        ends = [p.start_ns + (p.metrics.get("elapsed") or 0) for p in self.phases]
        ns = max(ends) - min(p.start_ns for p in self.phases) if ends else 0
        return ns or None

    @property
    def name(self) -> str:
        return self.folder.name if self.folder else self.path.name

    @property
    def start(self) -> str | None:
        """Which start of the server was measured: two runs of one start have the same text.

        From the run itself, else from `ab`'s note; None if it is in neither.
        """
        own = self.server.get(f"{self.words.get('server')}.start") or self.server.get(START)
        return own or (_noted_start(self.folder) if self.folder else None)

    @property
    def local(self) -> str | None:
        """The folder that was measured instead of a server; None for a server."""
        return self.options.get("directory", "") if self.options.get("mode") == "local" else None

    @property
    def server_name(self) -> str:
        """What the server calls itself, or its program: "Netatalk4.5.1" is "Netatalk 4.5.1"."""
        named = (self.server.get(key) for key in ("machine", "name", "program"))
        return _JOINED.sub(r"\1 \2", next(filter(None, named), ""), count=1)

    @property
    def place(self) -> str:
        """Where that is, as HOST:PORT/VOLUME or the address that was given; of a recording this
        host, as the program was found on it."""
        if scheme(self.options.get("directory", "")):
            return self.options["directory"]
        host = self.server.get("host")
        if not host:
            return self.environment.get("host", "") if "program" in self.server else ""
        out = f"[{host}]" if ":" in host else host
        port, volume = (self.server.get(key) for key in ("port", "volume"))
        out += f":{port}" if port and port != USUAL_PORT else ""
        return f"{out}/{volume}" if volume else out

    @property
    def is_of_others(self) -> bool:
        """Whether it watched a server at the work of whoever its clients were."""
        return self.about in ("server", "faults")

    @property
    def repeats_its_work(self) -> bool:
        """Whether another such run makes the same requests: none does that watched others, nor
        clients that do as much as they can in a time."""
        for_a_time = self.command in ("load", "probe") or "duration_s" in self.options
        return not self.is_of_others and not for_a_time

    @property
    def shared_cpu(self) -> str | None:
        """The one CPU that client and server were both allowed; None if there were others."""
        notes = (self.environment.get("client.cpus", ""), self.server.get("afpd.cpus", ""))
        client, server = (_ONLY_CPU.match(note) for note in notes)
        return client[1] if client and server and client[1] == server[1] else None

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """Why the run is not to be trusted; empty if it can be."""
        broke_off, lost, disagrees = DOUBTS
        out = [] if self.complete else [broke_off]
        out += [lost.format(n1=f"{n:,}", s2=what) for what, n in self.losses if n]
        out += [
            disagrees.format(s1=b.name, s2=b.ours, s3=b.theirs, s4=b.with_)
            for b in self.books
            if not b.closed
        ]
        return tuple(out)

    @property
    def titled(self) -> list[Metric]:
        """The metrics with a column of their own, as far as they are known."""
        return [
            m
            for m in self.metrics
            if m.title and any(p.metrics.get(m.key) is not None for p in self.phases)
        ]

    @property
    def whole_phases(self) -> list[Phase]:
        """The phases from which numbers may be taken."""
        return [p for p in self.phases if p.complete]

    @staticmethod
    def open(path: Path) -> Run:
        """The run in a folder, with what ranks have saved there; or of a lone JSON file."""
        folder = path if path.is_dir() else path.parent if path.name == RUN_FILE else None
        file = path / RUN_FILE if path.is_dir() else path
        if path.is_dir() and not file.exists() and not ranks.parts(path):
            inside = ", ".join(str(p) for p in _saved(path) if (p / RUN_FILE).exists())
            raise Failure(
                f"{path} has no {RUN_FILE}: "
                + (
                    f"name a run in it: {inside}"
                    if inside
                    else "not a run folder, or its run was killed"
                )
            )
        return _parse(ranks.joined(folder, file) if folder else load(file), file, folder)


def _parse(node: Node, file: Path, folder: Path | None) -> Run:
    if node.get("schema") is None or node.get_text("tool") != "afpscope":
        raise Failure(f"{file} was not written by afpscope: it has no schema, or another tool")
    schema = node["schema"].int_()
    if schema not in SCHEMAS:
        raise Failure(
            f"{file} has schema {schema}, this program reads {SCHEMAS[0]} to {SCHEMAS[-1]}: "
            "use the version that wrote it"
        )
    try:
        found, kind, labels = (node.get(key) for key in ("findings", "kind", "labels"))
        sockets = node.get("sockets")
        metrics, diagnosis = node.get("metrics"), node.get("diagnosis")
        called = diagnosis.get("called") if diagnosis else None
        words, requests = node.get("words"), node.get("has_requests")
        figures, names = node.get("figures"), node.get("names")
        kind_name = kind.text() if kind else "afp"
        return Run(
            path=file,
            folder=folder,
            id=node["id"].text(),
            version=node["version"].text(),
            command=node["command"].text(),
            set=node["set"].text(),
            started=node["started"].text(),
            complete=node["complete"].flag(),
            environment=node["environment"].texts(),
            server=node["server"].texts(),
            options=node["options"].texts(),
            rungs=node["rungs"].texts(),
            absent=node["absent"].texts(),
            warnings=tuple(w["text"].text() for w in node["warnings"].items()),
            losses=tuple((n["what"].text(), n["n"].count()) for n in node["losses"].items()),
            books=tuple(
                Book(
                    b["name"].text(),
                    b["with"].text(),
                    b.get_int("ours"),
                    b.get_int("theirs"),
                    b["closed"].flag(),
                )
                for b in node["books"].items()
            ),
            sessions=tuple(model.session(s) for s in node["sessions"].items()),
            phases=tuple(model.phase(p) for p in node["phases"].items()),
            kind=kind_name,
            has_requests=requests.flag() if requests else kind_name != "any",
            about=node.get_text("about") or _ABOUT.get(node["command"].text(), "files"),
            metrics=tuple(model.metric(m) for m in metrics.items()) if metrics else (),
            sockets=tuple(_socket(s) for s in (sockets.items() if sockets else ())),
            verdict=diagnosis.get_text("verdict") if diagnosis else None,
            opinion=diagnosis.get_text("text") if diagnosis else None,
            causes=_causes(diagnosis, "findings", figures),
            rivals=_rivals(diagnosis),
            limits=tuple(c for c in _causes(diagnosis, "notes", figures) if c.harms),
            unseen=_keys(diagnosis, "waited_for_but_not_seen"),
            may_be=_keys(diagnosis, "may_be"),
            called=called.texts() if called else {},
            words=words.texts() if words else AFP_WORDS if kind_name == "afp" else NO_WORDS,
            findings=tuple(
                Noticed(f.get_text("key") or "", f["text"].text()) for f in found.items()
            )
            if found
            else (),
            labels=labels.texts() if labels else {},
            conf=(names.get_text("conf") or "") if names else "",
            pending_ns=_figure(figures, "pending") or 0.0,
            case_folded=_figure(figures, "case_folded", 0.0),
            bundle=node.get(sealed.BUNDLE),
        )
    except Failure as e:
        raise Failure(f"{file}: {e}", e.code) from None


def noted(rungs: dict[str, str]) -> dict[str, int]:
    """Records of the trace by stream, as the rungs of its run note them; empty if they do not."""
    found = _WRITTEN.search(rungs.get("trace", ""))
    return dict(zip(_COUNTED, map(int, found.groups()), strict=True)) if found else {}


def _socket(node: Node) -> Socket:
    def point(at: Node) -> tuple[int, int, int]:
        t_ns, queue, drops = (value.count() for value in at.items())
        return t_ns, queue, drops

    return Socket(
        node["port"].count(),
        node.get_int("buffer"),
        node["drops"].count(),
        node.get_int("queue_max"),
        node.get_int("drops_seen"),
        tuple(point(p) for p in node["points"].items()),
    )


def _is(node: Node | None) -> bool:
    return node is not None and node.flag()


def _meaning(figure: Node) -> str:
    return (figure.get_text("meaning") or "").partition("; who: ")[0]


def _shown(keys: Node | None, figures: Node | None) -> tuple[Shown, ...]:
    """The figures of these keys that the program has printed."""
    found = []
    for key in keys.items() if keys else ():
        figure = figures.get(key.text()) if figures else None
        if figure and (text := figure.get_text("text")):
            found.append(Shown(key.text(), text, _meaning(figure)))
    return tuple(found)


def _doubt(finding: Node, figures: Node | None) -> tuple[str, str]:
    """Why it is not sure, and the meaning of the figure that this is about."""
    found = finding.get("doubt")
    if not found:
        return "", ""
    about = figures.get(found.get_text("about") or "") if figures else None
    return found.get_text("text") or "", _meaning(about) if about else ""


def _causes(node: Node | None, key: str, figures: Node | None) -> tuple[Cause, ...]:
    those = node.get(key) if node else None
    return tuple(
        Cause(
            f["key"].text(),
            f["text"].text(),
            f.get_text("todo") or "",
            f.get_text("disproof") or "",
            f.get_text("next") or "",
            _is(f.get("sure")),
            _is(f.get("whom")),
            _is(f.get("harms")),
            _shown(f.get("evidence"), figures),
            *_doubt(f, figures),
        )
        for f in (those.items() if those else ())
    )


def _figure(figures: Node | None, key: str, absent: float | None = None) -> float | None:
    """absent: of a run whose kind of server has no such figure."""
    found = figures.get(key) if figures else None
    return found.get_number("value") if found else absent


def _rivals(node: Node | None) -> int:
    found = node.get("rivals") if node else None
    return found.int_() if found else 1


def _keys(node: Node | None, which: str) -> tuple[str, ...]:
    those = node.get(which) if node else None
    return tuple(key.text() for key in those.items()) if those else ()


def _noted_start(folder: Path) -> str | None:
    """The server's start according to `ab`'s file in the folder above."""
    file = folder.resolve().parent / AB_FILE
    if not file.is_file():
        return None
    try:
        return load(file)["starts"].texts().get(folder.resolve().name)
    except Failure:
        return None


def runs_folder() -> Path:
    """Where runs are kept by default."""
    own = os.environ.get("AFPSCOPE_RUNS")
    if own:
        return Path(own)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local/state") / "afpscope/runs"


def _saved(base: Path) -> list[Path]:
    try:
        return sorted(p for p in base.iterdir() if p.is_dir() and not p.is_symlink())
    except PermissionError:
        raise  # not the same as no runs
    except OSError:
        return []


def _file(folder: Path, killed: bool) -> Path | None:
    """The file that makes a folder a run, or a rank's; killed: or that of its trace."""
    names = (RUN_FILE, "trace/metadata") if killed else (RUN_FILE,)
    found = (folder / name for name in names if (folder / name).exists())
    return next(found, next(iter(ranks.parts(folder).values()), None))


def _newest(base: Path, killed: bool) -> Path:
    """The run whose run.json was written last, whatever its folder is called."""
    found = [(file, folder) for folder in _saved(base) if (file := _file(folder, killed))]
    if not found:
        raise wrong_use(
            f"there is no last run: {base} has no runs (those of -o DIR are named by their path)"
        )
    return max(found, key=lambda pair: (pair[0].stat().st_mtime_ns, pair[1].name))[1]


def _id_of(folder: Path) -> str:
    try:
        with opened(folder / RUN_FILE) as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, Failure):
        head = b""
    if begin := _ID_IN_HEAD.match(head):
        return begin[1].decode()
    try:
        return load(folder / RUN_FILE)["id"].text()
    except Failure:  # a run that was killed has it only in its folder's name
        return folder.name.rpartition("-")[2]


def find(name: str, killed: bool = False) -> Path:
    """The run that NAME means: a path, `last`, or a unique prefix of a folder's name or an id.
    killed: `last` may be one that has a trace only."""
    base = runs_folder()
    path = Path(name)
    if name == "last" and not path.exists():
        return _newest(base, killed)
    if name and path.exists():
        return path
    if not name or "/" in name:
        raise wrong_use(f"no run {name!r}: there is no such file or folder")
    saved = _saved(base)
    found = [p for p in saved if p.name.startswith(name)]
    if not found:
        found = [p for p in saved if _id_of(p).startswith(name)]
    if not found:
        raise wrong_use(f"no run {name!r}: no such path, and no name in {base} begins with it")
    if len(found) > 1:
        names = ", ".join(p.name for p in found[:4])
        raise wrong_use(f"{name!r} matches {len(found)} runs ({names}): give more of the name")
    return found[0]


def _labels_of(folder: Path) -> dict[str, str]:
    """Empty also where run.json is missing or damaged."""
    try:
        labels = load(folder / RUN_FILE).get("labels")
        return labels.texts() if labels else {}
    except Failure:
        return {}


def find_all(name: str) -> list[Path]:
    """The runs that NAME means: the one of find(), or all of the user's with the labels that NAME
    lists, as in "commit=1f3a9c" or "commit=1f3a9c,disk=ssd", the oldest first."""
    if "=" not in name or Path(name).exists():
        return [find(name)]
    wanted = dict(word.partition("=")[::2] for word in name.split(","))
    base = runs_folder()
    found = [p for p in _saved(base) if wanted.items() <= _labels_of(p).items()]
    if not found:
        raise wrong_use(f"no run {name!r}: no such path, and no run in {base} has these labels")
    return found
