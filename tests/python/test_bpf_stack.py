# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of bpf/ fit the stack that the oldest kernels give them.

Linux 5.10 adds up the stack frames of all functions that can be called, each rounded up to 32
bytes, also of code that is never reached: at most 512 bytes in 8 frames (check_max_stack_depth in
kernel/bpf/verifier.c). Here this is known in a second, without that kernel in a virtual machine.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

GEN = Path(__file__).parents[2] / "build/gen"
OBJECTS = sorted(GEN.glob("*.bpf.o"))
STACK_BYTES, FRAMES, ROUND = 512, 8, 32

FUNCTION = re.compile(r"([0-9a-f]+) <(?!LBB)(\w+)>:")
CALL = re.compile(r"R_BPF_64_32\s+(\w+)")
# Within a section there is only the distance, in instructions of 8 bytes; 85 10: no kernel helper.
NEAR = re.compile(r"\s(\d+):\s+85 10 .*call (-?\d+)$")
USE = re.compile(r"r10 - (0x[0-9a-f]+|\d+)|r\d+ \+= -(0x[0-9a-f]+|\d+)")

pytestmark = pytest.mark.skipif(not OBJECTS, reason="nothing is built: run make")


def functions(path: Path) -> tuple[dict[str, int], dict[str, set[str]]]:
    """Bytes of stack that each function of an object uses, and what it calls."""
    text = subprocess.run(
        ["llvm-objdump", "-d", "-r", path],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    stack: dict[str, int] = {}
    calls: dict[str, set[str]] = {}
    name, at_begin, near = "", {}, []
    for line in text.splitlines():
        if line.startswith("Disassembly of section"):
            section = line
        if begin := FUNCTION.match(line):
            name = begin[2]
            stack[name], calls[name] = 0, set()
            at_begin[section, int(begin[1], 16) // 8] = name
        for use in USE.findall(line):
            at = int(use[0] or use[1], 0)
            # More is no address in the stack: a register that counts down.
            if at <= STACK_BYTES:
                stack[name] = max(stack[name], at)
        if call := CALL.search(line):
            calls[name].add(call[1])
        elif (call := NEAR.search(line)) and call[2] != "-1":
            near.append((name, section, int(call[1]) + 1 + int(call[2])))
    for name, section, begin in near:
        calls[name].add(at_begin[section, begin])
    return stack, calls


def chains(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Each chain of calls, and the bytes of stack that it needs."""
    stack, calls = functions(path)

    def below(name: str, above: list[str], used: int) -> Iterator[tuple[int, list[str]]]:
        used += max(1, -(-stack[name] // ROUND)) * ROUND
        yield used, [*above, name]
        for callee in sorted(calls[name] & stack.keys()):
            yield from below(callee, [*above, name], used)

    for name in stack.keys() - set().union(*calls.values()):
        yield from below(name, [], 0)


@pytest.mark.parametrize("path", OBJECTS, ids=lambda p: p.name)
def test_every_chain_of_calls_fits_the_stack(path: Path) -> None:
    all_chains = list(chains(path))
    bytes_used, names = max(all_chains)
    assert bytes_used <= STACK_BYTES, " -> ".join(names)
    assert max(len(names) for _, names in all_chains) <= FRAMES
    if path.name.startswith("calls"):
        assert any(names[-2:] == ["follow_some", "dsi_follow"] for _, names in all_chains)
        assert any(names[-2:] == ["follow_some", "dsi_answered"] for _, names in all_chains)
