# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts of a sweep, in English and Japanese: its page, its knee, and what limits it."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    "sweep": ("Sweep", "スイープ"),
    "sweep_latency": ("How long actions took", "操作の所要時間"),
    "sweep_latency_note": (
        "Percentiles of all actions, by {option}. Dots: single steps; lines: their medians. "
        "Broken line: the knee; grey: its interval.",
        "全操作の分位点 ({option} 別) 。点は各段階、線は中央値。破線は限界点、灰色はその区間。",
    ),
    "sweep_rate": ("How much was done", "処理量"),
    "sweep_rate_note": ("Actions a second, by {option}.", "毎秒の操作数 ({option} 別) 。"),
    "sweep_probe": ("What one more user felt", "もう一人の利用者の体感"),
    "sweep_probe_note": (
        "The probe's actions, by {option}: once a second stat, read 4 KiB, write 4 KiB.",
        "プローブの操作 ({option} 別): 毎秒 stat、4 KiB 読み、4 KiB 書き。",
    ),
    "sweep_tests": ("Each test", "各テスト"),
    "sweep_tests_note": (
        "Mean time of a call, by {option}. Dots: single steps; lines: their medians.",
        "呼び出しの平均時間 ({option} 別) 。点は各段階、線は中央値。",
    ),
    "sweep_tests_table_note": (
        "Medians of the steps of each value. Drops: datagrams for which the server's sockets had "
        "no room, in all tests of a step; n/a: the server was not seen. Ratio: the mean time at "
        "the first value over that at the last, with its 95% interval (from 4 steps of both on).",
        "各値の中央値。破棄: サーバーのソケットに入らなかったデータグラム (段階の全テスト) 、"
        "n/a は未観測。"
        "比: 最初の値と最後の値の平均時間の比と 95% 区間 (各 4 段階以上) 。",
    ),
    "sweep_calls_note": (
        "Medians of the steps of each value, of the first test. Bad: failed calls (err), clients "
        "that stopped (lost). Drops: datagrams for which the server's sockets had no room, in all "
        "steps. Buffer: of the server's socket, as the system granted it. Generator: the busiest "
        "thread's share of a CPU; with ! it had no time left.",
        "各値の中央値 (最初のテスト) 。不良: 失敗 (err)、停止したクライアント (lost)。"
        "破棄: サーバーのソケットに入らなかったデータグラム (全段階) 。"
        "バッファ: 実際に得た受信バッファ。"
        "生成側: 最も忙しいスレッドの CPU 割合、! は余裕なし。",
    ),
    "drops": ("Drops", "破棄"),
    "buffer": ("Buffer", "バッファ"),
    "ratio": ("Ratio", "比"),
    "axis_call": ("time of a call", "呼び出しの時間"),
    "sweep_parts": ("Where a request's time went", "要求時間の内訳"),
    "sweep_parts_note": (
        "Shares of a request's mean time as the clients saw it; above each bar that time.",
        "クライアントから見た要求の平均時間の内訳。棒の上はその時間。",
    ),
    "sweep_limit": ("What is used up at the knee", "限界点で尽きる資源"),
    "sweep_limit_note": (
        "Figures of two steps: {below} is below the knee, {above} at or above it.",
        "二つの段階の値: {below} は限界点より下、{above} は限界点以上。",
    ),
    "sweep_limit_one": (
        "Figures of {above}; there is no step below the knee.",
        "{above} の値。限界点より下の段階はない。",
    ),
    "sweep_table": ("All values", "全値"),
    "sweep_table_note": (
        "Medians of the steps of each value. Bad: failed actions (err), arrivals that found no "
        "free client (drop), clients without a session (no), sessions lost (lost). Busiest: the "
        "resource that has the largest share of a request's time. Generator: the busiest thread's "
        "share of a CPU; with ! it had no time left.",
        "各値の中央値。不良: 失敗 (err)、破棄 (drop)、セッションなし (no)、切断 (lost)。"
        "最大の資源: 要求時間に占める割合が最大のもの。"
        "生成側: 最も忙しいスレッドの CPU 割合、! は余裕なし。",
    ),
    "sweep_steps": ("Steps", "段階"),
    "sweep_steps_note": (
        "In the order in which they ran. Each is a run: afpscope report {folder}/NAME.",
        "実行順。各段階は一つの測定: afpscope report {folder}/名前。",
    ),
    "bad": ("Bad", "不良"),
    "busiest_resource": ("Busiest", "最大の資源"),
    "generator": ("Generator", "生成側"),
    "probe_p99": ("Probe p99", "プローブ p99"),
    "below": ("Below", "下"),
    "above": ("Above", "上"),
    "figure": ("Figure", "値"),
    "step": ("Step", "段階"),
    "why": ("Why", "理由"),
    "begun": ("Begun", "開始"),
    "paused": ("Pause before", "前の待ち"),
    "ended": ("Exit code", "終了コード"),
    "remark": ("Remark", "備考"),
    "planned": ("planned", "計画"),
    "bisected": ("between two others", "二分"),
    "again": ("again", "再測定"),
    "s_own": ("{server} on a CPU", "{server} の CPU"),
    "s_runq": ("{server} waiting for a CPU", "{server} の CPU 待ち"),
    "s_unread": ("unread, {server} waiting for a CPU", "未読 ({server} の CPU 待ち)"),
    "s_cnid_runq": ("{helper} waiting for a CPU", "{helper} の CPU 待ち"),
    "s_cnid_cpu": ("{helper} on a CPU", "{helper} の CPU"),
    "s_database_lock": ("{database}'s lock", "{asked} データベースのロック"),
    "s_database_disk": ("{database}'s disk", "{asked} データベースのディスク"),
    "s_cnid_rest": ("to and from {helper}", "{helper} との往復"),
    "s_disk": ("disk", "ディスク"),
    "s_log": ("log", "ログ"),
    "s_cnid_disk": ("{helper}'s disk", "{helper} のディスク"),
    "s_lock": ("lock", "ロック"),
    "s_cnid_lock": ("{helper}'s lock", "{helper} のロック"),
    "s_net": ("client's socket", "ソケット待ち"),
    "s_outside": ("outside the server", "サーバー外"),
    "s_other": ("waiting otherwise", "その他の待ち"),
    "is_knee": ("Knee: {text}", "限界点: {text}"),
    "is_used_up": ("Used up: {text}", "尽きる資源: {text}"),
    "step_failed": ("Step {folder} failed: {why}", "段階 {folder} は失敗: {why}"),
    "steps_failed": ("{n} more steps failed", "ほかに {n} 段階が失敗"),
    "no_time_left": (
        "The load generator had no time left at {values}: it limits these steps",
        "{values} では負荷生成側に余裕がない: これらの段階を制限しているのは生成側",
    ),
    "knee_none": (
        "no step was measured: there is no knee to see",
        "測定された段階がなく、限界点は分からない",
    ),
    "knee_unsure": (
        "of no step it can be told whether it keeps the limit",
        "限度を守れたかどうかは、どの段階についても分からない",
    ),
    "knee_untold": (
        "{text}; cannot be told at {values}: {why}",
        "{text}、{values} では不明: {why}",
    ),
    "knee_slo": ("{slo} is kept", "{slo} を守れる"),
    "knee_rate": (
        "at least {share:.0%} of the offered rate is reached",
        "要求した処理量の {share:.0%} 以上に達する",
    ),
    "knee_between": (
        "{what} up to {below} ({of_below}), no longer at {above} ({of_above})",
        "{what}のは {below}まで ({of_below})、{above}では不可 ({of_above})",
    ),
    "knee_higher": (
        "{what} at every value, up to {below} ({of_below}): the knee is higher",
        "全ての値で{what} (最大 {below}: {of_below})、限界点はさらに上",
    ),
    "knee_lower": (
        "{what} reliably at no value: {of_above} at {above}, the least load",
        "確実に{what}値はない (最小の負荷 {above}: {of_above})",
    ),
    "knee_growing": (
        "the rate still grows at {at}, the most that was measured",
        "測定した最大の {at} でも処理量はまだ増える",
    ),
    "knee_grown": (
        "the rate stops growing at {at} ({of_at}; within {share:.0%} of the most)",
        "{at}で処理量の増加が止まる ({of_at}、最大値との差は {share:.0%} 以内)",
    ),
    "knee_kept": ("{time}, kept in {kept} of {n}", "{time}、{n} 回中 {kept} 回達成"),
    "knee_trouble": (
        "{text}: clients could not work, or actions were dropped or failed",
        "{text}: 操作できないクライアント、または破棄・失敗した操作あり",
    ),
    "one_client": ("1 client", "1 クライアント"),
    "n_clients": ("{n} clients", "{n} クライアント"),
    "knee_within": ("{low} to {high}", "{low} 〜 {high}"),
    "knee_from": ("{low} or more", "{low} 以上"),
    "knee_to": ("less than {high}", "{high} 未満"),
    "knee_level": ("{level:.0%} interval {text}", "{level:.0%} 区間 {text}"),
    "knee_rough": (
        "an estimate, {text} (measured {n} times, each value gives an interval: --repeat {n})",
        "推定 {text} (各値を {n} 回測れば区間が得られる: --repeat {n})",
    ),
    "usl": (
        "Universal scalability law: contention {contention}, coherency {coherency}, R² {r2:.3f}",
        "普遍的スケーラビリティ則: 競合 {contention}、整合 {coherency}、R² {r2:.3f}",
    ),
    "usl_peak": (
        "{text}; most throughput at {clients:,.0f} clients",
        "{text}、処理量が最大になるのは {clients:,.0f} クライアント",
    ),
    "usl_within": ("{value} ({low} to {high})", "{value} ({low} 〜 {high})"),
    "usl_absent": (
        "The universal scalability law is not shown: {why}",
        "普遍的スケーラビリティ則は示さない: {why}",
    ),
    "usl_hard": (
        "the rate grows evenly up to a hard limit, which it does not describe",
        "処理量は固定の上限まで一様に増え、この法則では表せない",
    ),
    "usl_few": (
        "it needs {n} different numbers of clients with a rate above 0",
        "処理量が 0 でないクライアント数が {n} 種類以上必要",
    ),
    "usl_none": ("no curve of that form could be fitted", "この形の曲線を当てはめられない"),
    "usl_poor": (
        "it explains {r2:.0%} of the variance, and {least:.0%} is asked for",
        "説明できる分散は {r2:.0%} で、必要な {least:.0%} に届かない",
    ),
    "usl_off": (
        "{n:g} clients are {off:.0%} off the curve, and at most {most:.0%} is allowed",
        "{n:g} クライアントは曲線から {off:.0%} 外れる (許容は {most:.0%} まで)",
    ),
    "usl_vague": (
        "its parameters cannot be told from these measurements",
        "この測定からは係数が定まらない",
    ),
    # Resources: in a column, and in a sentence.
    "r_generator": ("client", "生成側"),
    "r_sessions": ("sessions", "セッション"),
    "r_cpu": ("CPU", "CPU"),
    "r_cnid": ("{asked}", "{asked}"),
    "r_disk": ("disk", "ディスク"),
    "r_lock": ("lock", "ロック"),
    "r_network": ("network", "ネットワーク"),
    "r_other": ("other", "その他"),
    "limit_generator": ("the load generator itself", "負荷生成側自身"),
    "limit_sessions": (
        "sessions: the server makes no more",
        "セッション (サーバーはこれ以上作らない)",
    ),
    # Parts of a request's time, in a sentence.
    "spent_own": ("{server} on a CPU", "{server} の CPU 実行"),
    "spent_runq": ("{server} waiting for a CPU", "{server} の CPU 待ち"),
    "spent_unread": (
        "requests unread while {server} waited for a CPU",
        "{server} の CPU 待ちで読まれない要求",
    ),
    "spent_cnid_runq": ("{helper} waiting for a CPU", "{helper} の CPU 待ち"),
    "spent_cnid_cpu": ("{helper} on a CPU", "{helper} の CPU 実行"),
    "spent_database_lock": (
        "waiting for another writer of the {database}",
        "{asked} データベースの他の書き込み待ち",
    ),
    "spent_database_disk": (
        "waiting for the {database}'s disk",
        "{asked} データベースのディスク待ち",
    ),
    "spent_cnid_rest": (
        "requests and answers on their way to and from {helper}",
        "{helper} との要求・応答の往復",
    ),
    "spent_disk": ("waiting for files", "ファイル待ち"),
    "spent_log": ("writing the log", "ログの書き込み"),
    "spent_cnid_disk": ("{helper} waiting for the disk", "{helper} のディスク待ち"),
    "spent_lock": ("waiting for a lock", "ロック待ち"),
    "spent_cnid_lock": ("{helper} waiting for a lock", "{helper} のロック待ち"),
    "spent_net": ("waiting for the client's socket", "クライアントのソケット待ち"),
    "spent_outside": (
        "outside the server: network, client, and waiting to be read",
        "サーバーの外 (ネットワーク、クライアント、読まれるまでの待ち)",
    ),
    "spent_other": ("waiting otherwise", "その他の待ち"),
    "l_cpu": (
        "its busiest thread used {cpu:.0%} of a CPU (try --threads, or more hosts)",
        "最も忙しいスレッドが CPU の {cpu:.0%} を使用 (--threads、または複数のホストを試す)",
    ),
    "l_runq": (
        "its threads used {cpu:.0%} of a CPU and waited {runq:.0%} of the time for one (give it "
        "CPUs of its own, or another host)",
        "スレッドは CPU の {cpu:.0%} を使い、時間の {runq:.0%} は CPU 待ち "
        "(専用の CPU、または別のホストを与える)",
    ),
    "l_late": (
        "it began {late:,} of {n:,} actions more than 1 ms late",
        "{n:,} 操作中 {late:,} の開始が 1 ms より遅れた",
    ),
    "l_sessions": (
        "{n:,} of {clients:,} clients got none (afp.conf: max connections)",
        "{clients:,} クライアント中 {n:,} は得られず (afp.conf: max connections)",
    ),
    "l_unwatched": (
        "the server was not watched, so that it cannot be told",
        "サーバーを観測していないため不明",
    ),
    "l_undiagnosed": (
        "cannot be told: the run has no diagnosis",
        "不明: この測定に診断はない",
    ),
    "l_no_cause": (
        "cannot be told: the diagnosis shows no cause",
        "不明: 診断に原因は出ていない",
    ),
    "l_unseen": (
        "cannot be told: {causes} would explain the wait, and was not visible",
        "不明: {causes} なら待ちを説明できるが、観測できていない",
    ),
    "l_likely": ("{text} (likely)", "{text} (推定)"),
    "l_even": (
        "what requests take longer has no single part that stands out: {shares}",
        "要求時間の増加に突出した部分はない: {shares}",
    ),
    "l_even_share": (
        "a request's time has no single part that stands out: {shares}",
        "要求時間に突出した部分はない: {shares}",
    ),
    "l_share": (
        "the largest part of a request's time is {resource}, {share:.0%}, most of it {part} ({ns})",
        "要求時間で最も多いのは{resource} ({share:.0%})、その多くは{part} ({ns})",
    ),
    "l_growth": (
        "the largest part of what requests take longer is {resource}, {share:.0%}, most of it "
        "{part} ({before} a request below, {ns} above)",
        "要求時間の増加で最も多いのは{resource} ({share:.0%})、その多くは{part} "
        "(要求あたり、下で {before}、上で {ns})",
    ),
    "f_cpu": ("generator, busiest thread", "生成側、最も忙しいスレッド"),
    "f_runq": ("generator, waiting for a CPU", "生成側、CPU 待ち"),
    "f_late": ("generator, late by 1 ms", "生成側、1 ms 以上の遅れ"),
    "f_missing": ("clients without a session", "セッションのないクライアント"),
    "f_time": ("time of a request", "要求の時間"),
    "f_cpus": ("CPUs used by the server", "サーバーが使う CPU"),
    "f_generator_cpus": ("CPUs used by the generator", "生成側が使う CPU"),
    "of_cpu": ("{share:.0%} of a CPU", "CPU の {share:.0%}"),
    "of_actions": ("{share:.1%} of actions", "操作の {share:.1%}"),
    "of_cpus": ("{n:.2f} of {all}", "{all} 中 {n:.2f}"),
    "full_stop": (".", "。"),
}
