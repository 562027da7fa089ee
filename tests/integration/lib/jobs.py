# SPDX-License-Identifier: GPL-2.0-or-later
"""A run that is repeated by its job file."""

from __future__ import annotations

from pathlib import Path

from scope import OK, Run, Scope

# Each command that has job files, and the test in which a run of it is repeated by one.
REPEATED = {
    "load": ("cli/test_job.py", "test_a_run_is_repeated_by_its_own_file"),
    "smallfile": ("cli/test_job.py", "test_a_run_is_repeated_by_its_own_file"),
    "speedtest": ("cli/test_job.py", "test_a_run_is_repeated_by_its_own_file"),
    "probe": ("cli/test_job.py", "test_a_run_is_repeated_by_its_own_file"),
    "lantest": ("cli/test_job.py", "test_a_run_at_a_server_is_repeated_by_its_file"),
    "rx": ("cli/test_job.py", "test_calls_of_rx_are_repeated_by_their_file"),
    "replay": ("replay/test_replay_judged.py", "test_a_replay_is_repeated_by_its_own_file"),
    "sweep": ("load/test_sweep.py", "test_the_job_of_a_sweep_repeats_it"),
}


def _options(run: Run) -> dict[str, str]:
    return {k: v for k, v in run.saved["options"].items() if k != "directory"}


def _shape(run: Run) -> list[list[str]]:
    """The parts of a result, by their names, whatever the figures are."""
    found = []
    for phase in run.phases:
        load = phase.saved.get("load") or {}
        names = [a["name"] for a in load.get("actions", [])]
        found.append([phase.title, str(phase.test), str(phase.iteration), *names, *phase.saved])
    return found


def repeated(scope: Scope, folder: Path, line: list[str], **forget: Path) -> tuple[Run, Run]:
    """A command line once, and again by the file that --show-job makes of it, without the files of
    forget; folder/1 and folder/2 are the runs'."""
    first, second, job = folder / "1", folder / "2", folder / "shown.ini"
    command = [str(scope.binary), line[0]]
    job.write_text(scope.execute([str(scope.binary), *line, "--show-job"]).expect(OK).out)
    scope.execute([str(scope.binary), *line, "-o", str(first)]).expect(OK)
    for file in forget.values():
        file.unlink()
    scope.execute([*command, str(job), "-o", str(second)]).expect(OK)
    one, other = (Run.load(kept / "run.json") for kept in (first, second))
    assert _options(one), "what a run was asked for is in it"
    assert _options(one) == _options(other)
    assert _shape(one) == _shape(other)
    texts = [file.read_text() for file in (job, first / "job.ini", second / "job.ini")]
    assert texts[0] == texts[1] == texts[2]
    shown = scope.execute([*command, str(second / "job.ini"), "--show-job"]).expect(OK)
    assert shown.out == texts[0]
    return one, other
