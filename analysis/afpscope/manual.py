# SPDX-License-Identifier: GPL-2.0-or-later
"""What --help says below the options: examples, and how the command ends (docs/exit-codes.md)."""

from __future__ import annotations

EXAMPLES = {
    "info": ("afpscope info last", "afpscope info run-1 --json"),
    "dump": (
        "afpscope dump last --slow 5 --calls",
        "afpscope dump last --stream calls --command FPOpenFork",
    ),
    "export": (
        "afpscope export run-1 run-2 --into lake",
        "afpscope export last --to parquet -o tables",
        "afpscope export last --to perfetto -o trace",
    ),
    "query": (
        "afpscope query --lake lake 'select command, count(*) from runs group by 1'",
        "afpscope query last",
        "afpscope query last --csv 'select name, sum(ops) from commands group by 1'",
    ),
    "history": ("afpscope history lake", "afpscope history lake --label commit -o history.html"),
    "compare": (
        "afpscope compare before after",
        "afpscope compare a1 a2 a3 a4 -- b1 b2 b3 b4 --all",
        "afpscope compare sweep-a sweep-b --slo p99=50ms",
    ),
    "gate": (
        "afpscope gate --counts counts.json --accept run-1 run-2 run-3 run-4",
        "afpscope gate --counts counts.json last --format junit",
        "afpscope gate --time 5% a1 a2 a3 a4 a5 -- b1 b2 b3 b4 b5",
    ),
    "ab": (
        "afpscope ab --a afp://u@old/vol --b afp://u@new/vol --pairs 12 -o ab -- lantest -n 3",
        "afpscope ab --a afp://u@old/vol --b afp://u@new/vol --pairs 8 -o ab -- "
        "sweep --clients 1,2,5,10,20,50 -d 10",
    ),
    "versus": (
        "afpscope versus -o versus afp://u@localhost/vol smb://u@localhost/share -- "
        "load --mix office -n 20 -d 5",
        "afpscope versus -o versus --alone save,read --aa --html versus.html "
        "old=afp://u@localhost/vol new=smb://u@localhost/share disk=/srv/scratch -- "
        "load --mix office --no-probe",
    ),
    "sweep": (
        "afpscope sweep afp://u@server/vol --clients 1,2,5,10,20,50 --repeat 3 -o sweep",
        "afpscope sweep afp://u@server/vol --clients 1,2,5,10 --slo 'p99<=50ms' -d 10 -o sweep",
    ),
    "bundle": (
        "afpscope bundle last -o bundle.json",
        "afpscope bundle last --show",
    ),
    "report": ("afpscope report last -o report.html", "afpscope report sweep --slo p99=50ms"),
}
_DONE = {
    0: "done",
    1: "failed: a file cannot be read or written, or is damaged",
    2: "wrong use",
    4: "done, but a run is not to be trusted",
    130: "interrupted",
}
_NOTHING = {5: "nothing could be compared"}
EXITS: dict[str, dict[int, str]] = {
    "compare": _DONE | _NOTHING,
    "ab": _DONE | _NOTHING,
    "versus": _DONE | _NOTHING,
    "gate": _DONE | {0: "as accepted", 3: "not as accepted", 4: "undecided, or not to be trusted"},
    "sweep": _DONE | {1: "a step failed, or the server is gone"},
}


def below(command: str) -> str:
    """The text below the options."""
    lines = ["examples:", *(f"  {line}" for line in EXAMPLES[command])]
    lines += ["", "exit codes:"]
    lines += [f"  {code:<4} {text}" for code, text in sorted(EXITS.get(command, _DONE).items())]
    return "\n".join([*lines, "", f"More: man afpscope-{command}"])
