# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts of a sweep in English: its page, its knee, and what limits it."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "sweep": "Sweep",
    "sweep_latency": "How long actions took",
    "sweep_latency_note": (
        "Percentiles of the actions, of several kinds the mean and the longest, by {option}. Dots: "
        "single steps; lines: their medians. Broken line: the knee; grey: its interval."
    ),
    "sweep_rate": "How much was done",
    "sweep_rate_note": "Actions a second, by {option}.",
    "sweep_probe": "What one more user felt",
    "sweep_probe_note": (
        "The probe's actions, by {option}: once a second stat, read 4 KiB, write 4 KiB."
    ),
    "sweep_tests": "Each test",
    "sweep_tests_note": (
        "Mean time of a call, by {option}. Dots: single steps; lines: their medians."
    ),
    "sweep_tests_table_note": (
        "Medians of the steps of each value. Drops: datagrams for which the server's sockets had "
        "no room, in all tests of a step; n/a: the server was not seen. Ratio: the mean time at "
        "the first value over that at the last, with its 95% interval (from 4 steps of both on)."
    ),
    "sweep_calls_note": (
        "Medians of the steps of each value, of the first test. Bad: failed calls (err), clients "
        "that stopped (lost). Drops: datagrams for which the server's sockets had no room, in all "
        "steps. Buffer: of the server's socket, as the system granted it. Generator: the busiest "
        "thread's share of a CPU; with ! it had no time left."
    ),
    "drops": "Drops",
    "buffer": "Buffer",
    "ratio": "Ratio",
    "sweep_parts": "Where a request's time went",
    "sweep_parts_note": (
        "Shares of a request's mean time as the clients saw it; above each bar that time."
    ),
    "sweep_limit": "What is used up at the knee",
    "sweep_limit_note": "Figures of two steps: {below} is below the knee, {above} at or above it.",
    "sweep_limit_one": "Figures of {above}; there is no step below the knee.",
    "sweep_table": "All values",
    "sweep_table_note": (
        "Medians of the steps of each value. Bad: failed actions (err), arrivals that found no "
        "free client (drop), clients without a session (no), sessions lost (lost). Busiest: the "
        "resource that has the largest share of a request's time. Generator: the busiest thread's "
        "share of a CPU; with ! it had no time left."
    ),
    "sweep_steps": "Steps",
    "sweep_steps_note": (
        "In the order in which they ran. Each is a run: afpscope report {folder}/NAME."
    ),
    "bad": "Bad",
    "busiest_resource": "Busiest",
    "generator": "Generator",
    "probe_p99": "Probe p99",
    "probe_mean": "Probe mean",
    "below": "Below",
    "above": "Above",
    "figure": "Figure",
    "step": "Step",
    "why": "Why",
    "begun": "Begun",
    "paused": "Pause before",
    "ended": "Exit code",
    "remark": "Remark",
    "planned": "planned",
    "bisected": "between two others",
    "again": "again",
    "s_own": "{server} on a CPU",
    "s_runq": "{server} waiting for a CPU",
    "s_unread": "unread, {server} waiting for a CPU",
    "s_cnid_runq": "{helper} waiting for a CPU",
    "s_cnid_cpu": "{helper} on a CPU",
    "s_database_lock": "{database}'s lock",
    "s_database_disk": "{database}'s disk",
    "s_cnid_rest": "to and from {helper}",
    "s_disk": "disk",
    "s_log": "log",
    "s_cnid_disk": "{helper}'s disk",
    "s_lock": "lock",
    "s_cnid_lock": "{helper}'s lock",
    "s_net": "client's socket",
    "s_outside": "outside the server",
    "s_other": "waiting otherwise",
    "is_knee": "Knee: {text}",
    "is_used_up": "Used up: {text}",
    "step_failed": "Step {folder} failed: {why}",
    "steps_failed": "{n} more steps failed",
    "no_time_left": "The load generator had no time left at {values}: it limits these steps",
    "began_late": (
        "More than 1 in 100 actions began late at {values}: their times are in part those of the "
        "load generator or its machine"
    ),
    "not_quiet": (
        "This machine was busy with other work when {n} of {of} steps began: that work may have "
        "limited them"
    ),
    "knee_none": "no step was measured: there is no knee to see",
    "knee_single": "one value was measured: there is no knee to see",
    "knee_unsure": "of no step it can be told whether it keeps the limit",
    "knee_untold": "{text}; cannot be told at {values}: {why}",
    "knee_slo": "{slo} is kept",
    "knee_replay": "the server keeps up with its recorded users",
    "knee_rate": "at least {share:.0%} of the offered rate is reached",
    "knee_between": "{what} up to {below} ({of_below}), no longer at {above} ({of_above})",
    "knee_higher": "{what} at every value, up to {below} ({of_below}): the knee is higher",
    "knee_mixed": (
        "{what} at {below} ({of_below}), the most load, but not at {but}: where the knee is cannot "
        "be told"
    ),
    "knee_failed": (
        "{what} up to {below} ({of_below}); steps at {failed} failed, so that where the knee is "
        "cannot be told"
    ),
    "knee_beyond": "{what} up to {below} ({of_below}); whether it is beyond that is not known",
    "knee_except": "{text}; nor at {but}",
    "knee_noisy": "whether the rate grows cannot be told: the steps differ too much",
    "knee_lower": "{what} reliably at no value: {of_above} at {above}, the least load",
    "knee_lowest": (
        "{what} reliably at none of the values of which that can be told: {of_above} at "
        "{above}, the least load of them"
    ),
    "knee_growing": "the rate still grows at {at}, the most that was measured",
    "knee_growing_failed": (
        "the rate still grows at {at}; steps at {failed} failed, so that where the knee is cannot "
        "be told"
    ),
    "knee_grown": "the rate stops growing at {at} ({of_at}; within {share:.0%} of the most)",
    "knee_kept": "{time}, kept in {kept} of {n}",
    "knee_trouble": "{text}: clients could not work, or actions were dropped or failed",
    "one_client": "1 client",
    "n_clients": "{n} clients",
    "knee_within": "{low} to {high}",
    "knee_from": "{low} or more",
    "knee_to": "less than {high}",
    "knee_level": "{level:.0%} interval {text}",
    "knee_rough": (
        "an estimate, {text} (measured {n} times, each value gives an interval: --repeat {n})"
    ),
    "usl": "Universal scalability law: contention {contention}, coherency {coherency}, R² {r2:.3f}",
    "usl_peak": "{text}; most throughput at {clients:,.0f} clients",
    "usl_within": "{value} ({low} to {high})",
    "usl_absent": "The universal scalability law is not shown: {why}",
    "usl_hard": "an even growth up to a hard limit describes the rates about as well, or better",
    "usl_few": "it needs {n} different numbers of clients with a rate above 0",
    "usl_none": "no curve of that form could be fitted",
    "usl_poor": "it explains {r2:.0%} of the variance, and {least:.0%} is asked for",
    "usl_off": "{n:g} clients are {off:.0%} off the curve, and at most {most:.0%} is allowed",
    "usl_vague": "its parameters cannot be told from these measurements",
    # Resources: in a column, and in a sentence.
    "r_generator": "client",
    "r_sessions": "sessions",
    "r_cpu": "CPU",
    "r_cnid": "{asked}",
    "r_disk": "disk",
    "r_lock": "lock",
    "r_network": "network",
    "r_other": "other",
    "limit_generator": "the load generator itself",
    "limit_sessions": "sessions: some clients got none",
    # Parts of a request's time, in a sentence.
    "spent_own": "{server} on a CPU",
    "spent_runq": "{server} waiting for a CPU",
    "spent_unread": "requests unread while {server} waited for a CPU",
    "spent_cnid_runq": "{helper} waiting for a CPU",
    "spent_cnid_cpu": "{helper} on a CPU",
    "spent_database_lock": "waiting for another writer of the {database}",
    "spent_database_disk": "waiting for the {database}'s disk",
    "spent_cnid_rest": "requests and answers on their way to and from {helper}",
    "spent_disk": "waiting for files",
    "spent_log": "waiting for the log",
    "spent_cnid_disk": "{helper} waiting for the disk",
    "spent_lock": "waiting for a lock",
    "spent_cnid_lock": "{helper} waiting for a lock",
    "spent_net": "waiting for the client's socket",
    "spent_outside": "outside the server: network, client, and waiting to be read",
    "spent_other": "waiting otherwise",
    "l_cpu": "its busiest thread used {cpu:.0%} of a CPU (try --threads, or more hosts)",
    "l_runq": (
        "its threads used {cpu:.0%} of a CPU and waited {runq:.0%} of the time for one (give it "
        "CPUs of its own, or another host)"
    ),
    "l_late": (
        "cannot be told: {late:,} of {n:,} actions began more than 1 ms late, which the load "
        "generator or its machine caused"
    ),
    "l_sessions": (
        "{n:,} of {clients:,} clients (the step's warnings say why: a limit of sessions, a refused "
        "login, no answer)"
    ),
    "l_unwatched": "the server was not watched, so that it cannot be told",
    "l_undiagnosed": "cannot be told: the run has no diagnosis",
    "l_no_cause": "cannot be told: the diagnosis shows no cause",
    "l_unseen": "cannot be told: {causes} would explain the wait, and was not visible",
    "l_may_be": "cannot be told: not visible, and so not ruled out: {causes}",
    "l_likely": "{text} (likely)",
    "l_rivals": "cannot be told: these explain about as much: {causes}",
    "l_even": "what requests take longer has no single part that stands out: {shares}",
    "l_even_share": "a request's time has no single part that stands out: {shares}",
    "l_share": (
        "the largest part of a request's time is {resource}, {share:.0%}, most of it {part} ({ns})"
    ),
    "l_growth": (
        "the largest part of what requests take longer is {resource}, {share:.0%}, most of it "
        "{part} ({before} a request below, {ns} above)"
    ),
    "f_cpu": "generator, busiest thread",
    "f_runq": "generator, waiting for a CPU",
    "f_late": "generator, late by 1 ms",
    "f_missing": "clients without a session",
    "f_time": "time of a request",
    "f_cpus": "CPUs used by the server",
    "f_generator_cpus": "CPUs used by the generator",
    "of_cpu": "{share:.0%} of a CPU",
    "of_actions": "{share:.1%} of actions",
    "of_cpus": "{n:.2f} of {all}",
    "full_stop": ".",
}
