# SPDX-License-Identifier: GPL-2.0-or-later
"""A server of AFP that only needs Python: a process for each client, which answers everything by 0.

    littleserver.py [--user-namespace] [--root DIR [--work FOLDER]] UID...

The n-th client's process becomes the n-th of these users after its first command. With a user
namespace of its own it says "ready" and waits for a line before it serves. DIR becomes its root;
with FOLDER it is called afpd and works there. Prints its port, and serves until its input ends.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import socket
import struct
import sys
import threading
from pathlib import Path

HEADER = struct.Struct(">BBHiII")
CLOSE_SESSION, COMMAND = 1, 2
CLONE_NEWUSER = 0x10000000


def receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        try:
            piece = connection.recv(size - len(data))
        except ConnectionError:
            piece = b""
        if not piece:
            os._exit(0)
        data += piece
    return data


def serve(connection: socket.socket, uid: int) -> None:
    first = True
    while True:
        _, command, ident, _, size, _ = HEADER.unpack(receive(connection, HEADER.size))
        receive(connection, size)
        if command == CLOSE_SESSION:
            os._exit(0)
        if command == COMMAND and first:
            os.setresuid(-1, uid, 0)
            first = False
        connection.sendall(HEADER.pack(1, command, ident, 0, 0, 0))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--user-namespace", action="store_true")
    parser.add_argument("--root")
    parser.add_argument("--work", default="/")
    parser.add_argument("uid", type=int, nargs="+")
    args = parser.parse_args()
    if args.user_namespace:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER):
            raise OSError(ctypes.get_errno(), "unshare")
        print("ready", flush=True)
        sys.stdin.readline()
    listener = socket.create_server(("127.0.0.1", 0))
    if args.work != "/":
        Path("/proc/self/comm").write_text("afpd")
    if args.root:
        os.chroot(args.root)
        os.chdir(args.work)
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=lambda: os._exit(sys.stdin.read() == "never"), daemon=True).start()
    for uid in args.uid:
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            serve(connection, uid)
        connection.close()
    threading.Event().wait()


main()
