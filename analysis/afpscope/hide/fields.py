# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a run goes into a bundle: the one list of all that does (docs/bundle.md).

A field that is not in it is left out. Each has a treatment, which keeps only what cannot be a name;
tests/python/test_bundle_fields.py compares the list with what the program writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias, Union


class How(Enum):
    """What becomes of a value. Null, true and false are kept by all but OUT."""

    FIGURE = auto()  # a number: kept
    MOMENT = auto()  # of the machine's clock: counted from a moment of the run instead
    PROCESS = auto()  # a process id: counted
    PORT = auto()  # counted
    WORD = auto()  # a word of the program's, from a set that it has: kept if it is formed like one
    CONSTANT = auto()  # a sentence of the program's in which nothing is filled in: kept
    SENTENCE = auto()  # of the program's, with figures or names filled in: kept without the names
    ADVICE = auto()  # the same, left out if a name is in it
    RUNG = auto()  # how something is observed: hooks of the kernel, or a sentence why not
    LOSS = auto()  # "on_switch skipped by the kernel": a sentence that begins with one of ours
    SOURCE = auto()  # how something is known: a constant, which tables repeat
    DIGITS = auto()  # a text of digits and what parts them: kept if it is one
    PRINTED = auto()  # a figure as it is printed: kept if it is one
    LIMIT = auto()  # "p99<=50ms"
    FILES = auto()  # "ext4 on sda": types of file systems and the kernel's names of disks are kept
    CPUS = auto()  # "allowed 0-3, last on 1"
    KERNEL = auto()  # name and release: numbers and common words of distributions are kept
    PRODUCT = auto()  # "Netatalk4.5.1": kept if it is one that is known, with its version
    PROGRAM = auto()  # a path: its last part, if it is a server that is known
    TITLE = auto()  # of a test: kept; of a load the name of its mix: if it is a built-in one
    DAY = auto()  # the day of a time
    ID = auto()  # of the run: a hash of the same form
    USER = auto()  # this and all below: a token
    HOST = auto()
    CLIENT = auto()  # address and port
    VOLUME = auto()
    PLACE = auto()  # a path
    THREAD = auto()
    COMMAND = auto()  # that the user gave
    START = auto()  # of a server
    BOOK = auto()  # "afpd 4711 syscr": with the number counted
    ONE_PROCESS = auto()  # "afpd 4711 (ended)", or a role alone: the same
    OUT = auto()  # left out, and said


@dataclass(frozen=True)
class Any:
    """An object whose keys are formed like the program's own (`keys`). `known`: those of which
    something else becomes than of the others."""

    value: Spec
    keys: str = r"[a-z0-9_.*-]+"
    known: dict[str, Spec] = field(default_factory=dict)


@dataclass(frozen=True)
class Rows:
    """Lists of numbers, in lists: kept."""


Spec: TypeAlias = Union[How, Any, Rows, "dict[str, Spec]", "list[Spec]"]

F, W, S, OUT = How.FIGURE, How.WORD, How.SENTENCE, How.OUT
FIGURES = Any(F)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _of(how: Spec, keys: str) -> dict[str, Spec]:
    return dict.fromkeys(keys.split(), how)


HISTOGRAM: Spec = {"bits": F, "buckets": Rows()}
LATENCY: Spec = {
    **_of(F, "n sum_ns min_ns max_ns p50_ns p95_ns p99_ns p999_ns"),
    "histogram": HISTOGRAM,
}
DEFINITIONS: Spec = [
    {**_of(W, "key unit better"), "meaning": How.CONSTANT, "title": How.CONSTANT},
]
KEYED: Spec = [{"key": W, "text": S}]
ROW: Spec = {
    **_of(W, "role class object"),
    **_of(F, "calls errors bytes ns cpu_ns blocked_ns runq_ns stopped_ns"),
    "histogram": HISTOGRAM,
}
ACCOUNT: Spec = {
    "name": W,
    **_of(
        F,
        "number requests begun errors failed bytes_in bytes_out time_ns service_ns unexplained_ns"
        " unexplained handed parked parked_ns later_calls later_ns waited untimed min_ns max_ns"
        " p50_ns p99_ns p999_ns",
    ),
    "results": [_of(F, "code n")],
    "histogram": HISTOGRAM,
    "inside": FIGURES,
    "times": FIGURES,
    "parts": [ROW],
}
PACKETS: Spec = {**_of(F, "datagrams bytes again own"), "types": Any(F, r"[A-Z_]+")}
LEDGER: Spec = {
    "rows": [ROW],
    "compat": Any(_of(F, "syscr syscw rchar wchar")),
    "requests": [ACCOUNT],
    "outside": [ACCOUNT],
    "storage": [
        {
            **_of(W, "role name"),
            **_of(
                F,
                "number file_reads file_read_bytes file_read_ns file_writes file_write_bytes"
                " file_write_ns sendfiles sendfile_bytes sendfile_ns syncs sync_ns cache_pages"
                " cache_meta_pages bio_reads bio_read_bytes bio_writes bio_write_bytes bio_flushes"
                " bio_others bio_read_ns bio_write_ns bio_flush_ns bio_done bio_untimed",
            ),
        }
    ],
    "packets_in": PACKETS,
    "packets_out": PACKETS,
}
TRANSFER: Spec = {
    "work": W,
    **_of(F, "size_bytes moved_bytes requests chunk_bytes window dropped sparse own_file"),
    "samples": [_of(F, "iteration warmup complete ns client_cpu_ns bytes")],
    "stats": {
        **_of(
            F,
            "n mean_ns median_ns min_ns max_ns stddev_ns stddev_population_ns cv p95_ns p99_ns"
            " ci_low_ns ci_high_ns ci_level",
        ),
        **_of(How.CONSTANT, "stddev_method quantile_method ci_method"),
    },
    "throughput": F,
    "tcp": [{**_of(W, "end when"), "t_ns": How.MOMENT, "values": FIGURES}],
    "null": _of(F, "ns n"),
    "verdict": {"kind": W, "text": S, "figures": FIGURES},
}
ROUND_TRIPS: Spec = {
    **_of(F, "n requests sum most bytes needed at_least"),
    "together": [{"name": W, "n": F}],
    "at": [_of(F, "rtt_ns ns")],
}
ACTIONS: Spec = [
    {
        "name": W,
        **_of(F, "n failed"),
        "planned": LATENCY,
        "round_trips": ROUND_TRIPS,
        "begun": LATENCY,
    }
]
SLO: Spec = {
    "text": How.LIMIT,
    "why": S,
    **_of(W, "verdict unit"),
    **_of(F, "limit_ns value_ns kept limit value value_at_least value_of_others"),
}
LOAD: Spec = {
    **_of(
        F,
        "clients opened lost threads realtime rate_per_s arrivals no_room waiting held"
        " ended_after due_before busy_second_ns"
        " unoffered_ns starved cut_off outlasting outlasting_max_ns early early_max_ns"
        " common_actions common_bytes pauses paused_ns paused_measured_ns longest_pause_ns"
        " paused_actions paused_max_ns found_none late"
        " late_max_ns cpu_ns cpu_max_ns runq_ns runq_max_ns aside_ns saturated behind fairness"
        " rtt_ns steady_ns gaps gaps_ns seconds_each contended verified_files verified_wrong"
        " verified_bytes",
    ),
    **_of(How.MOMENT, "begin_ns measure_ns end_ns common_ns"),
    "undone": LATENCY,
    "silence": _of(F, "from_ns ns clients ranks of_ranks"),
    "slo": [SLO],
    "doubts": [{"what": W, "text": S}],
    "actions": ACTIONS,
    "each_gap": [{**_of(F, "from_ns to_ns"), "why": S}],
    "seconds": [{**_of(F, "n failed dropped bytes sum_ns max_ns"), "histogram": HISTOGRAM}],
    "stages": [
        {
            **_of(F, "from_s to_s from_per_s to_per_s from_clients to_clients planned n failed"),
            "latency": LATENCY,
        }
    ],
    "each_client": [
        {
            **_of(
                F,
                "actions failed bytes last_ns sum_ns max_ns outlasting_ns begun_p50_ns"
                " begun_p99_ns begun_max_ns lost",
            ),
            "address": How.CLIENT,
        }
    ],
}
RANKS: Spec = [
    {
        "host": How.HOST,
        "pid": How.PROCESS,
        "end": W,
        "why": S,
        **_of(
            F,
            "rank clients lost_ns skew_ns unsure_ns threads open lost arrivals no_room found_none"
            " queue_processes late late_max_ns cpu_ns cpu_max_ns runq_ns runq_max_ns saturated",
        ),
        "actions": ACTIONS,
    }
]
PHASE: Spec = {
    **_of(F, "test iteration complete"),
    "title": How.TITLE,
    "start_ns": How.MOMENT,
    "metrics": FIGURES,
    "commands": [{"name": W, **_of(F, "code ops errors"), "latency": LATENCY}],
    "ledger": LEDGER,
    "connections": _of(F, "our_requests others other_requests"),
    "transfer": TRANSFER,
    "load": LOAD,
    "probe": LOAD,
    "replay": {
        **_of(
            F,
            "recorded planned recorded_read_bytes recorded_written_bytes read_bytes written_bytes"
            " waited unordered due_p50_ns due_p99_ns due_max_ns planned_ns delayed delayed_max_ns"
            " copies late_p50_ns late_p99_ns late_max_ns",
        ),
        "kept_up": SLO,
        "requests": [
            {
                "name": W,
                **_of(
                    F,
                    "recorded as_recorded new_error no_error other_error other_size unsent"
                    " not_supported recorded_p50_ns recorded_p99_ns p50_ns p99_ns",
                ),
            }
        ],
    },
    "ranks": RANKS,
    "intervals": [
        {
            **_of(F, "end_ns answered unread_ns"),
            "parts": FIGURES,
            "commands": [{"name": W, **_of(F, "n ns")}],
        }
    ],
    "marks": [{"at_ns": F, "text": How.COMMAND}],
}
SESSION: Spec = {
    "pid": How.PROCESS,
    "user": How.USER,
    "user_from": How.SOURCE,
    "address": How.CLIENT,
    "dialect": How.DIGITS,
    "volume": How.VOLUME,
    "volumes": [How.VOLUME],
    "volume_from": How.SOURCE,
    **_of(How.MOMENT, "begun_ns ended_ns"),
    **_of(F, "volumes_more requests calls busy_ns bytes_in bytes_out"),
}
DIAGNOSIS: Spec = {
    "verdict": W,
    "text": S,
    "rivals": F,
    "findings": [
        {
            "key": W,
            "text": S,
            **_of(How.ADVICE, "todo disproof next"),
            **_of(F, "weight sure small whom"),
            "doubt": {"text": S, "about": W},
            "evidence": [W],
        }
    ],
    "notes": [{"key": W, "text": S, "harms": F}],
    **_of([W], "ruled_out not_seen waited_for_but_not_seen may_be"),
    "called": Any(How.CONSTANT),
}
SERVER: Spec = {
    **_of(How.HOST, "host name"),
    "machine": How.PRODUCT,
    **_of(How.PROGRAM, "program cnid.program"),
    **_of(How.VOLUME, "volume"),
    **_of(W, "afp_version uam"),
    "quantum_bytes": How.DIGITS,
    **_of(W, "afpd.congestion server.congestion"),
    **_of(How.CPUS, "afpd.cpus cnid_dbd.cpus server.cpus backend.cpus"),
    **_of(How.START, "afpd.start server.start"),
    **_of(How.PLACE, "settings"),
    "smb.conf": S,
    "afp.conf": S,
    "ganesha.conf": S,
    "modules": S,
    "way": S,
    "other_clients": S,
    "sessions": S,
    "CNID server": S,
    "file system": How.FILES,
    **_of(OUT, "port afpd cnid_dbd cnid_metad server backend"),
}
OPTIONS: Spec = {
    **_of(
        How.DIGITS,
        "bytes chunk_bytes chunk_read_bytes chunk_write_bytes clients clients_points compressible"
        " copies"
        " datagram_packets dedup delay_us records"
        " delay_s depth directories duration_s file_bytes files files_per_directory interval_s"
        " from_s image_bytes image_directories image_files"
        " iterations large_file_bytes outstanding packet_bytes queue ramp_ms ramp_s ranks"
        " rate_per_s rate_points read_bytes read_percent record_bytes recording_s request_bytes"
        " requests sessions speed"
        " rpc_received_bytes rpc_sent_bytes sample_hz seed set_bytes sizes_bytes steady_s"
        " think_s threads timeout_s times to_s udp_buffer_bytes users"
        " warmup window write_bytes zipf",
    ),
    **_of(
        W,
        "arrivals data direct flush fsync hashed lengths loads loop mode narrow only op probe"
        " receive recreate replayable shared shuffled sparse tests timed trace units"
        " verified verify watch",
    ),
    "mix": How.TITLE,
    "sweep": W,
    **_of(
        OUT,
        "between command directory file file_sizes gun of_user prefix recording"
        " recording_uuid second_volume session think tree unit"
        " volume",
    ),
}
FIGURE: Spec = {
    "value": F,
    "unit": W,
    "text": How.PRINTED,
    "meaning": How.CONSTANT,
    **_of(S, "who why"),
}
# What a kind of server calls its things: constants of the program.
WORDS = _of(How.SOURCE, "server helper backend database asked protocol operation log")
RUN: dict[str, Spec] = {
    "schema": F,
    "tool": W,
    "version": W,
    "id": How.ID,
    **_of(W, "command set kind about"),
    **_of(F, "has_requests complete"),
    "words": WORDS,
    "started": How.DAY,
    "environment": {
        "kernel": How.KERNEL,
        "machine": W,
        "cpus": How.DIGITS,
        "host": How.HOST,
        "client.cpus": How.CPUS,
        "client.congestion": W,
    },
    "server": SERVER,
    "options": OPTIONS,
    "labels": OUT,
    "rungs": Any(How.RUNG, known=_of(OUT, "trace trace.truncated")),
    "absent": Any(S),
    "warnings": KEYED,
    "findings": KEYED,
    "figures": Any(FIGURE),
    "names": {
        **_of(W, "kind backend cache_key"),
        **_of(OUT, "conf settings unit pid port cnid_metad"),
    },
    "diagnosis": DIAGNOSIS,
    "server_end": {"after_ns": F, "restarted_pid": How.PROCESS},
    "losses": [{"what": How.LOSS, "n": F}],
    "books": [{"name": How.BOOK, "with": How.CONSTANT, **_of(F, "ours theirs closed")}],
    "sessions": [SESSION],
    "in_service": [
        {
            "pid": How.PROCESS,
            "user": How.USER,
            "client": How.CLIENT,
            **_of(W, "command waits_for"),
            **_of(F, "age_ns began_before"),
            "call": S,
        }
    ],
    "ended": Any(
        {
            **_of(F, "clean failed crashed killed last_signal last_status"),
            "last_pid": How.PROCESS,
        }
    ),
    "sessions_rest": _of(F, "sessions requests calls busy_ns bytes_in bytes_out"),
    **_of(DEFINITIONS, "metrics tcp_values verdict_figures"),
    "threads": [{"name": How.THREAD, **_of(F, "threads cpu_ns runq_ns looks asleep_in_lock")}],
    "sockets": [
        {
            "pid": How.PROCESS,
            "port": How.PORT,
            **_of(F, "buffer buffer_max queue_max drops drops_seen"),
            "points": Rows(),
        }
    ],
    "waiting": _of(F, "asked answered short waiting_sum waiting_max idle_min waited"),
    "series": [
        {
            "pid": How.PROCESS,
            "role": W,
            **_of(F, "ended threads_ended"),
            "start_ns": How.MOMENT,
            "t_ns": Rows(),
            "values": [{**_of(W, "key unit"), "why": S, "points": Rows()}],
        }
    ],
    "phases": [PHASE],
}

# Tables. Numbers with a unit (ns, %, B, ...) are kept in any column. A number without one is kept
# only in these columns, whatever table they are in; one of a test is called by its number.
COUNTS = _words(
    "number test iterations ops calls cnid errors code count requests afpd_calls cnid_calls"
    " server_calls block_reads block_writes syncs flushes discards pages_cached metadata_pages"
    " calls_per_request calls_per_mb done resent dropped failed threads thread looks cwnd"
    " segments again n sendfile read write copy_range unexplained clients planned readings"
    " syscr syscw major_faults seen peers_window own_buffer parked untimed"
    " round_trips needed bursts each shared recorded replayed otherwise"
)
TEST_COLUMN = r"\d{1,9}"
# A table whose columns are metrics of the run: counts, all of them.
METRICS = "metrics"
# Columns that have nothing but amounts, heads without letters included.
AMOUNTS = _words(
    "here network afpd_cpu_per_gb block_io block_read_mb block_read_mean block_time"
    " block_write_mb block_write_mean blocked busy cached client_cpu"
    " client_cpu_per_gb cpu cv deviation disk file flush_mean fsync idle in_call"
    " in_calls least_rtt max mb mb_in mb_out mb_per_s mb_s mean mean_call median min"
    " mss net on_cpu ops_per_s other own_code p50 p90 p95 p99 p999 per_op per_s rate"
    " recorded_p50 recorded_p99"
    " rcvbuf request_p50 request_p99 round_trip rtt run_queue runq share sndbuf"
    " stonewall stopped switches_per_s sync_mean time time_per_op time_per_request"
) | {"", "__", "___"}
# A text is kept only in these columns, as it says.
TEXTS: dict[str, Spec] = {
    **_of(
        W,
        "command state account end verdict word action load request calls mostly null_peer"
        " from to number held_up_by together most_frequent_error most_of_it",
    ),
    "test": How.TITLE,
    "user": How.USER,
    "client": How.CLIENT,
    "dialect": How.DIGITS,
    "volume": How.VOLUME,
    "threads": How.THREAD,
    "range": How.DIGITS,
    "pid": How.PROCESS,
    "process": How.ONE_PROCESS,
}
# Servers and products that are not hidden.
SERVERS = {
    "afpd", "netatalk", "cnid_dbd", "cnid_metad", "glusterfsd", "glusterd", "glusterfs",
    "fileserver", "dafileserver", "volserver", "davolserver", "vlserver", "ptserver", "buserver",
    "bosserver", "rxperf", "smbd", "ganesha.nfsd", "afpscope", "mysqld", "mariadbd",
}  # fmt: skip
PRODUCT = re.compile(
    r"(?:Netatalk|GlusterFS|OpenAFS|Samba) ?\d[\d.]{0,15}(?:(?:rc|beta|alpha|dev)\d*)?"
    r"(?:-(?:Debian|Ubuntu))?"
)
