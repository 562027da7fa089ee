# SPDX-License-Identifier: GPL-2.0-or-later
"""What the program says of itself: its commands, its version, and shells' completion of both.

Tests user/main/main.c, complete.c, complete_more.c, manual.c.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from scope import OK, REPO, USAGE, Scope

COMMANDS = (
    *(
        "lantest",
        "speedtest",
        "load",
        "smallfile",
        "rx",
        "probe",
        "replay",
        "record",
        "doctor",
        "slow",
        "check",
        "clean",
    ),
    *("top", "exporter"),
)
PACKAGE = (
    "report",
    "info",
    "dump",
    "compare",
    "gate",
    "ab",
    "versus",
    "sweep",
    "query",
    "export",
    "history",
    "bundle",
)

COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_afpscope
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="session")
def script(scope: Scope, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "afpscope"
    done = scope.execute([str(scope.binary), "completion", "bash"]).expect(OK)
    path.write_text(done.out)
    subprocess.run(["shellcheck", "-s", "bash", path], check=True)
    return path


@pytest.fixture
def complete(scope: Scope, script: Path) -> Complete:
    return Complete(scope, script)


class Complete:
    def __init__(self, scope: Scope, script: Path) -> None:
        self.program, self.script = str(scope.binary), str(script)

    def __call__(self, *words: str, name: str | None = None) -> set[str]:
        """What bash offers for the last word; --option=word is three words to it."""
        line = ["bash", "-c", COMPLETE, "bash", self.script, name or self.program, *words]
        done = subprocess.run(line, check=True, capture_output=True, text=True)
        assert not done.stderr
        return set(done.stdout.split())


def test_help_lists_every_command(scope: Scope) -> None:
    listed = scope.execute([str(scope.binary), "--help"]).expect(OK).out
    assert set(re.findall(r"^  ([a-z]+) ", listed, re.M)) == {*COMMANDS, *PACKAGE}
    assert {
        path.name.split(".")[0].removeprefix("afpscope-")
        for path in (REPO / "docs").glob("afpscope-*.1*")
    } == {
        *COMMANDS,
        *PACKAGE,
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_version(scope: Scope, command: str) -> None:
    want = scope.execute([str(scope.binary), "--version"]).expect(OK).out
    assert re.fullmatch(r"afpscope \d+\.\d+\.\d+\n", want)
    assert scope.execute([str(scope.binary), command, "--version"]).expect(OK).out == want


@pytest.mark.parametrize("name", ["afp_lantest", "afp_speedtest"])
def test_version_of_the_compatible_names(scope: Scope, name: str) -> None:
    line = [str(scope.binary.with_name(name)), "--version"]
    assert scope.execute(line).expect(OK).out.startswith("afpscope ")


def options_of(scope: Scope, command: str) -> dict[str, str]:
    """Of the --help of a command, what is said of each option."""
    ways = ([], ["--serve"]) if command == "rx" else ([],)
    out: dict[str, str] = {}
    for way in ways:
        told = scope.execute([str(scope.binary), command, *way, "--help"]).expect(OK).out
        row = (
            r"^ {2,6}(?:-\w, |    )?(--[a-z0-9][a-z0-9-]*)(?:='[^']*'|\S)*((?:.*\n)(?: {12,}.*\n)*)"
        )
        out |= {name: " ".join(text.split()) for name, text in re.findall(row, told, re.M)}
    return out


def plain(page: str) -> str:
    """Without fonts, each paragraph in a line."""
    text = re.sub(r"\\f[BIR]|\\&", "", page.replace("\\-", "-").replace("\\(ha", "^"))
    return " ".join(text.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_the_manual_page_has_every_option(scope: Scope, command: str) -> None:
    """And no other, where an option begins a paragraph; and all that --help says of it."""
    options, page = options_of(scope, command), scope.page(command)
    heads = re.findall(r"^\.TP\n(\.B.*)$", page, re.M)
    named = [re.search(r"--[a-z0-9][a-z0-9-]*", plain(head)) for head in heads]
    assert len(options) > 5
    assert {name.group() for name in named if name} == set(options)
    for name, text in options.items():
        if name != "--help":
            said = re.sub(r" \([\w, .-]*\)$", "", text).removesuffix(")")
            assert said in plain(page), name


@pytest.mark.parametrize("command", COMMANDS)
def test_the_manual_page_is_well_formed(scope: Scope, tmp_path: Path, command: str) -> None:
    page = tmp_path / f"afpscope-{command}.1"
    page.write_text(scope.page(command))
    line = ["mandoc", "-T", "lint", "-W", "warning", page]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_template_of_no_command_is_refused(scope: Scope) -> None:
    line = [str(scope.binary), "--manual"]
    for name in ("nothing", "report", "", "load --serve"):
        done = subprocess.run(
            line, input=f"@OPTIONS {name}@\n", check=False, capture_output=True, text=True
        )
        assert (done.returncode, done.stdout) == (1, "") and name in done.stderr


def test_commands_are_completed(complete: Complete) -> None:
    assert complete("") == {*COMMANDS, *PACKAGE, "--help", "--version"}
    assert complete("re") == {"record", "replay", "report"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_completed(scope: Scope, complete: Complete, command: str) -> None:
    told = scope.execute([str(scope.binary), command, "--help"]).expect(OK).out
    options = set(re.findall(r"^ +(?:-\w, )?(--[a-z0-9][a-z0-9-]*)", told, re.M))
    assert len(options) > 5
    assert {word for word in complete(command, "--") if word.startswith("--")} == options


def test_arguments_are_completed(complete: Complete, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    tables = {"screen", "netatalk", "afpscope", "both", "peer"}
    assert complete("lantest", "--table", "") == tables
    assert complete("lantest", "--table", "=") == tables
    assert complete("lantest", "--table", "=", "n") == {"netatalk"}
    assert complete("--watch", "p", name="afp_speedtest") == {"proc"}
    # An argument that may be missing does not stand in a word of its own.
    assert complete("record", "--trace", "=") == {"all", "requests", "off"}
    assert complete("record", "--trace", "") == set()
    assert complete("record", "-d", "") == set()
    assert complete("record", "-o", f"{tmp_path}/") == {f"{tmp_path}/folder"}
    assert complete("lantest", "--json", f"{tmp_path}/f") == {
        f"{tmp_path}/folder",
        f"{tmp_path}/file",
    }
    assert "sleep" in complete("record", "--", "slee")


def test_other_shells_are_refused(scope: Scope) -> None:
    scope.execute([str(scope.binary), "completion", "csh"]).expect(USAGE, "zsh or fish")


# Completion of the other shells, from the same tables.


def needed(shell: str) -> str:
    found = shutil.which(shell)
    if not found:
        pytest.skip(f"{shell} is not installed")
    return found


@pytest.fixture(scope="session")
def program(scope: Scope, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with afpscope and a completion script for each other shell. A copy: beside the
    program itself may be the package's own commands."""
    folder = tmp_path_factory.mktemp("shells")
    shutil.copy(scope.binary, folder / "afpscope")
    for shell, name in (("zsh", "_afpscope"), ("fish", "afpscope.fish")):
        done = scope.execute([str(scope.binary), "completion", shell]).expect(OK)
        (folder / name).write_text(done.out)
    compare = folder / "afpscope-compare"  # stands in for the Python package's
    compare.write_text(
        "#!/bin/sh\necho '  --least PERCENT  only a larger one\n  --format {text,json,csv}'\n"
    )
    compare.chmod(0o755)
    return folder


def of_fish(program: Path, line: str) -> set[str]:
    """What fish offers, without its descriptions."""
    words = f"source {program}/afpscope.fish; complete -C '{line}'"
    env = os.environ | {"PATH": f"{program}:{os.environ['PATH']}", "HOME": str(program)}
    done = subprocess.run([needed("fish"), "-c", words], env=env, capture_output=True, text=True,
                          check=True, timeout=120)  # fmt: skip
    assert not done.stderr
    return {x.split("\t")[0] for x in done.stdout.splitlines()}


def of_zsh(program: Path, line: str, *want: str) -> str:
    """What an interactive zsh shows after a Tab, until it has all that is wanted."""
    pid, fd = pty.fork()
    if not pid:
        env = os.environ | {"PATH": f"{program}:{os.environ['PATH']}", "TERM": "dumb"}
        env |= {"LINES": "100", "COLUMNS": "100"}  # room for all, so that zsh does not ask
        os.execve(needed("zsh"), ["zsh", "-f", "-i"], env)
    shown, end = "", time.monotonic() + 120
    try:
        begin = f"fpath=({program} $fpath); autoload -U compinit; compinit -u -D; echo rea''dy\n"
        os.write(fd, begin.encode())
        while time.monotonic() < end:
            if select.select([fd], [], [], 1)[0]:
                shown += os.read(fd, 65536).decode("utf-8", "replace")
            if "ready" in shown and begin:
                begin, shown = "", ""
                os.write(fd, line.encode() + b"\t\t")
            elif not begin and all(word in shown for word in want):
                break
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)
    return shown


def test_fish_completes_commands_options_and_words(program: Path) -> None:
    assert of_fish(program, "afpscope ") >= {*COMMANDS, *PACKAGE}
    assert of_fish(program, "afpscope lantest --table n") == {"netatalk"}
    assert of_fish(program, "afpscope doctor --kind ") == {"afp", "gluster", "nfs", "rx", "smb"}
    assert "--least" in of_fish(program, "afpscope compare --l")


def test_words_of_options_of_the_package_are_completed(program: Path, script: Path) -> None:
    words = {"text", "json", "csv"}
    for line, found in (
        (("--format", ""), words),
        (("--format", "=", "j"), {"json"}),
        (("--least", ""), set()),
    ):
        bash = ["bash", "-c", COMPLETE, "bash", script, program / "afpscope", "compare", *line]
        env = os.environ | {"PATH": f"{program}:{os.environ['PATH']}"}
        done = subprocess.run(bash, env=env, capture_output=True, text=True, check=True)
        assert {w for w in done.stdout.split() if w in words} == found
    assert of_fish(program, "afpscope compare --format ") == words
    assert of_fish(program, "afpscope compare --format=") == {f"--format={w}" for w in words}
    assert "--least" in of_fish(program, "afpscope compare --least ")
    for line in ("afpscope compare --format ", "afpscope compare --format="):
        of_zsh(program, line, *words)


@pytest.mark.parametrize("command", ["lantest", "speedtest", "load", "record", "doctor"])
def test_zsh_and_fish_offer_every_option(scope: Scope, program: Path, command: str) -> None:
    options = set(options_of(scope, command))
    assert len(options) > 5
    assert {x.split("=")[0] for x in of_fish(program, f"afpscope {command} --")} == options
    shown = of_zsh(program, f"afpscope {command} --", *options)
    assert set(re.findall(r"^(--[a-z0-9][a-z0-9-]*)", shown, re.M)) == options


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("afpscope lant", "lantest "),
        ("afpscope lantest --tabl", "--table="),
        ("afpscope lantest --table=net", "netatalk"),
        ("afpscope compare --lea", "--least"),
    ],
)
def test_zsh_completes_commands_options_and_words(program: Path, line: str, want: str) -> None:
    assert want in of_zsh(program, line, want)
