# SPDX-License-Identifier: GPL-2.0-or-later
"""nobpf.py COMMAND [ARGUMENT...]: runs a command for which bpf(2) fails with EPERM.

A seccomp filter, as container runtimes install it. Its children inherit it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys

BPF_CALL = {"x86_64": 321, "aarch64": 280}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
EPERM = 1

# Classic BPF: load a word, jump if equal, return.
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


class Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def forbid(call: int) -> None:
    filters = b"".join(
        struct.pack("HBBI", *step)
        for step in (
            (LOAD, 0, 0, 0),  # seccomp_data.nr
            (JUMP_EQUAL, 0, 1, call),
            (RETURN, 0, 0, ERRNO | EPERM),
            (RETURN, 0, 0, ALLOW),
        )
    )
    buffer = ctypes.create_string_buffer(filters, len(filters))
    program = Program(4, ctypes.cast(buffer, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    forbid(BPF_CALL[platform.machine()])
    os.execvp(sys.argv[1], sys.argv[1:])
