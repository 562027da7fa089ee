# SPDX-License-Identifier: GPL-2.0-or-later
"""What each operation of a store does on disk: on netatalk, by AFP version, and in a directory.

Tests client/store/afp.c, afp_ops.c, posix.c, file_store.c, client/afp/command.c: by verbs.c,
beside this.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import lacking
import pytest
from netatalk import USERS, Server
from scope import BUILD, REPO

# enum store_result
OK, SHORT, NONE, EXISTS, DENIED, LOCKED, FULL, _QUOTA, _FILLED, INVALID, UNKNOWN, FAILED = range(12)
READ, WRITE = 1, 2
VERSIONS = {"2.1": 1, "2.2": 2, "3.0": 3, "3.2": 5, "3.4": 7}
OLD = (1, 2)  # without permission bits
LISTS = {1: "FPEnumerate", 2: "FPEnumerate", 3: "FPEnumerateExt"}
MANY = 600  # entries: more than one reply of 8192 bytes has, also of long names


class Verbs:
    """A store that carries out one operation after the other."""

    def __init__(self, disk: Path, version: int, *command: str) -> None:
        self.disk = disk  # what the store shows
        self.version = version  # of AFP; 0: a directory, without a server
        self.lists = LISTS.get(version, "FPEnumerateExt2" if version else "getdents64")
        line = [str(BUILD / "tests/integration/lib/verbs"), *command]
        self.process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.root = int(self.answer()["root"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        status = self.process.wait(20)
        assert kind or status == 0

    def answer(self) -> dict[str, str]:
        assert self.process.stdout
        words, _, why = self.process.stdout.readline().rstrip("\n").partition(" why=")
        return dict(word.split("=", 1) for word in words.split()) | {"why": why}

    def __call__(
        self, verb: str, name: str | None = None, *, wants: int = OK, **keys: int | str
    ) -> dict[str, str]:
        """Carries out one; asserts its result."""
        words = keys if name is None else {"name": name, **keys}
        assert self.process.stdin
        self.process.stdin.write(" ".join([verb, *(f"{k}={v}" for k, v in words.items())]) + "\n")
        self.process.stdin.flush()
        answer = self.answer()
        assert int(answer["result"]) == wants, f"{verb} {words}: {answer}"
        return answer

    def number(self, verb: str, name: str, **keys: int | str) -> int:
        """Of what it made or opened."""
        answer = self(verb, name, **keys)
        return int(answer["opened" if verb == "open" else "made"])


def afp(server: Server, version: int) -> Verbs:
    where = ("127.0.0.1", str(server.port), "bench1", USERS["bench1"], "vol1", str(version))
    return Verbs(server.vol1, version, "afp", *where)


@pytest.fixture(params=[*VERSIONS, "directory"])
def verbs(
    request: pytest.FixtureRequest, _driver: None, guests: Server, tmp_path: Path
) -> Iterator[Verbs]:
    """Each version on netatalk 4.5, and a directory."""
    with (
        Verbs(tmp_path, 0, "local", str(tmp_path))
        if request.param == "directory"
        else afp(guests, VERSIONS[request.param])
    ) as found:
        yield found
    left = [p for p in found.disk.iterdir() if not p.name.startswith(".")]
    for path in left:  # one failure is not everybody's
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert not left, "the test left something"


def use_all(v: Verbs) -> None:
    """Each verb, and what is on disk after it."""
    d, e = v.number("mkdir", "d"), v.number("mkdir", "e")
    disk, other = v.disk / "d", v.disk / "e"
    v("create", "f", dir=d)
    assert v.number("lookup", "d") == d
    v("lookup", "nothing", wants=NONE)
    v("lookup", "f", dir=d, wants=NONE)

    v("create", "g", dir=d)
    v("rename", "f", dir=d, to_dir=d, to_name="g", wants=EXISTS)
    v("rename", "f", dir=d, to_dir=d, to_name="new")
    assert not (disk / "f").exists() and (disk / "new").exists()
    v("rename", "new", dir=d, to_dir=e, to_name="moved")
    assert not (disk / "new").exists() and (other / "moved").exists()
    v("rename", "g", dir=d, to_dir=e, to_name="moved", wants=EXISTS)
    v("rename", "nothing", dir=d, to_dir=e, to_name="x", wants=NONE)
    v("rename", "moved", dir=e, to_dir=d, to_name="f")

    for when in (1_000_000_000, 1, 2_000_000_000):
        v("settime", "f", dir=d, offset=when)
        assert (disk / "f").stat().st_mtime == when
    v("settime", "nothing", dir=d, offset=1, wants=NONE)
    v("settime", "f", dir=d, offset=946_684_800 + 2**31, wants=INVALID if v.version else OK)

    for mode in (0o751, 0o640):
        v("chmod", "f", dir=d, how=mode, wants=FAILED if v.version in OLD else OK)
        if v.version not in OLD:
            assert (disk / "f").stat().st_mode & 0o777 == mode
    v("chmod", "e", dir=v.root, how=0o777, wants=FAILED if v.version in OLD else OK)

    v("link", "f", dir=d, to_dir=d, to_name="link", wants=UNKNOWN if v.version else OK)
    if not v.version:
        assert (disk / "f").stat().st_nlink == 2
        v("delete", "link", dir=d)

    v("symlink", "soft", dir=d, to_name="f", wants=UNKNOWN if v.version else OK)
    if not v.version:
        assert (disk / "soft").readlink() == Path("f")
        v("symlink", "soft", dir=d, to_name="other", wants=EXISTS)
        v("delete", "soft", dir=d)
        assert (disk / "f").exists()

    v("exchange", "f", dir=d, to_dir=d, to_name="h", wants=UNKNOWN)
    assert not (disk / "h").exists()

    v("rename", "d", to_dir=e, to_name="inner")
    assert (other / "inner" / "f").exists()
    assert v.number("lookup", "inner", dir=e) == d
    v("rename", "inner", dir=e, to_dir=v.root, to_name="d")
    for name in ("f", "g"):
        v("delete", name, dir=d)
    for name in ("d", "e"):
        v("delete", name)


def use_each_verb(v: Verbs, lacks: Mapping[str, str]) -> None:
    """Each verb that there is, once: what the store has works, and for what it lacks it gives this
    reason. A new verb that is not tried here fails."""
    tried = set()

    def use(
        verb: str, name: str | None = None, *, wants: int = OK, **keys: int | str
    ) -> dict[str, str]:
        tried.add(verb)
        answer = v(verb, name, wants=UNKNOWN if verb in lacks else wants, **keys)
        if verb in lacks:
            assert answer["why"] == lacks[verb], verb
        return answer

    d = int(use("mkdir", "d")["made"])
    use("create", "f", dir=d)
    use("stat", "f", dir=d)
    f = int(use("open", "f", dir=d, how=READ | WRITE)["opened"])
    use("write", file=f, data="12345")
    assert use("read", file=f, len=5)["value"] == "12345"
    assert use("length", file=f)["done"] == "5"
    use("setlen", file=f, len=3)
    use("flush", file=f)
    use("lock", file=f, len=2)
    use("unlock", file=f, len=2)
    use("close", file=f)
    use("setxattr", "f", dir=d, to_name="a", data="x")
    use("getxattr", "f", dir=d, to_name="a", len=10)
    use("listxattr", "f", dir=d, len=1000)
    use("delxattr", "f", dir=d, to_name="a")
    use("settime", "f", dir=d, offset=1_000_000_000)
    use("chmod", "f", dir=d, how=0o640, wants=FAILED if v.version in OLD else OK)
    use("copy", "f", dir=d, to_dir=d, to_name="copied")
    use("link", "f", dir=d, to_dir=d, to_name="linked")
    use("symlink", "soft", dir=d, to_name="f")
    use("rename", "f", dir=d, to_dir=d, to_name="g")
    use("swap", "g", dir=d, to_dir=d, to_name="copied")
    use("setfinder", "g", dir=d, data="TEXTttxt" * 4)
    found = use("search", "copied", len=8192, wants=NONE)  # no more than these
    assert "search" in lacks or found["done"] == "1"
    for verb in ("login", "logout", "other", "exchange"):
        use(verb, "g", dir=d, to_dir=d, to_name="g")
    assert int(use("room")["done"]) > 0
    assert int(use("lookup", "d")["made"]) == d
    assert int(use("list", dir=d, len=8192)["done"]) > 0
    for verb, name in {
        "link": "linked",
        "symlink": "soft",
        "rename": "g",
        "copy": "copied",
    }.items():
        if verb not in lacks:
            use("delete", name, dir=d)
    use("delete", "d")
    assert tried == {*lacking.VERBS}


def use_lists(v: Verbs, many: int = MANY) -> None:
    d = v.number("mkdir", "d")
    disk = v.disk / "d"
    v("list", dir=d, len=8192, wants=NONE)
    for i in range(many):
        (disk / f"file-{i}").touch()
        if v.version:  # of the user who is logged in
            os.chown(disk / f"file-{i}", disk.stat().st_uid, disk.stat().st_gid)
    (disk / "inner").mkdir()
    for attrs in (0, 1):
        for room in (8192, 65536):
            n = lists = 0
            while n < many + 1:
                answer = v("list", dir=d, offset=n, len=room, attrs=attrs)
                assert answer["what"] == v.lists and int(answer["done"]) > 0
                n += int(answer["done"])
                lists += 1
            assert n == many + 1 and (lists > 1 or room > 8192)
            v("list", dir=d, offset=n, len=room, attrs=attrs, wants=NONE)
    v("list", dir=d, len=8191, wants=INVALID)
    # the first entry that a field of 16 bits cannot name
    v("list", dir=d, offset=65535, len=8192, wants=INVALID if 0 < v.version < 4 else NONE)
    v("delete", "inner", dir=d)
    for i in range(many):
        (disk / f"file-{i}").unlink()
    v("delete", "d")


def use_attributes(v: Verbs) -> None:
    v("create", "f")
    if 0 < v.version < 5:
        v("getxattr", "f", to_name="a", len=10, wants=UNKNOWN)
        v("setxattr", "f", to_name="a", data="hello", wants=UNKNOWN)
    else:
        v("getxattr", "f", to_name="a", len=10, wants=NONE)
        v("setxattr", "f", to_name="a", data="hello")
        value = os.getxattr(v.disk / "f", "user.a")
        assert value.rstrip(b"\0") == b"hello"  # afpd ends it so where it keeps such
        for room in (10, 5):
            answer = v("getxattr", "f", to_name="a", len=room)
            assert (answer["done"], answer["value"]) == ("5", "hello")
        v("getxattr", "f", to_name="a", len=4, wants=INVALID)
        v("getxattr", "f", to_name="a", len=0, wants=INVALID)
        v("setxattr", "f", to_name="a", data="")
        assert v("getxattr", "f", to_name="a", len=10)["done"] == "0"
        v("setxattr", "f", to_name="long", data="x" * 3000)
        assert v("getxattr", "f", to_name="long", len=70000)["value"] == "x" * 3000
    v("delete", "f")


def use_locks(v: Verbs) -> None:
    v("create", "f")
    f, g = (v.number("open", "f", how=READ | WRITE) for _ in range(2))
    inode = (v.disk / "f").stat().st_ino

    def held() -> list[tuple[int, int]]:
        """Locks on the file that the kernel knows of, within its first 100 bytes."""
        rows = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        ranges = [
            (int(r[-2]), int(r[-1]))
            for r in rows
            if r[-3].endswith(f":{inode}") and r[-1].isdigit()
        ]
        return sorted(r for r in ranges if r[1] < 100)

    v("lock", file=f, offset=10, len=10)
    assert held() == [(10, 19)]
    v("lock", file=g, offset=19, len=1, wants=LOCKED)
    v("lock", file=g, offset=20, len=1)
    v("unlock", file=f, offset=10, len=10)
    v("unlock", file=g, offset=20, len=1)
    assert held() == []
    v("lock", file=f, offset=0, len=0, wants=INVALID)
    if v.version == 0 or v.version >= 3:
        v("lock", file=f, offset=1 << 33, len=10)
        v("unlock", file=f, offset=1 << 33, len=10)
    else:
        v("lock", file=f, offset=1 << 33, len=10, wants=INVALID)
    for fork in (f, g):
        v("close", file=fork)
    v("delete", "f")


def test_the_page_says_what_each_place_has() -> None:
    """As the test of each kind of place shows it."""
    assert f"\n\n{lacking.table()}\n" in (REPO / "docs/load.md").read_text(), lacking.table()


def lacked(v: Verbs) -> Mapping[str, str]:
    """What a directory, or a volume by this version of AFP, does not have."""
    if not v.version:
        return lacking.DIRECTORY
    xattr = [verb for verb in ("getxattr", "setxattr") if v.version < VERSIONS[lacking.SINCE[verb]]]
    return lacking.AFP | dict.fromkeys(xattr, "not supported by the server")


def test_a_directory_or_a_volume_has_each_verb_or_says_why_not(verbs: Verbs) -> None:
    use_each_verb(verbs, lacked(verbs))


def test_each_verb_does_on_disk_what_it_says(verbs: Verbs) -> None:
    use_all(verbs)


def test_lists_have_every_entry_once(verbs: Verbs) -> None:
    use_lists(verbs)


def test_attributes_are_those_of_the_file_system(verbs: Verbs) -> None:
    use_attributes(verbs)


def test_locks_are_those_of_the_kernel(verbs: Verbs) -> None:
    use_locks(verbs)


@pytest.mark.parametrize("version", ["2.2", "3.0", "3.4"])
def test_netatalk_4_2_does_the_same(_driver: None, old: Server, version: str) -> None:
    with afp(old, VERSIONS[version]) as verbs:
        use_each_verb(verbs, lacked(verbs))
        for use in (use_all, use_lists, use_attributes, use_locks):
            use(verbs)
