# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of SMB 2.1 that logs in as nobody, for what libraries do not do: oplocks that are given
up late, locks that are waited for, and compounds that wait.

The share must have "guest ok = yes". One thread uses a client at a time; a request that goes wrong
raises RuntimeError with its status. Formats: MS-SMB2 and MS-NLMP.
"""

from __future__ import annotations

import os
import socket
import struct

NEGOTIATE, SESSION_SETUP, TREE_CONNECT, CREATE, CLOSE = 0, 1, 3, 5, 6
FLUSH, WRITE, LOCK, CHANGE_NOTIFY, OPLOCK_BREAK = 7, 9, 10, 15, 18
PENDING, GOES_ON = 0x103, 0xC0000016
NO_OPLOCK, BATCH = 0, 9
LOCK_IT, UNLOCK = 2, 4
BELOW, ANY_CHANGE = 1, 0xFFF
RELATED, OPENED_BEFORE = 4, b"\xff" * 16  # of a compound's later messages: flag, file
NTLM_FLAGS = 0x80A07  # Unicode, OEM, request target, NTLM, anonymous, extended session security


def close_of(file: bytes) -> bytes:
    return struct.pack("<HHI16s", 24, 0, 0, file)


def notify_of(file: bytes) -> bytes:
    return struct.pack("<HHI16sII", 32, BELOW, 4096, file, ANY_CHANGE, 0)


def lock_of(file: bytes, how: int = LOCK_IT) -> bytes:
    """The first byte."""
    return struct.pack("<HHI16sQQII", 48, 1, 0, file, 0, 1, how, 0)


class SmbWire:
    """A session of nobody on a share."""

    def __init__(self, port: int, share: str = "share1", timeout_s: float = 60) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._next, self._session, self._tree = 0, 0, 0
        self.breaks: list[bytes] = []  # file ids whose oplocks are to be given up
        self.granted = NO_OPLOCK  # with the last file that was opened
        dialect = struct.pack("<HHHHI16sQH", 36, 1, 1, 0, 0, os.urandom(16), 0, 0x0210)
        self._ask(NEGOTIATE, dialect)
        hello = b"NTLMSSP\0" + struct.pack("<II8x8x", 1, NTLM_FLAGS)
        self._log_in(hello)
        # Empty fields, but for an LM answer of one 0: anonymous.
        field = struct.pack("<HHI", 0, 0, 65)
        lm = struct.pack("<HHI", 1, 1, 64)
        self._log_in(b"NTLMSSP\0" + struct.pack("<I", 3) + lm + field * 5
                     + struct.pack("<I", NTLM_FLAGS) + bytes(1))  # fmt: skip
        path = rf"\\127.0.0.1\{share}".encode("utf-16-le")
        self._ask(TREE_CONNECT, struct.pack("<HHHH", 9, 0, 72, len(path)) + path)

    def _log_in(self, token: bytes) -> None:
        self._ask(SESSION_SETUP,
                  struct.pack("<HBBIIHHQ", 25, 0, 1, 0, 0, 88, len(token), 0) + token)  # fmt: skip

    def _message(self, command: int, body: bytes, flags: int = 0, following: int = 0) -> bytes:
        me, self._next = self._next, self._next + 1
        head = struct.pack("<4sHHIHHIIQIIQ16x", b"\xfeSMB", 64, 1, 0, command, 64, flags,
                           following, me, 0, self._tree, self._session)  # fmt: skip
        return head + body

    def _send_frame(self, frame: bytes) -> int:
        """The id of its last message."""
        self._socket.sendall(struct.pack(">I", len(frame)) + frame)
        return self._next - 1

    def _send(self, command: int, body: bytes) -> int:
        return self._send_frame(self._message(command, body))

    def _exactly(self, n: int) -> bytes:
        got = b""
        while len(got) < n:
            more = self._socket.recv(n - len(got))
            if not more:
                raise ConnectionError("the server hung up")
            got += more
        return got

    def _read(self) -> tuple[int, int, bytes]:
        """The next message: its id, its status, and all of it."""
        message = self._exactly(int.from_bytes(self._exactly(4), "big"))
        status, number = struct.unpack_from("<I", message, 8)[0], message[24:32]
        self._session = struct.unpack_from("<Q", message, 40)[0] or self._session
        return int.from_bytes(number, "little"), status, message

    def _ask(self, command: int, body: bytes) -> bytes:
        me = self._send(command, body)
        while True:
            number, status, message = self._read()
            if number == 2**64 - 1:
                self.breaks.append(message[72:88])
            elif number == me and status != PENDING:
                break
        if status not in (0, GOES_ON):
            raise RuntimeError(f"command {command}: status {status:#x}")
        if command == TREE_CONNECT:
            self._tree = struct.unpack_from("<I", message, 36)[0]
        return message

    def open(self, name: str, oplock: int = NO_OPLOCK) -> bytes:
        """Opens a file, or makes it; its id."""
        path = name.encode("utf-16-le")
        access, anyhow, make = 0x12019F, 7, 3
        body = struct.pack("<HBBIQQIIIIIHHII", 57, 0, oplock, 2, 0, 0, access, 0x80, anyhow, make,
                           0x40, 120, len(path), 0, 0)  # fmt: skip
        message = self._ask(CREATE, body + path)
        self.granted = message[66]
        return message[128:144]

    def keep(self, name: str) -> None:
        """Opens a file that is there for reading, so that nobody can delete it meanwhile."""
        path = name.encode("utf-16-le")
        read, no_delete, there, file = 0x120089, 3, 1, 0x40
        body = struct.pack("<HBBIQQIIIIIHHII", 57, 0, 0, 2, 0, 0, read, 0, no_delete, there,
                           file, 120, len(path), 0, 0)  # fmt: skip
        self._ask(CREATE, body + path)

    def watch(self) -> None:
        """Asks, by one more open folder, to be told of whatever changes in the share, once."""
        read, anyhow, there, folder = 1, 7, 1, 1
        body = struct.pack("<HBBIQQIIIIIHHII", 57, 0, 0, 2, 0, 0, read, 0x10, anyhow, there,
                           folder, 120, 0, 0, 0)  # fmt: skip
        file = self._ask(CREATE, body + bytes(1))[128:144]
        self._send(CHANGE_NOTIFY, notify_of(file))

    def begin_compound(self, command: int, body: bytes, name: str = "") -> int:
        """Opens a file for reading and writing, or the share's folder, and asks for more of what is
        open then, in one frame; the id of the second message."""
        path = name.encode("utf-16-le")
        access, how, there, folder = (0x12019F, 0x80, 1, 0x40) if name else (1, 0x10, 1, 1)
        create = struct.pack("<HBBIQQIIIIIHHII", 57, 0, 0, 2, 0, 0, access, how, 7, there, folder,
                             120, len(path), 0, 0) + (path or bytes(1))  # fmt: skip
        create += bytes(-len(create) % 8)
        first = self._message(CREATE, create, following=64 + len(create))
        return self._send_frame(first + self._message(command, body, RELATED))

    def wait_interim(self, me: int) -> None:
        """Until the client is told to wait for the message, or for the one before it."""
        while PENDING not in self._replies(me - 1, me):
            pass

    def end(self, me: int) -> None:
        """Waits for the reply that ends the message."""
        while PENDING in (said := self._replies(me)):
            pass
        assert said == [0], said

    def _replies(self, *ids: int) -> list[int]:
        """The statuses of these messages in the next frame that has any."""
        found: list[int] = []
        while not found:
            _, _, frame = self._read()
            while frame:
                status, following = (struct.unpack_from("<I", frame, at)[0] for at in (8, 20))
                number = int.from_bytes(frame[24:32], "little")
                if number == 2**64 - 1:
                    self.breaks.append(frame[72:88])
                found += [status] * (number in ids)
                frame = frame[following:] if following else b""
        return found

    def close(self, file: bytes) -> None:
        self._ask(CLOSE, close_of(file))

    def remove(self, name: str) -> None:
        path = name.encode("utf-16-le")
        delete, anyhow, there, on_close = 0x10000, 7, 1, 0x1040
        body = struct.pack("<HBBIQQIIIIIHHII", 57, 0, 0, 2, 0, 0, delete, 0x80, anyhow, there,
                           on_close, 120, len(path), 0, 0)  # fmt: skip
        self.close(self._ask(CREATE, body + path)[128:144])

    def write(self, file: bytes, data: bytes) -> None:
        head = struct.pack("<HHIQ16sIIHHI", 49, 112, len(data), 0, file, 0, 0, 0, 0, 0)
        self._ask(WRITE, head + data)

    def flush(self, file: bytes) -> None:
        self._ask(FLUSH, struct.pack("<HHI16s", 24, 0, 0, file))

    def lock(self, file: bytes, how: int = LOCK_IT) -> None:
        """The first byte; waits until it is free."""
        self._ask(LOCK, lock_of(file, how))

    def break_comes(self, seconds: float) -> bool:
        """Whether an oplock is to be given up within that time."""
        self._socket.settimeout(seconds)
        try:
            while not self.breaks:
                number, _, message = self._read()
                if number == 2**64 - 1:
                    self.breaks.append(message[72:88])
        except TimeoutError:
            return False
        finally:
            self._socket.settimeout(60)
        self.breaks.clear()
        return True

    def drop(self) -> None:
        self._socket.close()
