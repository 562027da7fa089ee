# SPDX-License-Identifier: GPL-2.0-or-later
"""An Rx of our own, as client and as server of rxperf's calls: simple, slow, and a judge.

It shares no code with the program under test. Whatever reaches it is compared with the protocol;
what should not be is in `faults` of its Ledger.
"""

from __future__ import annotations

import random
import select
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

HEADER = struct.Struct(">IIIIIBBBBHH")
LIMITS = struct.Struct(">IIII")
DATA, ACK, BUSY, ABORT, ACKALL, CHALLENGE, RESPONSE, DEBUG = range(1, 9)
VERSION = 13
FROM_CLIENT, REQUEST_ACK, LAST, MORE, JUMBO = 1, 2, 4, 8, 0x20
REQUESTED, DUPLICATE, OUT_OF_ORDER, EXCEEDS_WINDOW, NO_SPACE, PING, PING_RESPONSE, DELAY, IDLE = (
    range(1, 10)
)
FULL = 1412
LONGEST = 1444
OPENING = 16  # packets that may be sent to a peer that has not said how many
WINDOW = 32
RESEND_S = 0.15
SERVICE = 147
COOKIE = struct.pack(">I", 0x4711)
SEND, RECV, RPC, FILE = 0, 1, 3, 4
NAMES = {SEND: "SEND", RECV: "RECV", RPC: "RPC", FILE: "FILE"}

# Yields how many bytes it wants next, and gets them.
Program = Generator[int, bytes, None]


@dataclass(frozen=True)
class Packet:
    epoch: int
    cid: int
    call: int
    seq: int
    serial: int
    type: int
    flags: int
    status: int = 0
    security: int = 0
    checksum: int = 0
    service: int = SERVICE
    data: bytes = b""

    def bytes(self) -> bytes:
        return (
            HEADER.pack(
                *(self.epoch, self.cid, self.call, self.seq, self.serial, self.type, self.flags),
                *(self.status, self.security, self.checksum, self.service),
            )
            + self.data
        )


def packets(datagram: bytes) -> Iterator[Packet]:
    """Of a datagram; a jumbogram has several."""
    packet = Packet(*HEADER.unpack_from(datagram), data=datagram[HEADER.size :])
    while packet.type == DATA and packet.flags & JUMBO:
        own, rest = packet.data[:FULL], packet.data[FULL:]
        yield replace(packet, data=own)
        flags, _, checksum = struct.unpack_from(">BBH", rest)
        seq, serial = packet.seq + 1, packet.serial + 1
        packet = replace(
            packet, flags=flags, checksum=checksum, seq=seq, serial=serial, data=rest[4:]
        )
    yield packet


@dataclass
class Ledger:
    """What reached one end."""

    types: Counter[int] = field(default_factory=Counter)
    resent: int = 0
    doubled: int = 0
    aborts: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    seen: dict[tuple[int, int, int], bytes] = field(default_factory=dict)

    def must(self, fine: bool, what: str, packet: Packet) -> None:
        if not fine:
            self.faults.append(f"{what}: {packet!r:.300}")

    def note(self, p: Packet, from_client: bool) -> bool:
        """False: the network has brought it before."""
        key = (p.epoch, p.cid & ~3, p.serial)
        raw = p.bytes()
        if key in self.seen:
            self.must(self.seen[key] == raw, "a serial number for two packets", p)
            self.doubled += 1
            return False
        self.seen[key] = raw
        self.types[p.type] += 1
        self.must(bool(p.flags & FROM_CLIENT) == from_client, "flag of the client", p)
        self.must(p.security == p.checksum == p.status == 0, "more than rxnull", p)
        self.must(p.service == SERVICE, "service", p)
        self.must(p.type == DATA or p.seq == 0, "a sequence number without data", p)
        self.must(p.type in (DATA, ACK, BUSY, ABORT, ACKALL), "type", p)
        return True


@dataclass(frozen=True)
class Ways:
    """How an end behaves, within what the protocol allows."""

    window: int = WINDOW
    datagram: int = 1  # packets in one that it receives
    ack_every: int = 1
    data_len: int = FULL
    limits: bool = True  # whether its ACKs end with them


class Side:
    """One end of one call: streams in and out, which a program reads and writes."""

    def __init__(
        self, base: Packet, send: Callable[[Packet], None], ledger: Ledger, ways: Ways
    ) -> None:
        self.base, self._send, self._ledger, self._ways = base, send, ledger, ways
        self._out: list[bytes] = []  # packets, the first is number 1
        self._ended = False
        self._partial = b""
        self._hard = 0  # of out: confirmed for good
        self._soft: set[int] = set()
        self._sent = 0
        self._window = OPENING
        self._resend_at = 0.0
        self._stored: dict[int, bytes] = {}  # of the peer's packets: not read yet
        self._content: dict[int, bytes] = {}
        self._highest = 0  # of its numbers
        self._next = 1
        self._last: int | None = None
        self._unacked = 0
        self._inbox = bytearray()
        self._program: Program | None = None
        self._wants = 0
        self.returned = False
        self.error: int | None = None

    # what a program does

    def write(self, data: bytes) -> None:
        data = self._partial + data
        size = self._ways.data_len
        whole = max(0, len(data) - 1) // size * size
        self._out += [data[at : at + size] for at in range(0, whole, size)]
        self._partial = data[whole:]

    def flush(self) -> None:
        if self._partial:
            self._out.append(self._partial)
            self._partial = b""

    def end(self) -> None:
        self._out.append(self._partial)
        self._partial = b""
        self._ended = True

    def run(self, program: Program) -> None:
        self._program = program
        self._wants = next(program)
        self._go_on()

    def _go_on(self) -> None:
        while self._program and len(self._inbox) >= self._wants:
            data = bytes(self._inbox[: self._wants])
            del self._inbox[: self._wants]
            try:
                self._wants = self._program.send(data)
            except StopIteration:
                self._program = None
                self.returned = True
        self._send_more()

    @property
    def is_done(self) -> bool:
        """The program has returned, and both ends have all of the other's."""
        if self.error is not None:
            return True
        everything = self._last is not None and self._next > self._last
        confirmed = self._ended and self._hard == len(self._out)
        # The answer confirms the request; the client's last ACK the answer.
        return self.returned and everything and (confirmed or bool(self.base.flags & FROM_CLIENT))

    def check_end(self) -> None:
        if self.error is None and (self._inbox or self._stored):
            self._ledger.faults.append(f"{len(self._inbox)} bytes more than the call has")

    # out

    def _packet(self, kind: int, **more: int | bytes) -> Packet:
        return replace(self.base, type=kind, **{"flags": self.base.flags, **more})

    def _send_data(self, number: int, flags: int = 0) -> None:
        last = LAST if self._ended and number == len(self._out) else 0
        all_flags = self.base.flags | flags | last
        self._send(self._packet(DATA, seq=number, flags=all_flags, data=self._out[number - 1]))

    def _send_more(self) -> None:
        while self._sent < min(len(self._out), self._hard + self._window):
            self._sent += 1
            self._send_data(self._sent)
            self._resend_at = time.monotonic() + RESEND_S

    def tick(self, now: float) -> None:
        if self.error is not None or self._hard >= self._sent or now < self._resend_at:
            return
        for number in range(self._hard + 1, self._sent + 1):
            if number not in self._soft:
                self._send_data(number, REQUEST_ACK)
        self._resend_at = now + RESEND_S

    def ack(self, reason: int, serial: int) -> None:
        top = max(self._stored, default=self._next - 1)
        have = bytes(n in self._stored for n in range(self._next, top + 1))[:255]
        previous = self._highest
        data = struct.pack(">HHIIIBB", 0, 0, self._next, previous, serial, reason, len(have))
        data += have + bytes(3)
        if self._ways.limits:
            longest = self._ways.data_len + HEADER.size + 4
            data += LIMITS.pack(longest, longest, self._ways.window, self._ways.datagram)
        flags = self.base.flags | (REQUEST_ACK if reason == PING else 0)
        self._send(self._packet(ACK, flags=flags, data=data))
        self._unacked = 0

    # in

    def on(self, p: Packet) -> None:
        if p.type == DATA:
            self._on_data(p)
        elif p.type == ACK:
            self._on_ack(p)
        elif p.type == ABORT:
            (code,) = struct.unpack_from(">i", p.data)
            self._ledger.aborts.append(code)
            self.error = code
        self._go_on()

    def _on_data(self, p: Packet) -> None:
        must = self._ledger.must
        must(p.seq >= 1, "no sequence number", p)
        must(p.seq < self._next + max(self._ways.window, OPENING), "beyond the window", p)
        must(len(p.data) <= max(self._ways.data_len, FULL), "too much data", p)
        must(not p.flags & LAST or self._last in (None, p.seq), "two last packets", p)
        must(self._last is None or p.seq <= self._last, "after the last packet", p)
        if p.flags & LAST:
            self._last = p.seq
        known = self._content.get(p.seq)
        if known is not None:
            self._ledger.resent += 1
            must(known == p.data, "other data when it was sent again", p)
            self.ack(DUPLICATE, p.serial)
            return
        if self.base.flags & FROM_CLIENT and self._ended:
            self._hard = len(self._out)  # an answer confirms the whole request
        self._content[p.seq] = p.data
        self._highest = max(self._highest, p.seq)
        self._stored[p.seq] = p.data
        in_order = p.seq == self._next
        while self._next in self._stored:
            self._inbox += self._stored.pop(self._next)
            self._next += 1
        self._unacked += 1
        if p.flags & REQUEST_ACK:
            self.ack(REQUESTED, p.serial)
        elif not in_order:
            self.ack(OUT_OF_ORDER, p.serial)
        elif self._unacked >= self._ways.ack_every or p.flags & LAST:
            self.ack(IDLE, p.serial)

    def _on_ack(self, p: Packet) -> None:
        must = self._ledger.must
        must(len(p.data) >= 18, "a short ACK", p)
        _, _, first, _, _, reason, n = struct.unpack_from(">HHIIIBB", p.data)
        have, limits = p.data[18 : 18 + n], p.data[18 + n + 3 :]
        must(len(have) == n, "a list that breaks off", p)
        must(set(have) <= {0, 1}, "a list of what else", p)
        must(REQUESTED <= reason <= IDLE, "reason", p)
        must(bool(p.flags & REQUEST_ACK) == (reason == PING), "only a ping asks", p)
        must(first >= 1 and first - 1 + sum(have) <= self._sent, "confirms what was not sent", p)
        must(len(limits) == LIMITS.size, "no limits", p)
        if len(limits) == LIMITS.size:
            longest, _, window, datagram = LIMITS.unpack(limits)
            must(longest >= LONGEST and window >= 1 and datagram >= 1, "limits", p)
            self._window = min(window, WINDOW)
        if reason == PING:
            self.ack(PING_RESPONSE, p.serial)
        if first - 1 > self._hard:
            self._hard = first - 1
            self._resend_at = time.monotonic() + RESEND_S
        if first - 1 == self._hard:
            self._soft = {first + i for i, there in enumerate(have) if there}


# ---- the calls of rxperf ----


def head(command: int, *numbers: int, chunk: int = 4096) -> bytes:
    return struct.pack(f">{4 + len(numbers)}I", 3, command, chunk, chunk, *numbers)


@dataclass
class Request:
    """A call of a client, and what came of it."""

    command: int
    numbers: tuple[int, ...]
    data: bytes = b""
    answer: bytes = b""
    cookie: bytes = b""
    error: int | None = None
    raw: bytes | None = None  # in place of command, numbers and data

    def program(self, side: Side) -> Program:
        side.write(self.raw if self.raw is not None else head(self.command, *self.numbers))
        side.write(self.data)
        side.end()
        n = {RECV: 0, RPC: 1}.get(self.command)
        size = self.numbers[n] if n is not None else 0
        if self.command == FILE:
            size = 4 * sum(_parts(self.numbers[1:])[1])
        self.answer = yield size
        self.cookie = yield 0 if self.command == FILE else 4

    @property
    def is_right(self) -> bool:
        return self.error is None and self.cookie == (b"" if self.command == FILE else COOKIE)


def send(data: bytes) -> Request:
    return Request(SEND, (len(data),), data)


def recv(size: int) -> Request:
    return Request(RECV, (size,))


def rpc(data: bytes, size: int) -> Request:
    return Request(RPC, (len(data), size), data)


def file(words_out: Sequence[int], words_in: Sequence[int], data: bytes) -> Request:
    """data: four bytes of each word out."""
    entries = (*words_out, 0, *words_in)
    return Request(FILE, (len(entries), *entries), data)


def _parts(entries: Sequence[int]) -> tuple[list[int], list[int]]:
    """Words to the server, and from it."""
    parts: tuple[list[int], list[int]] = ([], [])
    way = 0
    for each in entries:
        if each:
            parts[way].append(each)
        else:
            way = 1 - way
    return parts


@dataclass
class Served:
    """A call as the server saw it."""

    command: int
    data: bytes


# Of the patterns of afpscope's two ends.
OF_CLIENT, OF_SERVER = 0x5278, 0x527800007352


def pattern(place: int, size: int, seed: int = OF_CLIENT) -> bytes:
    """What afpscope sends: words of 8 bytes that count in steps of an odd number, for 1 MiB."""
    first, skip = divmod(place, 8)
    words = ((first + i) % 2**17 + seed for i in range((skip + size) // 8 + 1))
    data = b"".join(struct.pack("<Q", w * 0x9E3779B97F4A7C15 % 2**64) for w in words)
    return data[skip : skip + size]


def is_pattern(data: bytes, seed: int = OF_CLIENT) -> bool:
    """From any place: the first word tells."""
    if len(data) < 8:
        return data == pattern(0, len(data), seed)
    (word,) = struct.unpack_from("<Q", data)
    place = (word * pow(0x9E3779B97F4A7C15, -1, 2**64) - seed) % 2**64 * 8
    return place < 2**20 and data == pattern(place, len(data), seed)


def answering(size: int) -> bytes:
    """What the server answers: no two packets are alike."""
    return b"".join(struct.pack(">I", i * 2654435761 % 2**32) for i in range(size // 4 + 1))[:size]


def serve(side: Side, served: list[Served]) -> Program:
    version, command, _, _ = struct.unpack(">IIII", (yield 16))
    assert version == 3 and command in NAMES
    (n,) = struct.unpack(">I", (yield 4))
    if command == SEND:
        data, answer = (yield n), COOKIE
    elif command == RECV:
        data, answer = b"", answering(n) + COOKIE
    elif command == RPC:
        (m,) = struct.unpack(">I", (yield 4))
        data, answer = (yield n), answering(m) + COOKIE
    else:
        entries = struct.unpack(f">{n}I", (yield 4 * n))
        out, back = _parts(entries)
        data, answer = (yield 4 * sum(out)), answering(4 * sum(back))
    served.append(Served(command, data))
    side.write(answer)
    side.end()


# ---- sockets ----


def udp_socket() -> socket.socket:
    """Loses nothing, as far as the kernel is concerned."""
    s = socket.socket(type=socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
    s.bind(("127.0.0.1", 0))
    s.setblocking(False)
    return s


class Client:
    """One peer: its port, its epoch, one connection, up to four calls at a time."""

    def __init__(self, port: int, ways: Ways = Ways(), seed: int = 1) -> None:
        self._to = ("127.0.0.1", port)
        self._socket = udp_socket()
        chance = random.Random(f"{seed} {self._socket.getsockname()}")
        self._epoch = chance.randrange(2**30) | 0x80000000
        self._cid = chance.randrange(2**29) * 4
        self._serial = 0
        self._number = [0, 0, 0, 0]
        self._ways = ways
        self._sides: dict[int, Side] = {}  # the latest of each channel
        self.ledger = Ledger()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Answers first what comes again: the server may not have heard that it was there."""
        end = time.monotonic() + 10
        while self._sides and self._turn(0.3) and time.monotonic() < end:
            pass
        self._socket.close()

    def _send(self, p: Packet) -> None:
        self._serial += 1
        self._socket.sendto(replace(p, serial=self._serial).bytes(), self._to)

    @property
    def sent(self) -> int:
        """Datagrams."""
        return self._serial

    def _begin(self, channel: int, request: Request) -> Side:
        self._number[channel] += 1
        base = Packet(
            *(self._epoch, self._cid + channel, self._number[channel]),
            **{"seq": 0, "serial": 0, "type": DATA, "flags": FROM_CLIENT},
        )
        side = Side(base, self._send, self.ledger, self._ways)
        side.run(request.program(side))
        return side

    def run(self, *requests: Request, seconds: float = 30) -> None:
        """All of them, four at a time."""
        end = time.monotonic() + seconds
        left = list(requests)
        busy: dict[int, Request] = {}
        while left or busy:
            for channel in {*range(4)} - {*busy}:
                if left:
                    busy[channel] = left.pop(0)
                    self._sides[channel] = self._begin(channel, busy[channel])
            self._turn(0.02)
            for channel in [c for c in busy if self._sides[c].is_done]:
                self._sides[channel].check_end()
                busy.pop(channel).error = self._sides[channel].error
            assert time.monotonic() < end, f"{len(left) + len(busy)} calls have not ended"

    def _turn(self, seconds: float) -> bool:
        """False: nothing came for so long."""
        came = bool(select.select([self._socket], [], [], seconds)[0])
        for _ in range(64 if came else 0):
            try:
                datagram = self._socket.recv(65536)
            except OSError:
                break
            for p in packets(datagram):
                self._take(p)
        for side in self._sides.values():
            if not side.is_done:
                side.tick(time.monotonic())
        return came

    def _take(self, p: Packet) -> None:
        new = self.ledger.note(p, False)
        self.ledger.must(p.epoch == self._epoch and p.cid & ~3 == self._cid, "of whom", p)
        side = self._sides.get(p.cid & 3)
        if new and side and p.call == side.base.call:
            side.on(p)


class PerfServer:
    """rxperf's server, in a thread."""

    def __init__(
        self, ways: Ways = Ways(), program: Callable[[Side, list[Served]], Program] = serve
    ) -> None:
        self._program = program
        self._socket = udp_socket()
        self.port: int = self._socket.getsockname()[1]
        self._ways = ways
        self._calls: dict[tuple[int, int], Side] = {}
        self._serials: Counter[tuple[int, int]] = Counter()
        self._over = threading.Event()
        self.deaf = threading.Event()  # while set, what comes is lost
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.ledger = Ledger()
        self.served: list[Served] = []
        self.peers: set[tuple[int, int]] = set()  # port, epoch

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()

    def _sender(self, to: tuple[str, int]) -> Callable[[Packet], None]:
        def out(p: Packet) -> None:
            key = (p.epoch, p.cid & ~3)
            self._serials[key] += 1
            self._socket.sendto(replace(p, serial=self._serials[key]).bytes(), to)

        return out

    def _run(self) -> None:
        while not self._over.is_set():
            came = select.select([self._socket], [], [], 0.02)[0]
            for _ in range(64 if came else 0):
                try:
                    datagram, source = self._socket.recvfrom(65536)
                except OSError:
                    break
                for p in packets(datagram) if not self.deaf.is_set() else ():
                    self._take(p, source)
            for side in self._calls.values():
                if not side.is_done:
                    side.tick(time.monotonic())

    def _take(self, p: Packet, source: tuple[str, int]) -> None:
        if p.type == DEBUG or not self.ledger.note(p, True):  # a question, of no connection
            return
        self.peers.add((source[1], p.epoch))
        key = (p.epoch, p.cid)
        side = self._calls.get(key)
        number = side.base.call if side else 0
        if p.call > number and p.type == DATA:
            if side:
                side.check_end()
            base = replace(p, seq=0, serial=0, flags=0, data=b"")
            side = Side(base, self._sender(source), self.ledger, self._ways)
            self._calls[key] = side
            side.run(self._program(side, self.served))
        if side and p.call == side.base.call:
            side.on(p)
