# SPDX-License-Identifier: GPL-2.0-or-later
"""Files in places where other users may write, too: as user/base/file.h of the C program.

A symbolic link in a path that the user named is followed when it belongs to root or to this
user; a link of another user could lead root's output anywhere, and is refused. A folder is held
by its descriptor, even if its path changes meanwhile. Files are written whole or not at all.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import Failure, wrong_use

LINKS_MAX = 40  # as the kernel
_PATH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


class _Walk:
    """Walks along a path part by part; the caller closes `at`.

    `found` is what the path names if that is not a folder, -1 if it does not exist; `is_open`:
    by a link of /proc to an open file, as /dev/stdout is, so that it is not in `at`.
    """

    def __init__(self, path: Path, make: bool = False) -> None:
        if not hasattr(os, "O_PATH"):  # not Linux: the system resolves the path
            path = path.resolve()
        self._path, self._make, self._links = path, make, 0
        self._rest = [*reversed(path.parts)]
        self.at = os.open("/" if path.is_absolute() else ".", _PATH)
        self.name, self.found, self.is_folder, self.is_open = "", -1, True, False
        try:
            while self._rest:
                self._step(self._rest.pop())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for fd in {self.at, self.found} - {-1}:
            os.close(fd)
        self.at = self.found = -1

    def _step(self, name: str) -> None:
        self.name, self.is_folder, self.is_open = name, False, False
        try:
            fd = self._open(name)
        except FileNotFoundError:
            if self._rest or self._make:
                raise
            return
        if stat.S_ISLNK(os.fstat(fd).st_mode):
            fd = self._follow(fd)
            if fd < 0:
                return
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            self._enter(fd)
        elif self._rest:
            os.close(fd)
            raise _error(errno.ENOTDIR)
        else:
            self.found = fd

    def _open(self, name: str) -> int:
        try:
            return os.open(name, _PATH | os.O_NOFOLLOW, dir_fd=self.at)
        except FileNotFoundError:
            if not self._make:
                raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=self.at)
        return os.open(name, _PATH | os.O_NOFOLLOW, dir_fd=self.at)

    def _enter(self, fd: int) -> None:
        os.close(self.at)
        self.at, self.is_folder = fd, True

    def _follow(self, link: int) -> int:
        """-1: the link's target is in front of the rest now. The text of a link in /proc may not be
        a path (a pipe): then returns a descriptor of the target."""
        try:
            st, target = os.fstat(link), os.readlink("", dir_fd=link)
        finally:
            os.close(link)
        self._links += 1
        if self._links > LINKS_MAX:
            raise _error(errno.ELOOP)
        if st.st_uid not in (0, os.geteuid()):
            raise wrong_use(
                f"{self._path}: {self.name} in it is a symbolic link of another user"
                f" (user id {st.st_uid}): name the place itself"
            )
        if Path("/proc/self").exists() and st.st_dev == Path("/proc/self").lstat().st_dev:
            self.is_open = True
            return os.open(self.name, _PATH, dir_fd=self.at)
        if target.startswith("/"):
            self._enter(os.open("/", _PATH))
        self._rest += reversed(Path(target).parts)
        return -1


def _failure(path: Path, e: OSError) -> Failure:
    return Failure(f"cannot write {path}: {os.strerror(e.errno) if e.errno else e}")


@contextmanager
def _whole(folder: int, name: str, path: Path) -> Iterator[BinaryIO]:
    """Replaces `name` when all was written; on an error nothing changes."""
    aside = f".afpscope.{secrets.token_hex(8)}.tmp"
    try:
        out = os.fdopen(os.open(aside, _CREATE, 0o666, dir_fd=folder), "wb")
    except OSError as e:
        raise _failure(path, e) from None
    try:
        with out:
            yield out
        os.replace(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as e:
        if e.filename not in (None, aside):
            raise
        raise _failure(path, e) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(aside, dir_fd=folder)


def _through(walk: _Walk) -> int:
    """Opens what was found for writing."""
    try:
        return os.open(f"/dev/fd/{walk.found}", os.O_WRONLY | os.O_APPEND | os.O_NOCTTY)
    except FileNotFoundError:  # without /proc
        return os.open(walk.name, os.O_WRONLY | os.O_NOCTTY | os.O_NOFOLLOW, dir_fd=walk.at)


@contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """The file that the user named, for writing. A pipe or a device is written to directly."""
    try:
        walk = _Walk(path)
    except OSError as e:
        raise _failure(path, e) from None
    try:
        if walk.is_folder:
            raise wrong_use(f"{path} is a folder: name a file")
        is_file = walk.found < 0 or stat.S_ISREG(os.fstat(walk.found).st_mode)
        if is_file and not walk.is_open:
            with _whole(walk.at, walk.name, path) as out:
                yield out
        else:
            try:
                with os.fdopen(_through(walk), "wb") as out:
                    yield out
            except OSError as e:
                raise _failure(path, e) from None
    finally:
        walk.close()


class Folder:
    """A folder into which files are written. It is made if it is missing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made: list[str] = []
        try:
            walk = _Walk(path, make=True)
            self._fd, walk.at = walk.at, -1
            walk.close()
            if not walk.is_folder:
                os.close(self._fd)
                raise _error(errno.ENOTDIR)
        except OSError as e:
            raise Failure(f"cannot make folder {path}: {e.strerror}") from None

    def is_empty(self) -> bool:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._fd)
        try:
            with os.scandir(fd) as entries:
                return next(entries, None) is None
        finally:
            os.close(fd)

    @contextmanager
    def written(self, name: str) -> Iterator[BinaryIO]:
        """A file in it; replaces whatever has that name, even a link."""
        with _whole(self._fd, name, self.path / name) as out:
            yield out
        self._made.append(name)

    def forget(self) -> None:
        """Removes what was written."""
        for name in self._made:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self._fd)


def opened(path: Path) -> BinaryIO:
    """Opens a file for reading. Failure for a pipe or a device, which might never end."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as e:
        if e.errno != errno.ENXIO:  # a terminal or a socket that does not exist
            raise
        raise Failure(f"{path} is not a regular file") from None
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return os.fdopen(fd, "rb")
    os.close(fd)
    raise Failure(f"{path} is not a regular file")
