# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts of the report about Rx, and of a diagnosis, in English and Japanese."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    "rx_calls": ("Calls", "呼び出し"),
    "rx_calls_note": (
        "A row for each test; all clients of a test begin together. Times are those of a whole "
        "call, as the client saw it. p99: 99 of 100 took no longer (to 1%).",
        "テストごとに一行。全クライアントが同時に開始。時間はクライアントから見た呼び出し全体。"
        "p99: 100 回中 99 回はこれ以下 (誤差 1%) 。",
    ),
    "rx_tail": ("How many calls took how long", "所要時間の分布"),
    "axis_call": ("time of a call", "呼び出しの所要時間"),
    "rx_tail_note": (
        "The share of calls that took as long or longer. Steps near 0.2, 2, 3.2, 3.6 and 6.4 s are "
        "the timers after which a packet that was lost is sent again.",
        "その時間以上かかった呼び出しの割合。0.2、2、3.2、3.6、6.4 "
        "秒付近の段差は、失われたパケットを再送するまでのタイマー。",
    ),
    "rx_short": (
        "{test}: {clients:,} clients made {n:,} calls, {rate} a second and {mb_s} MB/s both ways; "
        "a call took {mean} on average, half of them at most {p50}, 99 of 100 at most {p99}, the "
        "longest {max}.",
        "{test}: {clients:,} クライアント、{n:,} 回の呼び出し、毎秒 {rate} 回、双方向 {mb_s} MB/s。"
        "平均 {mean}、半数は {p50} 以下、100 回中 99 回は {p99} 以下、最長 {max}。",
    ),
    "rx_lost": (
        "{test}: {n:,} of {clients:,} clients got no answer any more and stopped.",
        "{test}: {clients:,} クライアント中 {n:,} は応答がなくなり停止。",
    ),
    "rx_failed": (
        "{test}: {failed:,} of {n:,} calls failed.",
        "{test}: {n:,} 回の呼び出し中 {failed:,} 回が失敗。",
    ),
    "rx_no_time": (
        "{test}: the clients' program itself had no time left ({cpu:.0%} of a CPU, {runq:.0%} of "
        "the time waiting for one): these figures are its own limit, not the server's.",
        "{test}: クライアント側に余裕がない (CPU {cpu:.0%}、CPU 待ち {runq:.0%}): "
        "この値はサーバーの限界ではない。",
    ),
    "rx_packets": ("Packets of the clients", "クライアントのパケット"),
    "rx_packets_note": (
        "All clients of a test together. Dropped: datagrams that found no room in a client's own "
        "socket.",
        "テストの全クライアントの合計。破棄: クライアント自身のソケットに収まらなかった"
        "データグラム。",
    ),
    "rx_data_sent": ("DATA sent", "送信 DATA"),
    "rx_again": ("Again", "再"),
    "rx_resent": ("of these, sent again", "うち再送"),
    "rx_duplicates": ("of these, received again", "うち重複"),
    "rx_acks_sent": ("ACK sent", "送信 ACK"),
    "rx_data_received": ("DATA received", "受信 DATA"),
    "rx_acks_received": ("ACK received", "受信 ACK"),
    "rx_timeouts": ("no answer in time", "応答時間切れ"),
    "rx_busy": ("BUSY received", "受信 BUSY"),
    "rx_rtt": ("mean round trip", "往復時間"),
    "rx_buffer": ("socket buffer, as granted", "ソケットのバッファ (実際の値)"),
    "rx_drops": ("dropped", "破棄"),
    "rx_served": ("Packets of the server", "サーバーのパケット"),
    "rx_served_note": (
        "As its threads read and sent them.",
        "サーバーのスレッドが読み、送ったもの。",
    ),
    "rx_in": ("read", "受信"),
    "rx_out": ("sent", "送信"),
    "rx_datagrams": ("Datagrams", "データグラム"),
    "rx_types": ("Packets by type", "種類別パケット"),
    "rx_sockets": ("Sockets of the server", "サーバーのソケット"),
    "rx_sockets_note": (
        "Looked at ten times a second. Dropped: datagrams that found no room, by /proc and as the "
        "kernel's tracepoint counted them (n/a: it was not counted). The buffer is the size that "
        "was granted; the kernel's memory for it is twice as much.",
        "毎秒 10 回観測。破棄: 収まらなかったデータグラム (/proc と、カーネルのトレースポイント。"
        "n/a: 計数なし) 。バッファは割り当てられた大きさで、カーネルのメモリはその 2 倍。",
    ),
    "rx_socket_note": (
        "UDP port {port}: the kernel's memory that waiting datagrams took, and how many found no "
        "room since the watch began. Datagrams that come and go between two looks are not in it.",
        "UDP ポート {port}: 待機中のデータグラムが占めるカーネルのメモリと、観測開始からの"
        "破棄数。二回の観測の間に来て去ったものは含まない。",
    ),
    "rx_waited": ("waiting", "待機中"),
    "rx_room": ("room", "容量"),
    "rx_dropped": ("dropped so far", "破棄の累計"),
    "axis_drops": ("datagrams dropped", "破棄されたデータグラム"),
    "rx_granted": ("Buffer", "バッファ"),
    "rx_port": ("UDP port", "UDP ポート"),
    "rx_most": ("Most seen waiting", "待機の最大"),
    "rx_by_proc": ("Dropped (/proc)", "破棄 (/proc) "),
    "rx_by_kernel": ("Dropped (tracepoint)", "破棄 (トレースポイント) "),
    "causes": ("What makes clients wait", "クライアントが待つ原因"),
    "causes_note": (
        "As doctor sees it, the one that explains most first.",
        "doctor の診断。最も多くを説明するものが先頭。",
    ),
    "cause": ("Cause", "原因"),
    "todo": ("What to try", "対策"),
    "disproof": ("It is wrong if", "誤りとなる条件"),
}
