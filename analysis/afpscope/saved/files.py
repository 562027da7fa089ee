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
import shutil
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
    """Goes along a path part by part: no flag of the kernel's says whose links are followed.

    `at` is the folder of the part reached, `found` what it names, -1 if that does not exist;
    `is_open`: a link of /proc led to an open file, as /dev/stdout does, which need not be in `at`.
    """

    def __init__(self, path: Path, make: bool = False, mode: int = 0o777) -> None:
        if not hasattr(os, "O_PATH"):  # not Linux: the system resolves the path
            path = path.resolve()
        self._path, self._make, self._mode, self._links = path, make, mode, 0
        self._rest = [*reversed(path.parts)]
        self.at, self.found = -1, os.open("/" if path.is_absolute() else ".", _PATH)
        self.name, self.is_open = "", False
        try:
            while self._rest:
                self._step()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for fd in {self.at, self.found} - {-1}:
            os.close(fd)

    def _step(self) -> None:
        """Goes on by the first part of the rest. The first of an absolute path is "/"."""
        if self.found < 0:
            raise _error(errno.ENOENT)
        if self.at >= 0:
            os.close(self.at)
        self.at, self.found = self.found, -1
        self.name, self.is_open = self._rest.pop(), False
        try:
            self.found = os.open(self.name, _PATH | os.O_NOFOLLOW, dir_fd=self.at)
        except FileNotFoundError:
            if not self._make:
                return
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.name, self._mode, dir_fd=self.at)
            self.found = os.open(self.name, _PATH | os.O_NOFOLLOW, dir_fd=self.at)
        if stat.S_ISLNK(os.fstat(self.found).st_mode):
            self._follow()

    def _follow(self) -> None:
        """Puts the target of the link that was found in front of the rest. A link of /proc, whose
        text may not be a path (a pipe), is left to the kernel."""
        st, target = os.fstat(self.found), os.readlink("", dir_fd=self.found)
        if st.st_uid not in (0, os.geteuid()):
            raise wrong_use(
                f"{self._path}: {self.name} in it is a symbolic link of another user"
                f" (user id {st.st_uid}): name the place itself"
            )
        self._links += 1
        if self._links > LINKS_MAX:
            raise _error(errno.ELOOP)
        os.close(self.found)
        self.found = -1
        if Path("/proc/self").exists() and st.st_dev == Path("/proc/self").lstat().st_dev:
            self.found, self.is_open = os.open(self.name, _PATH, dir_fd=self.at), True
        else:
            self.at, self.found = -1, self.at
            self._rest += reversed(Path(target).parts)


def _failure(path: Path, e: OSError) -> Failure:
    return Failure(f"cannot write {path}: {os.strerror(e.errno) if e.errno else e}")


@contextmanager
def _whole(folder: int, name: str, path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Replaces `name` when all was written; on an error nothing changes."""
    aside = f".afpscope.{secrets.token_hex(8)}.tmp"
    try:
        out = os.fdopen(os.open(aside, _CREATE, mode, dir_fd=folder), "wb")
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
        mode = stat.S_IFREG if walk.found < 0 else os.fstat(walk.found).st_mode
        if stat.S_ISDIR(mode):
            raise wrong_use(f"{path} is a folder: name a file")
        if stat.S_ISREG(mode) and not walk.is_open:
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

    def __init__(self, path: Path, mode: int = 0o777) -> None:
        """`mode`: of folders that are made, less the umask."""
        self.path = path
        self._made: list[str] = []
        try:
            with contextlib.closing(_Walk(path, make=True, mode=mode)) as walk:
                self._fd = os.open(".", _PATH | os.O_DIRECTORY, dir_fd=walk.found)
        except OSError as e:
            raise Failure(f"cannot make folder {path}: {e.strerror}") from None

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):  # it was not made
            os.close(self._fd)

    def is_empty(self) -> bool:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._fd)
        try:
            with os.scandir(fd) as entries:
                return next(entries, None) is None
        finally:
            os.close(fd)

    @contextmanager
    def written(self, name: str, mode: int = 0o666) -> Iterator[BinaryIO]:
        """A file in it; replaces whatever has that name, even a link. `mode`: less the umask."""
        with _whole(self._fd, name, self.path / name, mode) as out:
            yield out
        self._made.append(name)

    @contextmanager
    def renamed(self, name: str) -> Iterator[Folder]:
        """A folder that replaces the one called `name` when all in it was written; on an error
        nothing changes."""
        aside, old = (f".afpscope.{secrets.token_hex(8)}.{what}" for what in ("new", "old"))
        folder = Folder(self.path / aside)
        try:
            yield folder
            with contextlib.suppress(FileNotFoundError):
                os.rename(name, old, src_dir_fd=self._fd, dst_dir_fd=self._fd)
            os.rename(aside, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except OSError as e:
            raise _failure(self.path / name, e) from None
        finally:
            for path in (self.path / aside, self.path / old):
                shutil.rmtree(path, ignore_errors=True)

    def forget(self) -> None:
        """Removes what was written."""
        for name in self._made:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self._fd)


def added(path: Path) -> BinaryIO:
    """Opens a file of our own choice to add to it; not over a link, nor into a pipe."""
    flags = os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o666), "ab")


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
