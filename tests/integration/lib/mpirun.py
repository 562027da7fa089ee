# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs that mpirun starts: their command line, their processes, and their sums."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from netns import BENCHMARKS, ip
from scope import Running, Scope, wait_until

FLAVOURS = ("openmpi", "mpich")
# Root is not welcome otherwise; more ranks than CPUs neither.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # from Open MPI 5 on
}
RANKS = 4
AGENT = """#!/bin/sh
# what mpirun has in place of ssh: HOST COMMAND
while case $1 in -*) true ;; *) false ;; esac; do shift; done
host=$1; shift
n=${host##*-}
exec nice -n -15 ip netns exec "$host" unshare --uts --time --monotonic $((n * 100000)) -- \\
    sh -c "hostname $host; $*"
"""


def plugin(scope: Scope, flavour: str) -> str:
    """What is missing for a run by it; empty: nothing."""
    if not shutil.which(f"mpirun.{flavour}"):
        return f"no mpirun.{flavour} here"
    path = scope.binary.with_name(f"afpscope-mpi-{flavour}.so")
    return "" if path.exists() else f"{path} was not built: no mpicc.{flavour}"


def mpirun(flavour: str, command: list[str], ranks: int = RANKS) -> list[str]:
    return [f"mpirun.{flavour}", "-n", str(ranks), *command, "--mpi"]


def unlike(command: list[str], *options: str) -> list[str]:
    """The command, with these options as well in each rank but the first."""
    more = f'[ "${{OMPI_COMM_WORLD_RANK-$PMI_RANK}}" = 0 ] || set -- "$@" {shlex.join(options)}'
    return ["sh", "-c", f'{more}; exec "$@"', "sh", *command]


@contextlib.contextmanager
def hosts_file(addresses: dict[str, str]) -> Iterator[None]:
    """Names of hosts, for programs in the network namespaces of these names only."""
    lines = "".join(f"{address} {name}\n" for name, address in addresses.items())
    with contextlib.ExitStack() as stack:
        for name in addresses:
            folder = Path("/etc/netns") / name
            folder.mkdir(parents=True)
            stack.callback(folder.rmdir)
            (folder / "hosts").write_text(f"127.0.0.1 localhost\n{lines}")
            stack.callback((folder / "hosts").unlink)
        yield


def over_hosts(flavour: str, folder: Path, names: list[str], ranks: int) -> list[str]:
    """What comes before a command that mpirun, on the first host, starts on all of them."""
    agent = folder / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    if flavour == "mpich":
        how = ["-launcher", "rsh", "-launcher-exec", str(agent), "-hosts", ",".join(names)]
    else:
        slots = ",".join(f"{name}:{ranks // len(names)}" for name in names)
        how = ["--mca", "plm_rsh_agent", str(agent), "-H", slots]
        how += ["--mca", "btl", "tcp,self", "--mca", "plm_rsh_no_tree_spawn", "1"]
    # From Open MPI 5 on these are settings of its launcher; more ranks than slots all go to the
    # first host.
    new = ["-u", "PRTE_MCA_rmaps_default_mapping_policy"]
    new += [f"PRTE_MCA_plm_ssh_agent={agent}", "PRTE_MCA_plm_ssh_no_tree_spawn=1"]
    start = ["sh", str(agent), names[0], "env", *new, f"mpirun.{flavour}"]
    return [*start, *how, "-n", str(ranks)]


@contextlib.contextmanager
def two_hosts() -> Iterator[list[str]]:
    """The names of two network namespaces with a cable between them."""
    names = [f"afs-{os.getpid()}-{i}" for i in range(2)]
    first = BENCHMARKS[4 * (os.getpid() % 30000)]  # of a /30 that no other test process has
    addresses = {name: str(first + 1 + i) for i, name in enumerate(names)}
    with contextlib.ExitStack() as stack:
        for name in names:
            ip("netns", "add", name)
            stack.callback(ip, "netns", "del", name)
        ends = [part for name in names for part in ("netns", name, "name", "eth0")]
        ip("link", "add", *ends[:4], "type", "veth", "peer", *ends[4:])
        for name, address in addresses.items():
            ip("-n", name, "addr", "add", f"{address}/30", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        stack.enter_context(hosts_file(addresses))
        yield names


def counts(actions: list[dict[str, Any]], kind: str) -> Counter[tuple[str, int]]:
    """(action, bucket) -> how many."""
    return Counter({(a["name"], i): n for a in actions for i, n in a[kind]["histogram"]["buckets"]})


def assert_is_sum_of_ranks(phase: dict[str, Any]) -> None:
    parts = [r for r in phase["ranks"] if "actions" in r]
    assert parts
    for kind in ("planned", "begun"):
        together = sum((counts(r["actions"], kind) for r in parts), Counter())
        assert counts(phase["load"]["actions"], kind) == together
    for key in ("n", "failed"):
        assert sum(a[key] for a in phase["load"]["actions"]) == sum(
            a[key] for r in parts for a in r["actions"]
        )
    assert sum(c["actions"] for c in phase["load"]["each_client"]) == sum(
        a["n"] for r in parts for a in r["actions"]
    )


def assert_began_together(phase: dict[str, Any]) -> None:
    """Within 1 ms, or what the clocks can be compared to. A rank that got no CPU to say is n/a."""
    known = [r for r in phase["ranks"] if r["skew_ns"] is not None]
    assert len(known) > 1
    for rank in known:
        assert rank["skew_ns"] <= max(1_000_000, 2 * rank["unsure_ns"]), rank


def processes(running: Running, command: str) -> dict[int, dict[int, int]]:
    """Rank -> process -> its parent: that which mpirun started, and its child; no warden."""
    found: dict[int, dict[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            names = dict(
                w.split(b"=", 1) for w in (path / "environ").read_bytes().split(b"\0") if b"=" in w
            )
            if (path / "comm").read_text().strip() == "afpscope-warden":
                continue
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        rank = names.get(b"OMPI_COMM_WORLD_RANK", names.get(b"PMI_RANK"))
        if rank and str(running.json).encode() in words and words[1] == command.encode():
            found.setdefault(int(rank), {})[int(path.name)] = parent
    return found


def children(running: Running, command: str) -> dict[int, tuple[int, int]]:
    """Rank -> the process of mpirun, its child, which works and may ask another for a moment."""
    out: dict[int, tuple[int, int]] = {}

    def seen() -> bool:
        out.clear()
        for rank, of in processes(running, command).items():
            pairs = [(parent, pid) for pid, parent in of.items() if parent in of]
            if len(pairs) == 1:
                out[rank] = pairs[0]
        return sorted(out) == list(range(RANKS))

    wait_until(seen, 10, "one working process for each rank")
    return out
