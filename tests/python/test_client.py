# SPDX-License-Identifier: GPL-2.0-or-later
"""`make client` needs a C compiler and libgcrypt, and nothing of what watches a server."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
# Headers of what it must not need: whoever includes one of them does not compile.
WATCHING = ("bpf/bpf.h", "bpf/btf.h", "bpf/libbpf.h", "libelf.h", "gelf.h", "jansson.h", "zlib.h")
TRAPS = {name: f'#error "it includes {name}"\n' for name in WATCHING}
# A folder's name is all that ccache knows of headers that were not found there before.
FOLDER = "traps-" + hashlib.sha256(repr(TRAPS).encode()).hexdigest()[:16]
PROGRAM = """
#include "store/store.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct store_op op = { .verb = STORE_MKDIR, .name = "made" };
	struct store *s;
	struct err e = { 0 };
	int r = argc == 2 ? store_open_posix(&s, argv[1], false, &e) : -1;

	if (!r) {
		op.dir = s->root[0];
		r = store_call(s, &op, &e);
	}
	printf("%d %d %s\\n", r, op.result, e.text);
	if (!r)
		store_close(s);
	return r != 0;
}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the sources in which nothing was built, and the traps.

    The compile commands contain no path of this folder, so ccache can serve them.
    """
    tree = tmp_path / "tree"
    names = subprocess.run(
        ["tests/files.sh", "Makefile", "user", "client", "bpf", "analysis/afpscope/__init__.py"],
        cwd=TOP, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    for name in (n for n in names if (TOP / n).exists()):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TOP / name, tree / name)
    for name, text in TRAPS.items():
        trap = tree / FOLDER / name
        trap.parent.mkdir(parents=True, exist_ok=True)
        trap.write_text(text)
    return tree


def run(folder: Path, *args: str | Path) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(args, cwd=folder, capture_output=True, text=True, env=env, check=False)


def make(tree: Path, target: str) -> subprocess.CompletedProcess[str]:
    """Where there is no clang, no bpftool, and none of those headers."""
    gone = [f"{name}=/nowhere/{name}" for name in ("CLANG", "BPFTOOL")]
    compiler = f"CC=gcc -isystem {FOLDER}"
    return run(tree, "make", "-s", "-j2", compiler, "CFLAGS=-O0", *gone, target)


def test_the_client_builds_and_links_alone(tree: Path) -> None:
    made = make(tree, "client")
    assert made.returncode == 0, made.stderr
    assert not (tree / "build/gen").exists()
    objects = {str(p.relative_to(tree / "build/obj")) for p in tree.glob("build/obj/**/*.o")}
    sources = {f"{p.relative_to(tree).with_suffix('')}.o" for p in tree.glob("client/**/*.c")}
    assert sources and sources <= objects
    assert {str(Path(o).parent) for o in objects - sources} == {"user/base", "user/run"}

    (tree / "mine.c").write_text(PROGRAM)
    includes = ("-Iclient", "-Iuser", "-I.", "-D_GNU_SOURCE")
    # All of it: nothing in it may need what is elsewhere.
    whole = ("-Wl,--whole-archive", "build/libafpclient.a", "-Wl,--no-whole-archive")
    linked = run(tree, "gcc", *includes, "-o", "mine", "mine.c", *whole, "-lgcrypt", "-lm")
    assert linked.returncode == 0, linked.stderr
    needed = run(tree, "readelf", "-d", "mine").stdout
    assert "NEEDED" in needed and not any(lib in needed for lib in ("libbpf", "libelf", "libz"))
    (tree / "store").mkdir()
    done = run(tree, tree / "mine", tree / "store")
    assert (done.returncode, done.stdout) == (0, "0 0 \n")
    assert (tree / "store/made").is_dir()


def test_what_watches_a_server_does_not_build_there(tree: Path) -> None:
    """Else the test above would show nothing."""
    made = make(tree, "build/obj/user/watch/bpf/price.o")
    assert made.returncode != 0 and "/nowhere/CLANG" in made.stderr
    words = ("-isystem", FOLDER, "-Iuser", "-Iclient", "-I.", "-D_GNU_SOURCE")
    trapped = run(tree, "gcc", *words, "-fsyntax-only", "user/watch/bpf/price.c")
    assert "it includes bpf/bpf.h" in trapped.stderr


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="musl-gcc is not installed")
def test_the_client_builds_with_musl(tree: Path) -> None:
    """The C library of Alpine, which has less than glibc; the kernel's headers are Debian's."""
    triplet = run(tree, "gcc", "-print-multiarch").stdout.strip()
    headers = ("-idirafter", "/usr/include", "-idirafter", f"/usr/include/{triplet}")
    cached = ("ccache",) if shutil.which("ccache") else ()
    # musl-gcc is a script, which stays the same when the compiler that it calls changes.
    checked = "CCACHE_COMPILERCHECK=%compiler% --version"
    compiler = "CC=" + " ".join((*cached, "musl-gcc", *headers))
    made = run(tree, "env", checked, "make", "-s", "-j2", compiler, "CFLAGS=-O0", "client")
    assert made.returncode == 0, made.stderr

    (tree / "mine.c").write_text(PROGRAM)
    link = ("musl-gcc", *headers, "-static", "-Iclient", "-Iuser", "-I.", "-D_GNU_SOURCE")
    whole = ("-Wl,--whole-archive", "build/libafpclient.a", "-Wl,--no-whole-archive")
    # There is no libgcrypt for musl here: it is all that may be missing.
    told = run(tree, *link, "-o", "all", "mine.c", *whole, "-lm", "-Wl,--warn-unresolved-symbols")
    missing = set(re.findall(r"undefined reference to [`'](\w+)'", told.stderr))
    assert "gcry_mpi_powm" in missing, told.stderr
    assert {name for name in missing if not name.startswith("gcry_")} == set()

    linked = run(tree, *link, "-o", "mine", "mine.c", "build/libafpclient.a", "-lm")
    assert linked.returncode == 0, linked.stderr
    (tree / "store").mkdir()
    done = run(tree, tree / "mine", tree / "store")
    assert (done.returncode, done.stdout) == (0, "0 0 \n")
    assert (tree / "store/made").is_dir()


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="musl-gcc is not installed")
def test_the_docs_say_which_functions_musl_lacks(tmp_path: Path) -> None:
    """Of those that the programs call; statx came with musl 1.2.5."""
    (said,) = re.findall(r"musl lacks ([^.]+)\.", (TOP / "docs/building.md").read_text("utf-8"))
    names = re.findall(r"`(\w+)`", said)
    called = subprocess.run(
        ["grep", "-rhoE", rf"\b({'|'.join(names)})\(", TOP / "user"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert {name[:-1] for name in called.split()} == set(names)
    source = tmp_path / "all.c"
    source.write_text(
        "".join(f"extern int {name}();\n" for name in names)
        + f"int main(void) {{ return {' + '.join(f'{name}()' for name in names)}; }}\n"
    )
    told = run(tmp_path, "musl-gcc", "-fno-builtin", "-o", "all", "all.c").stderr
    assert set(re.findall(r"undefined reference to [`'](\w+)'", told)) == set(names)
