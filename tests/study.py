# SPDX-License-Identifier: GPL-2.0-or-later
"""What the same work costs over AFP and over SMB: docs/study-afp-smb.md, from a measurement.

study.py [--quick] [--pairs N] [-o FOLDER] [--page FILE]   measure, then write the page
study.py --of FOLDER [--page FILE]                         write the page of a folder again

Starts netatalk with two kinds of CNID database and Samba with two sets of modules, all of pinned
Debian releases and on this machine's disk, and lets `afpscope versus` measure them in turn; before
each of its loads a server is started anew. Every figure of the page is of that measurement: what
the machine did meanwhile is on it, too. --quick: fewer and shorter runs, and no comparison of a
server with itself; the page says so.

Then the matrix of settings, each in measurements of its own beside the settings that these servers
have by default: CNID database and extended attributes of netatalk; modules, case and strict sync of
Samba; and the size of folders. --of also takes a folder that was measured without it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[1]
SERVERS = REPO / "tests/server"
sys.path += [str(SERVERS)]

from netatalk import Server  # noqa: E402
from samba import Samba  # noqa: E402

PAGE, PICTURE = "docs/study-afp-smb.md", "pictures/study-times.svg"
ACTIONS = ("save", "read", "look", "list")
FRUIT = "vfs objects = catia fruit streams_xattr"
CASE = "case sensitive = yes"
# The newest of both that Debian has.
NETATALK, SAMBA = "forky", "sid"
QUIET = "smbd profiling level = off"  # its clocks cost time
WIDTH = 100


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    pairs: int
    seconds: int
    ramp: int
    clients: int
    itself: bool
    matrix: int  # runs of each side of the matrix


FULL, QUICK = Plan(20, 3, 1, 20, True, 16), Plan(12, 1, 1, 8, False, 12)


@dataclass(frozen=True)
class Started:
    """A server: what is measured, how it is started anew, and what the page says of it."""

    name: str
    url: str
    again: str  # a command of the shell
    version: str
    settings: str


def _afp(stack: contextlib.ExitStack, name: str, cnid: str, cpu: str, volume: str = "") -> Started:
    hooks = ({"AFPD_CPU": cpu} if cpu else {}) | ({"AFPD_VOLUME": volume} if volume else {})
    server = stack.enter_context(Server(NETATALK, cnid=cnid, **hooks))
    words = " ".join(f"{key}='{value}'" for key, value in hooks.items())
    again = (
        f"{SERVERS}/down.sh {server.port} && "
        f"SERVER_FOR={os.getpid()} {words} {SERVERS}/up.sh {NETATALK} {server.port} {cnid}"
    )
    conf = Path(server.root) / "inst" / str(server.port) / "afp.conf"
    url = f"afp://bench1@127.0.0.1:{server.port}/vol1"
    return Started(name, url, again, f"netatalk {server.version}", _settings(conf, "vol1"))


def _smb(stack: contextlib.ExitStack, name: str, share: str, cpu: str) -> Started:
    hooks = {"SMB_GLOBAL": QUIET, "SMB_SHARE": share} | ({"SMB_CPU": cpu} if cpu else {})
    server = stack.enter_context(Samba(SAMBA, **hooks))
    words = " ".join(f"{key}='{value}'" for key, value in hooks.items())
    again = (
        f"{SERVERS}/smb-down.sh {server.port} && "
        f"SERVER_FOR={os.getpid()} {words} {SERVERS}/smb-up.sh {SAMBA} {server.port}"
    )
    conf = Path(server.root) / server.conf.lstrip("/")
    url = f"smb://bench1@127.0.0.1:{server.port}/share1"
    return Started(name, url, again, f"Samba {server.version}", _settings(conf, "share1"))


def _settings(conf: Path, share: str) -> str:
    """The global section and that of the share, without what is only about places. Of a setting
    that a section has twice only the last, which is the one that counts."""
    wanted, out = False, {}
    for line in conf.read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]").lower()
            wanted = section in ("global", share)
        if wanted and not re.search(r"= .*/|port|pw|listen|server = |netbios|interfaces", line):
            out[section, line.partition("=")[0].strip()] = line
    return "\n".join(filter(None, out.values()))


def _cpus() -> tuple[str, str]:
    """Those of the clients and of the servers; empty: they share all there are."""
    here = sorted(os.sched_getaffinity(0))
    if len(here) < 2:
        return "", ""
    half = len(here) // 2
    return ",".join(map(str, here[:half])), ",".join(map(str, here[half:]))


def _machine(folder: Path) -> dict[str, str]:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal: *(\d+)", Path("/proc/meminfo").read_text())
    disk = subprocess.run(
        ["findmnt", "-no", "FSTYPE,OPTIONS", "-T", str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return {
        "processor": f"{os.cpu_count()} CPUs, {model[1] if model else platform.machine()}",
        "memory": f"{int(memory[1]) >> 20 if memory else 0} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "file system of the volumes": " ".join(disk.stdout.split()),
    }


def _load() -> str:
    return ", ".join(Path("/proc/loadavg").read_text().split()[:3])


def _versus(folder: Path, started: list[Started], options: list[str], load: list[str]) -> bool:
    """Measures into folder: runs, versus.json, versus.html. Whether its runs can be trusted."""
    clients, _ = _cpus()
    needs = [str(REPO / "tests/need.sh")]
    python = subprocess.check_output([*needs, "--python"], text=True).strip()
    library = subprocess.check_output([*needs, "--libsmb2"], text=True).strip()
    folder.mkdir(parents=True, exist_ok=True)
    again = folder / "again.sh"
    cases = "\n".join(f"'{s.name}'*) {s.again} ;;" for s in started)
    again.write_text(f'set -e\ncase "$AFPSCOPE_SIDE" in\n{cases}\nesac > /dev/null\n')
    line = [*(["taskset", "-c", clients] if clients else []), python, "-B", "-m", "afpscope",
            "versus", "-o", str(folder / "runs"), "--program", str(REPO / "build/afpscope"),
            "--restart", f"sh {again}", "--json", "--html", str(folder / "versus.html"),
            *options, *(f"{s.name}={s.url}" for s in started), "--", "load", *load,
            "--no-probe"]  # fmt: skip
    env = os.environ | {
        "PYTHONPATH": str(REPO / "analysis"),
        "AFPSCOPE_PASSWORD": "secret1",
        "LD_LIBRARY_PATH": library,
    }
    with (folder / "versus.json").open("w") as out:
        done = subprocess.run(line, env=env, stdout=out, check=False)
    if done.returncode not in (0, 4):
        raise SystemExit(f"study.py: versus ended with {done.returncode}")
    return done.returncode == 0


def _netatalk_settings(stack: contextlib.ExitStack, cpu: str) -> list[Started]:
    return [
        _afp(stack, "default", "dbd", cpu, "ea = sys"),
        _afp(stack, "cnid-sqlite", "sqlite", cpu, "ea = sys"),
        _afp(stack, "ea-samba", "dbd", cpu, "ea = samba"),
        _afp(stack, "ea-ad", "dbd", cpu, "ea = ad"),
    ]


def _samba_settings(stack: contextlib.ExitStack, cpu: str) -> list[Started]:
    lines = {
        "fruit": FRUIT,
        "acl_xattr": "vfs objects = acl_xattr",
        "case-sensitive": CASE,
        "strict-sync-no": "strict sync = no",
    }
    return [
        _smb(stack, "default", "", cpu),
        *(_smb(stack, name, line, cpu) for name, line in lines.items()),
    ]


def _sizes(stack: contextlib.ExitStack, cpu: str) -> list[Started]:
    return [
        _afp(stack, "afp-dbd", "dbd", cpu),
        _smb(stack, "smb-default", "", cpu),
        _smb(stack, "smb-case-sensitive", CASE, cpu),
    ]


@dataclass(frozen=True)
class Part:
    """Of the matrix: servers side by side, the first with its defaults, and the same load on all.
    `mix`: of its own, "": office; `vary`: an option of the load that is varied, too."""

    key: str
    title: str
    start: Callable[[contextlib.ExitStack, str], list[Started]]
    mix: str
    vary: str = ""


MATRIX = (
    Part("netatalk", "Settings of netatalk", _netatalk_settings,
         "files = 10\nfile_size = 64K\n[actions]\nsave = 1\nmac-save = 1\nlook = 2\nlist = 1\n"),
    Part("samba", "Settings of Samba", _samba_settings,
         "files = 10\nfile_size = 64K\n[actions]\nsave = 1\nread = 1\nlook = 2\nlist = 1\n"),
    Part("folders", "Size of folders", _sizes, "file_size = 0\n[actions]\ncreate = 1\n",
         "files=10,1000,5000"),
)  # fmt: skip


def _matrix(plan: Plan, folder: Path, cpu: str) -> list[dict[str, Any]]:
    out = []
    for part in MATRIX:
        mix = folder / part.key / "mix.ini"
        mix.parent.mkdir(parents=True)
        mix.write_text(f"[mix]\nname = {part.key}\n{part.mix}")
        # All its files in one folder for each client: one of a large folder, more of a small one.
        clients = 1 if part.vary else plan.clients
        load = ["--mix", str(mix), "-n", str(clients), "-d", str(plan.seconds)]
        options = ["--pairs", str(plan.matrix), *(["--vary", part.vary] if part.vary else [])]
        with contextlib.ExitStack() as stack:
            started = part.start(stack, cpu)
            trusted = _versus(mix.parent, started, options, [*load, "--ramp", str(plan.ramp)])
        servers = [vars(s) | {"again": ""} for s in started]
        out.append({"key": part.key, "title": part.title, "mix": part.mix, "clients": clients,
                    "trusted": trusted, "servers": servers})  # fmt: skip
    return out


def measure(plan: Plan, folder: Path) -> None:
    """Leaves the runs, versus.json, the figures and what the machine did in the folder, and the
    same of each part of the matrix in a folder of its own."""
    clients, servers = _cpus()
    folder.mkdir(parents=True)
    about: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "plan": vars(plan),
        "quick": plan != FULL,
        "machine": _machine(Path(os.environ.get("AFPSCOPE_CACHE", Path.home() / ".cache"))),
        "cpus": {"clients": clients, "servers": servers},
        "load before": _load(),
    }
    with contextlib.ExitStack() as stack:
        started = [
            _afp(stack, "afp-dbd", "dbd", servers),
            _afp(stack, "afp-sqlite", "sqlite", servers),
            _smb(stack, "smb-default", "", servers),
            _smb(stack, "smb-fruit", FRUIT, servers),
        ]
        options = ["--pairs", str(plan.pairs), "--figures", str(folder / "figures"),
                   "--alone", ",".join(ACTIONS), *(["--aa"] if plan.itself else [])]  # fmt: skip
        load = ["--mix", "office", "-n", str(plan.clients), "-d", str(plan.seconds)]
        trusted = _versus(folder, started, options, [*load, "--ramp", str(plan.ramp)])
        about |= {"servers": [vars(s) | {"again": ""} for s in started], "trusted": trusted}
    about |= {"matrix": _matrix(plan, folder / "matrix", servers) if plan.matrix else []}
    about |= {"load after": _load()}
    (folder / "about.json").write_text(json.dumps(about, indent=1))


# The page


def _table(head: list[str], rows: list[list[str]], left: int = 1) -> str:
    lines = [head, ["---" if i < left else "---:" for i in range(len(head))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _wrapped(text: str, first: str = "", then: str = "") -> str:
    out, line = [], first
    for word in text.split():
        if len(line) + len(word) + 1 > WIDTH and line.strip():
            out.append(line.rstrip())
            line = then
        line += ("" if line in (first, then) else " ") + word
    return "\n".join([*out, line.rstrip()])


def _figures(of: list[dict[str, Any]], names: list[str], wanted: str) -> str:
    rows = [
        [f["what"], f["load"], *(f["sides"][name]["text"] for name in names)]
        for f in of
        if re.search(wanted, f["load"])
    ]
    return _table(["", "load", *names], rows, 2)


# What is shown of the matrix: the figure of versus, and what stands for it.
SHOWN = {"p50": "time, half of them", "server CPU": "server CPU", "system calls": "system calls"}


def _change(row: dict[str, Any] | None) -> str:
    """ "+12 % (+8 .. +15)"; in parentheses as a whole where it may be chance."""
    found = row["result"] if row else None
    if not row or not found or found["change"] is None:
        return "n/a"
    text = f"{found['change']:+.0%}".replace("%", " %")
    if found["low"] is not None:
        text += f" ({found['low'] * 100:+.0f} .. {found['high'] * 100:+.0f})"
    shown = ("slower", "faster", "worse", "better")
    return f"**{text}**" if row["verdict"] in shown else text


def _against(pair: dict[str, Any], name: str) -> list[list[str]]:
    """A row for each action that both have, and one for what the mean action cost."""
    of = {(r["command"], r["figure"]): r for r in pair["rows"]}
    actions = list(dict.fromkeys(command for command, _ in of if command))
    cost = [_change(of.get(("", figure))) for figure in ("server CPU", "system calls")]
    return [
        [name if not i else "", action, _change(of.get((action, "p50"))),
         *(cost if not i else ["", ""])]
        for i, action in enumerate(actions)
    ]  # fmt: skip


def _part(part: dict[str, Any], v: dict[str, Any]) -> list[str]:
    """A table: each setting against the defaults, or each size against the smallest."""
    names = [s["name"] for s in v["sides"]]
    firsts = [n for n in names if n == names[0]]
    if "=" in names[0]:  # with what was varied: the first of each server
        servers = dict.fromkeys(n.partition(" ")[0] for n in names)
        firsts = [next(n for n in names if n.partition(" ")[0] == s) for s in servers]
    rows = [
        row
        for p in v["pairs"]
        if p["a"] in firsts
        and (len(firsts) == 1 or p["a"].partition(" ")[0] == p["b"].partition(" ")[0])
        for row in _against(p, p["b"])
    ]
    head = ["", "action", SHOWN["p50"], "server CPU, mean action", "system calls, mean action"]
    doubt = "" if part["trusted"] else " A cross-check of some runs disagreed."
    clients = f"{part['clients']} client{'s' * (part['clients'] > 1)}"
    mix = " ".join(line for line in part["mix"].split("\n") if line)
    out = [
        f"### {part['title']}",
        _wrapped(f"{clients}; the mix: `{mix}`.{doubt} Against {_and(firsts)}:"),
        _table(head, rows, 2),
    ]
    return [*out, *("\n".join(_wrapped(text, "- ", "  ") for text in texts)
                    for texts in [v["said"]] if texts)]  # fmt: skip


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(f"`{w}`" for w in words[:-1]), f"`{words[-1]}`"]).removeprefix(
        " and "
    )


def _said(pair: dict[str, Any]) -> str:
    return _wrapped(pair["said"] + ".", "- ", "  ")


def page(folder: Path) -> str:
    """The page in Markdown, from what measure() left."""
    v = json.loads((folder / "versus.json").read_text())
    about = json.loads((folder / "about.json").read_text())
    names, plan = [s["name"] for s in v["sides"]], about["plan"]
    apart, itself = ([p for p in v["pairs"] if p["same"] is same] for same in (False, True))
    if "overview" not in v:
        raise SystemExit(f"study.py: judge it again first: versus --from {folder}/runs --json")
    cpus, short = about["cpus"], v["overview"]
    pinned = (
        f"The clients ran on CPU {cpus['clients']}, the servers on CPU {cpus['servers']}. "
        if cpus["clients"]
        else ""
    )
    quick = (
        "**This is a quick form of the study**, with fewer runs or shorter loads: it tells less. "
        if about["quick"]
        else ""
    )
    doubt = "" if about["trusted"] else "A cross-check of some runs disagreed: see `versus.html`. "
    parts = [
        "# AFP and SMB: what the same work costs",
        _wrapped(
            "This page is for anyone who weighs netatalk against Samba: what users' actions took "
            "and cost on both, measured by [versus](analysis.md#the-same-load-on-several-servers). "
            "`make study` makes it: all figures here are of one measurement, and yours will differ."
        ),
        _wrapped(
            f"{quick}{doubt}Measured on {about['date']}, {plan['pairs']} runs of each load on "
            f"each server, in turn; before its loads a server was started anew. Each load: "
            f"{plan['clients']} clients of the mix `office` for {plan['seconds']} s after a ramp "
            f"of {plan['ramp']} s; once with all its actions, then with each alone. {pinned}The "
            f"load averages of the machine were {about['load before']} before and "
            f"{about['load after']} after it."
        ),
        "## What is not equal",
        "\n".join(_wrapped(text, "- ", "  ") for text in v["said"])
        or _wrapped(
            "The mean action of each load made as many sync calls on data files on all servers "
            "(to 5 %, or 0.02 of a call)."
        ),
        _table(
            ["", *names],
            [[f["what"], *f["values"]] for f in v["unequal"] if f["what"] in short["unequal"]],
            len(names) + 1,
        ),
        _wrapped("Equal were " + ", ".join(f"{k} {t}" for k, t in v["equal"].items()) + "."),
        "## What was found",
        _wrapped(f"Of {v['times'][0]['load']}: p50 of each action, and what the mean action cost."),
        _table(
            ["", *names],
            [[row["what"], *(row["sides"][name] for name in names)] for row in short["rows"]],
        ),
        _wrapped(short["note"]),
        f"![p50 of each action on each server, with its interval]({PICTURE})",
        "## Times of actions",
        _wrapped(
            "Medians of the runs; in parentheses their 95 % interval. n/a: not measured, or too "
            "few actions for that figure."
        ),
        _figures(v["times"], names, "."),
        "## Cost of an action",
        _wrapped(
            "What the processes of the server that were watched used, divided by the actions; "
            "disk writes are those that they handed to the disk themselves."
        ),
        _figures(v["costs"], names, "."),
        "## Over a longer way",
        _figures(v["round_trips"], names, "."),
    ]
    parts += ["## Each pair of servers", "\n".join(_said(p) for p in apart)]
    if itself:
        parts += ["## Each server against itself", "\n".join(_said(p) for p in itself)]
    if matrix := about.get("matrix"):
        parts += [
            "## Which settings matter",
            _wrapped(
                f"One setting at a time against the same server with its defaults, in "
                f"{plan['matrix']} runs of each. How much more it took or used, with its 95 % "
                "interval; in bold where that is a difference, all rows of all pairs of a "
                "measurement judged together."
            ),
        ]
        for part in matrix:
            found = json.loads((folder / "matrix" / part["key"] / "versus.json").read_text())
            parts += _part(part, found)
    parts += [
        "## What does not follow",
        "\n".join(
            _wrapped(text, "- ", "  ")
            for text in (
                "How fast a Mac is. The clients of both protocols are afpscope's ([load.md]"
                "(load.md)): they keep no leases, ask for no streams, and read nothing from a "
                "cache. A Mac sends other requests, and over SMB leaves some out.",
                "How large folders behave, but for the table of them if there is one. In all else "
                f"each client's folder has {v['equal'].get('files', 'a few')} files. smbd may read "
                "the whole folder for a name that it does not find, so that the size of folders "
                "matters more to it.",
                "What other settings, versions, file systems, disks and CPUs do: each may turn a "
                "difference round. Debian's packages were measured as they are, with the settings "
                "below.",
                "What encryption costs: none of the connections was encrypted unless the table of "
                "what is not equal says so.",
                "That servers are equal where no difference was shown.",
            )
        ),
        "## The machine, the servers, their settings",
        _table(["", ""], [[k, t] for k, t in about["machine"].items()], 2),
    ]
    for s in about["servers"]:
        parts += [f"{s['name']}: {s['version']}", "```ini\n" + s["settings"] + "\n```"]
    if v["remarks"]:
        parts += [
            "## What to know of these figures",
            "\n".join(_wrapped(text + ".", "- ", "  ") for text in v["remarks"]),
        ]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pairs", type=int, help=f"default {FULL.pairs}, quick {QUICK.pairs}")
    parser.add_argument("-o", dest="output", type=Path, default=REPO / "build/study")
    parser.add_argument("--of", metavar="FOLDER", type=Path, help="one that was measured before")
    parser.add_argument("--page", type=Path, default=REPO / PAGE)
    args = parser.parse_args()
    plan = QUICK if args.quick else FULL
    if args.pairs:
        plan = Plan(**vars(plan) | {"pairs": args.pairs})
    folder = args.of or args.output
    if not args.of:
        if folder.exists():
            shutil.rmtree(folder)
        measure(plan, folder)
    args.page.write_text(page(folder))
    picture = args.page.parent / PICTURE
    picture.parent.mkdir(exist_ok=True)
    shutil.copy(folder / "figures/versus-times.svg", picture)
    print(args.page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
