# SPDX-License-Identifier: GPL-2.0-or-later
"""smbpeer.py PORT: what smbclient does not do, by the package smbprotocol (need.sh --smbprotocol).

Two channels of one client and a connection of another one, two users in a connection, files that
are written, flushed, read and listed, a compound, an ECHO.
"""

import sys
import uuid

from smbprotocol.connection import Connection, Dialects
from smbprotocol.file_info import FileInformationClass
from smbprotocol.open import (
    CreateDisposition,
    CreateOptions,
    DirectoryAccessMask,
    FileAttributes,
    FilePipePrinterAccessMask,
    ImpersonationLevel,
    Open,
    ShareAccess,
)
from smbprotocol.session import Session
from smbprotocol.tree import TreeConnect

SHARE = r"\\127.0.0.1\share1"
SIZES = 0, 1, 100, 65536, 1000000
CHANNELS = 2


def logged_in(connection: Connection, user: str) -> TreeConnect:
    session = Session(connection, user, "secret1", require_encryption=False)
    session.connect()
    tree = TreeConnect(session, SHARE)
    tree.connect(False)
    return tree


def use_file(tree: TreeConnect, name: str, size: int) -> None:
    file = Open(tree, name)
    file.create(
        ImpersonationLevel.Impersonation,
        FilePipePrinterAccessMask.GENERIC_READ
        | FilePipePrinterAccessMask.GENERIC_WRITE
        | FilePipePrinterAccessMask.DELETE,
        FileAttributes.FILE_ATTRIBUTE_NORMAL,
        ShareAccess.FILE_SHARE_READ,
        CreateDisposition.FILE_OVERWRITE_IF,
        CreateOptions.FILE_NON_DIRECTORY_FILE | CreateOptions.FILE_DELETE_ON_CLOSE,
    )
    if size:
        file.write(b"x" * size, 0)
        file.flush()
        assert file.read(0, size) == b"x" * size
    file.close()


def list_folder(tree: TreeConnect) -> None:
    folder = Open(tree, "")
    create = folder.create(
        ImpersonationLevel.Impersonation,
        DirectoryAccessMask.FILE_LIST_DIRECTORY,
        FileAttributes.FILE_ATTRIBUTE_DIRECTORY,
        ShareAccess.FILE_SHARE_READ | ShareAccess.FILE_SHARE_WRITE,
        CreateDisposition.FILE_OPEN,
        CreateOptions.FILE_DIRECTORY_FILE,
        send=False,
    )
    query = folder.query_directory("*", FileInformationClass.FILE_NAMES_INFORMATION, send=False)
    close = folder.close(False, send=False)
    connection = tree.session.connection
    parts = [create, query, close]
    session = tree.session.session_id
    requests = connection.send_compound(
        [part[0] for part in parts], session, tree.tree_connect_id, related=True
    )
    for part, request in zip(parts, requests, strict=True):
        part[1](request)


def main() -> None:
    port, client = int(sys.argv[1]), uuid.uuid4()
    connections = []
    for guid in [client] * CHANNELS + [uuid.uuid4()]:
        connection = Connection(guid, "127.0.0.1", port, require_signing=True)
        connection.connect(Dialects.SMB_3_1_1)
        connections.append(connection)
    for number, connection in enumerate(connections):
        for user in ("bench1", "bench2")[: number + 1]:
            tree = logged_in(connection, user)
            for size in SIZES:
                use_file(tree, f"{user}-{size}", size)
            list_folder(tree)
        connection.echo()
    for connection in connections:
        connection.disconnect()


if __name__ == "__main__":
    main()
