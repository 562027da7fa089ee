# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts of the report, in English and Japanese. Names of commands and fields stay."""

from __future__ import annotations

from collections.abc import Mapping

from . import rxwords, sweepwords
from .saved.model import Transfer
from .saved.run import AFP_WORDS, NO_WORDS
from .saved.sections import Section

LANGUAGES = ("en", "ja")

_WORDS: dict[str, tuple[str, str]] = {
    "title": ("afpscope report", "afpscope レポート"),
    "runs": ("Runs", "測定一覧"),
    "sections": ("Contents", "目次"),
    "run": ("Run", "測定"),
    "server": ("Server", "サーバー"),
    "inside_all": ("Time inside the server", "サーバー内時間"),
    "leads": ("Costs most", "最大のコマンド"),
    "yes": ("yes", "はい"),
    "no": ("NO", "いいえ"),
    "side_by_side": ("Mean time of each test", "各テストの平均時間"),
    "judge": (
        "This table judges nothing: afpscope compare says which differences are real.",
        "この表は判定ではない: 差の有意性は afpscope compare で判定する。",
    ),
    "calls_note": (
        "Time is the mean per request. The calls of {helper} run in its own process, in part when "
        "{server} does not wait for it: they may take longer than {server} waits for the "
        "{backend}.",
        "時間は要求あたりの平均。{helper} の呼出は別プロセスで動き、"
        "一部は {server} が待たない間のため、「{asked} サーバー待ち」より長いことがある。",
    ),
    "badge_trusted": ("Trusted", "信頼できる"),
    "badge_doubted": ("Do not rely on this", "信頼しないこと"),
    "badge_unchecked": ("Not checked", "未照合"),
    "unchecked": (
        "Nothing independent counted the same, so these figures were not cross-checked.",
        "独立した記録がなく、この測定は照合されていない。",
    ),
    "cause_sure": ("The figures in that sentence show it: sure.", "上の数値が示す: 確実。"),
    "cause_likely": (
        "The figures in that sentence point to it: likely, not proved.",
        "上の数値が示唆する: 可能性が高いが確証はない。",
    ),
    "cause_try": ("Try: {text}", "試すこと: {text}"),
    "cause_wrong": ("It is mistaken if this is so: {text}", "次の場合は誤り: {text}"),
    "cause_too": ("As well: {text}", "ほかに: {text}"),
    "unseen": (
        "These would explain the waits as well, and could not be seen here: {names}.",
        "待ち時間を説明しうるが、ここでは見えなかったもの: {names}。",
    ),
    "unjudged": (
        "This run has no diagnosis, so the cause cannot be told: the figures say where time went, "
        "and not why.",
        "この測定には診断がなく原因は不明: 値は時間の行き先を示すが、理由は示さない。",
    ),
    "command": ("Command", "コマンド"),
    "numbers": ("The same as numbers", "数値で見る"),
    "on_path": ("On the request's path: calls of {server}", "要求の経路上: {server} の呼出"),
    "beside": (
        "Beside it: calls of {helper}, in part while nobody waits for them",
        "経路外: {helper} の呼出 (一部は誰も待たない間)",
    ),
    "slow": ("The slowest requests, one by one", "最も遅い要求"),
    "slow_note": (
        "From the trace. Each is drawn from when the client sent it, if that is known, to its end: "
        "what {server} did and waited for, and what {helper} did for it.",
        "トレースより。クライアントの送信 (わかる場合) から終了まで: "
        "{server} の動作と待ち、そのための {helper} の動作。",
    ),
    "slow_one": ("{command}: {time} in the server", "{command}: サーバー内 {time}"),
    "asleep": ("asleep in {call}", "待ち: {call}"),
    "at": ("At", "時点"),
    "who": ("Who", "主体"),
    "lane_client": ("client", "クライアント"),
    "lane_server": ("{server}", "{server}"),
    "lane_helper": ("{helper}", "{helper}"),
    "forest": ("How much longer B takes than A", "B の所要時間の変化"),
    "forest_note": (
        "The largest differences that are shown come first. A line is the 95% interval of the "
        "change, on a logarithmic axis; dashed where it goes on beyond the axis. A filled square: "
        "the difference is shown; a ring: it is not. Grey: differences within {least}, which do "
        "not count.",
        "示された差の大きい順。線は変化の 95% 区間 (対数軸)、軸を超えるものは破線。"
        "塗った四角は差あり、輪は差が示されない。灰色は数えない {least} 以内。",
    ),
    "forest_counts": ("Counts that differ", "異なる回数"),
    "shown_by": ("What shows it", "根拠"),
    "stands_out": ("What else stands out", "その他の特徴"),
    "verdict": ("In short", "要約"),
    "trust": ("Can it be trusted?", "信頼できるか"),
    "trusted": (
        "This run can be trusted: it is complete, {lost} events were lost, all {books} "
        "cross-checks agree.",
        "この測定は信頼できる: 完了、損失 {lost}、照合 {books} 件すべて一致。",
    ),
    "damaged": (
        "The trace is damaged or incomplete: do not rely on what is drawn from it (requests over "
        "time, numbers of records). The lines in bold say what is wrong.",
        "トレースは破損または不完全: それに基づく表示 (時間経過、記録数) を信頼しないこと。"
        "太字の行に詳細。",
    ),
    "trusted_but": (
        "The other figures are not taken from the trace: the run is complete, {lost} events were "
        "lost, all {books} cross-checks agree.",
        "その他の値はトレースによらない: 完了、損失 {lost}、照合 {books} 件すべて一致。",
    ),
    "calls_unknown": ("Its calls were not counted.", "システムコールは数えられていない。"),
    "any_cpu": (
        "The program used {cpu} of CPU time and made {n:,} system calls.",
        "プログラムの CPU 時間は {cpu}、システムコールは {n:,} 回。",
    ),
    "any_call": (
        "Most time went into {name}: {time} in {n:,} calls.",
        "最も時間を要した呼出は {name}: {n:,} 回で {time}。",
    ),
    "threads": ("Threads", "スレッド (名前別)"),
    "bytes": ("Bytes", "バイト"),
    "unwatched": (
        "The server was not watched: only the client's figures are here.",
        "サーバーは観測されていない: クライアント側の値のみ。",
    ),
    "doubt": ("Do not rely on this run: {text}.", "この測定を信頼しないこと: {text}。"),
    "no_server": (
        "There was no server: these are the figures of a local folder.",
        "サーバーなし: ローカルフォルダーの値。",
    ),
    "local": ("local folder {folder}", "ローカルフォルダー {folder}"),
    "costs_most": (
        "{name} costs most: {share:.0%} of all time inside the server, in {n:,} requests of {mean} "
        "each. {part_share:.0%} of that was {part}.",
        "最も時間を要する AFP コマンドは {name}: サーバー内時間の {share:.0%}"
        " ({n:,} 要求、1 回 {mean}) 。その {part_share:.0%} は「{part}」。",
    ),
    "costs_most_whole": (
        "{name} costs most: {share:.0%} of all time inside the server, in {n:,} requests of {mean} "
        "each. What that time went into is not known: other threads answer than those that read.",
        "最も時間を要する要求は {name}: サーバー内時間の {share:.0%}"
        " ({n:,} 要求、1 回 {mean}) 。別のスレッドが応答するため、その内訳は不明。",
    ),
    "call_why": (
        "Of the system calls that {server} makes for it, {call} takes longest: {time} per request, "
        "in {n:.2f} calls.",
        "そのための {server} のシステムコールで最も時間がかかるのは {call}: "
        "要求あたり {time} ({n:.2f} 回) 。",
    ),
    "second": ("Next is {name} with {share:.0%}.", "次は {name}、{share:.0%}。"),
    "busiest": (
        "The busiest of {n} sessions was that of {who} ({at}): {share:.0%} of the time that all "
        "sessions had a request in service.",
        "{n} セッション中最も多いのは {who} ({at}): 要求処理時間全体の {share:.0%}。",
    ),
    "transfer": ("{title}: {rate}/s. {text}", "{title}: {rate}/s。{text}"),
    "unsteady": (
        "Unsteady, with a standard deviation of 10% of the mean or more: {names}. Take more "
        "iterations (-n) before you compare them.",
        "ばらつきが大きい (標準偏差が平均の 10% 以上): {names}。比較の前に反復 (-n) を増やすこと。",
    ),
    "shared_cpu": (
        "Client and server shared CPU {cpu}: times are longer than they need be, counts are not "
        "affected.",
        "クライアントとサーバーが CPU {cpu} を共有: 時間は長くなるが、回数には影響しない。",
    ),
    "what": ("What", "項目"),
    "count": ("Count", "件数"),
    "losses": ("Losses", "損失"),
    "glossary": (
        "{server} is the process that serves a client. The {backend}, {helper}, gives files their "
        "numbers. Work in system calls: the kernel is working for {server}. p50, p99, p99.9: half "
        "of the requests, 99 of 100, and 999 of 1,000 took no longer (inside the server to 6%).",
        "{server} はクライアントに応答するプロセス、"
        "{asked} サーバーはファイルに番号を与える {helper}。"
        "システムコール処理は {server} のためのカーネルの動作。"
        "p50、p99、p99.9: 要求の 50%、99%、99.9% がこの時間以内 (サーバー内の値は誤差 6%)。",
    ),
    "swipe": ("wider than this screen: scroll it sideways", "横にスクロールできます"),
    "axis_size": ("size of the file", "ファイルサイズ"),
    "sizes_note": (
        "Median of the iterations that count, by size of the file. The vertical bar is its 95% "
        "interval, which needs 6 iterations.",
        "有効な反復の中央値 (ファイルサイズ別) 。縦線は 95% 区間 (6 回以上の場合) 。",
    ),
    "no_losses": (
        "{n} kinds of loss were counted; none occurred.",
        "{n} 種の損失を監視、発生なし。",
    ),
    "not_counted": ("Losses were not counted.", "損失は数えられていない。"),
    "books": (
        "Cross-checks: what afpscope counted, and what an independent source counted",
        "照合: 独立した記録との比較",
    ),
    "book": ("Cross-check", "照合"),
    "ours": ("afpscope", "自"),
    "theirs": ("The other", "他"),
    "closed": ("agrees", "一致"),
    "open": ("DIFFERS", "不一致"),
    "rungs": ("How it was observed", "観測方法"),
    "tests": ("Tests", "テスト"),
    "test": ("Test", "テスト"),
    "time": ("Time", "時間"),
    "latency": ("How long requests took", "要求の所要時間"),
    "latency_note": (
        "As the client saw them: the time within which a share of the requests was answered. Lower "
        "is better; each step to the right is a tail ten times as rare. The tests come first whose "
        "times vary most.",
        "クライアントから見て、その割合の要求が応答された時間。低いほど良い。"
        "右へ一目盛ごとに十倍稀な裾。ばらつきの大きいテストから順。",
    ),
    "figures_more": ("{n} more tests", "他 {n} 件のテスト"),
    "heat": ("Requests over time", "時間経過"),
    "heat_note": (
        "Darker: more requests took this long at that moment (inside the server, from the trace).",
        "濃いほど、その時点でその所要時間の要求が多い (サーバー内、トレースより) 。",
    ),
    "where": ("Where the time goes, by AFP command", "AFP コマンド別の時間内訳"),
    "where_note": (
        "All time inside the server, by AFP command and by what it was spent on; the longest "
        "first. Behind each bar: its share, and requests × mean time. Commands with less than "
        "{least:.1%} are in the table only. (+n): n more have no answer yet; their time counts.",
        "サーバー内の全時間: AFP コマンド別、内訳つき、大きい順。"
        "棒の右は割合と、要求数 × 平均時間。全体の {least:.1%} 未満は表のみ。"
        "(+n): ほかに n 個が応答待ち。その時間を含む。",
    ),
    "outside": ("Outside requests", "要求以外"),
    "sessions": ("Sessions", "セッション"),
    "untabled": (
        "The tables of afpscope -v are not here (tests or transfers, AFP commands and where their "
        "time goes, storage below the system calls, sessions, system calls, samples of /proc): the "
        "program leaves them in tables.json beside run.json, and this run has none. A version from "
        "before that file wrote it, or it was kept as a lone JSON file.",
        "afpscope -v の表 (テスト・転送、AFP コマンドとその時間内訳、システムコール以下の"
        "ストレージ、セッション、システムコール、/proc の標本) はここにはない: 表は run.json と"
        "同じフォルダーの tables.json にあるが、この測定にはない (古い版で書かれたか、"
        "単独の JSON ファイル)。",
    ),
    "sessions_more": ("{n} more", "他 {n} 件"),
    "joined": ("Clients and their sessions", "クライアントとセッション"),
    "joined_note": (
        "{found} of {n} clients were found by their connection in {record}, those that waited "
        "longest first. Mean and max: what an action took, from when it was to begin. Requests "
        "and busy: the session's, since watching began, so also those that made the files.",
        "{n} クライアント中 {found} 件を {record} の接続と対応付けた。待ち時間の長い順。"
        "1 回と max: 予定開始からの操作時間。"
        "要求と処理中: 監視開始からのセッションの値 (ファイル作成を含む)。",
    ),
    "address": ("Address", "アドレス"),
    "failed": ("Failed", "失敗"),
    "busy_each": ("Busy, each", "処理中 (1 回)"),
    "client": ("Client", "クライアント"),
    "busy": ("Busy", "処理中"),
    "requests": ("Requests", "要求"),
    "each": ("Mean", "1 回"),
    "calls": ("System calls of each AFP command", "各コマンドのシステムコール"),
    "call": ("Call", "呼出"),
    "per_request": ("per request", "要求あたり"),
    "cnid": ("Inside the {backend}", "{asked} サーバー内"),
    "cnid_note": (
        "What {helper} did while {server} waited for it, by AFP command. Behind each bar: requests "
        "× mean time.",
        "{server} の待機中に {helper} が行っていたこと (AFP コマンド別) 。"
        "棒の右は要求数 × 平均時間。",
    ),
    "throughput": ("Throughput", "スループット"),
    "throughput_note": (
        "Each point is an iteration; the line is the median of those that count.",
        "点は各反復、線は有効な反復の中央値。",
    ),
    "limited": ("What limits it", "制約"),
    "environment": ("Environment", "環境"),
    "absent": ("Not measured", "未測定"),
    "trace": ("Trace", "トレース"),
    "stream": ("Stream", "ストリーム"),
    "records": ("Records", "記録"),
    "discarded": ("Discarded", "破棄"),
    "axis_time": ("time of a request", "要求の所要時間"),
    "axis_share": ("share of requests", "要求の割合"),
    "axis_at": ("seconds since the start", "開始からの秒"),
    "axis_total": ("total time", "合計時間"),
    "axis_rate": ("MB/s", "MB/s"),
    "axis_iteration": ("iteration", "反復"),
    "p_user": ("{server}'s own code", "{server} 自身のコード"),
    "p_calls": ("work in system calls", "システムコール処理"),
    "p_runq": ("waiting for a CPU", "CPU 待ち"),
    "p_disk": ("waiting for files", "ファイル待ち"),
    "p_cnid": ("waiting for the {backend}", "{asked} サーバー待ち"),
    "p_lock": ("waiting for a lock", "ロック待ち"),
    "p_log": ("writing the log", "ログ書込み"),
    "p_net": ("waiting for the client", "ソケット待ち"),
    "p_other": ("waiting otherwise", "その他の待ち"),
    "p_unread": ("unread, waiting for a CPU", "未読 (CPU 待ち)"),
    "p_stopped": ("stopped by a signal, a debugger or a freezer", "停止中 (シグナル等)"),
    "axis_action": ("time of an action", "操作の所要時間"),
    "axis_probe": ("time of the probe's actions", "プローブ操作の所要時間"),
    "axis_longer": ("share that took as long or longer", "それ以上かかった割合"),
    "axis_clients": ("clients, the least served first", "クライアント (少ない順)"),
    "axis_actions": ("actions done", "完了した操作"),
    "axis_in_service": ("requests in the server at a time", "サーバー内の同時要求数"),
    "axis_number": ("clients", "クライアント数"),
    "axis_per_s": ("actions a second", "毎秒の操作数"),
    "axis_request_share": ("share of a request's time", "要求時間の割合"),
    "mean": ("mean", "平均"),
    "actions": ("Actions", "操作"),
    "all_actions": ("all", "全体"),
    "offered": ("offered", "要求レート"),
    "achieved": ("achieved", "達成レート"),
    "law": ("scalability law", "スケーラビリティ則"),
    "knee": ("knee", "限界点"),
    "load": ("What the clients felt", "クライアントの体感"),
    "files": ("Operations on small files", "小さなファイルの操作"),
    "files_note": (
        "Each was done with all files by all clients, before the next began. p99: 99 of 100 took "
        "no longer (to 1%).",
        "各操作は全クライアントが全ファイルに行い、終わってから次へ進む。"
        "p99: 100 件中 99 件がこの時間以内 (誤差 1%) 。",
    ),
    "load_note": (
        "An action is what a user does, such as saving a file: several AFP commands. Times are "
        "counted from when the action was to begin: an action that waits for a free client waits, "
        "too. p99: 99 of 100 took no longer (to 1%).",
        "操作はファイルの保存など利用者の一つの動作 (複数の AFP コマンド) 。"
        "時間は開始予定時刻から数え、空きクライアント待ちを含む。"
        "p99: 100 件中 99 件がこの時間以内。",
    ),
    "load_time": ("Over time", "時間経過"),
    "load_time_note": (
        "What ended in each second. Grey: the ramp, which is not counted. Numbered lines: what "
        "was changed meanwhile.",
        "各秒に終わった操作。灰色は計測外の立ち上げ。番号つきの線は途中の変更。",
    ),
    "load_tail": ("How many actions took how long", "所要時間の分布"),
    "load_tail_note": (
        "The share of actions that took as long or longer: the lower a line at a time, the better.",
        "その時間以上かかった操作の割合。低いほど良い。",
    ),
    "probe": ("What one more user felt: the probe", "もう一人の利用者の体感: プローブ"),
    "probe_note": (
        "The longest and the shortest of what the probe does each second: stat, read 4 KiB, write "
        "4 KiB.",
        "プローブが毎秒行う操作 (stat、4 KiB 読み、4 KiB 書き) の最長と最短。",
    ),
    "load_heat": ("Latency and time", "所要時間と時刻"),
    "load_heat_note": (
        "Darker: more actions that ended in this second took this long.",
        "濃いほど、その秒に終わりその時間がかかった操作が多い。",
    ),
    "fairness": ("Were all clients served alike?", "公平性"),
    "fairness_note": (
        "Actions of each client, the least first. Jain's index is {index:.3f} (1: all alike, "
        "{worst:.3f}: one had all). The client that ended first did so after {first}, the last "
        "after {last}.",
        "各クライアントの操作数 (少ない順) 。Jain の指数 {index:.3f} "
        "(1: 均等、{worst:.3f}: 一つが独占) 。"
        "最初に終えたクライアントは {first}、最後は {last}。",
    ),
    "load_parts": ("The server's time over time", "サーバー時間の推移"),
    "load_parts_note": (
        "How many requests were in the server at a time, by what their time was spent on.",
        "サーバー内の同時要求数 (時間の内訳別) 。",
    ),
    "limits": ("Limits", "制限"),
    "limits_note": (
        "What load concluded of each limit (--slo).",
        "各制限 (--slo) についての load の判定。",
    ),
    "limit_kept": ("kept", "守られた"),
    "limit_broken": ("broken", "守られなかった"),
    "limit_untold": ("cannot tell: {why}", "判定できない: {why}"),
    "limit_found": ("{verdict}; it was {time}", "{verdict} (実測 {time})"),
    "marks": ("What was changed", "途中の変更"),
    "load_short": (
        "{clients:,} clients of “{mix}”: {rate} actions a second{offered}; half of them took "
        "at most {p50}, 99 of 100 at most {p99}, the longest {max}.",
        "「{mix}」{clients:,} クライアント: 毎秒 {rate} 操作{offered}、"
        "半数は {p50} 以内、100 件中 99 件は {p99} 以内、最長 {max}。",
    ),
    "load_offered": (" of {rate} offered", " (要求 {rate})"),
    "load_probe": (
        "Meanwhile one more user waited {p50} for an action in half of all cases, and {max} at "
        "most.",
        "その間、もう一人の利用者の待ち時間は中央値 {p50}、最長 {max}。",
    ),
    "load_missing": (
        "{n:,} of {clients:,} clients had no session.",
        "{clients:,} クライアント中 {n:,} はセッションなし。",
    ),
    "load_lost": ("{n:,} sessions were lost.", "{n:,} セッションが切れた。"),
    "files_short": (
        "{clients:,} clients, {n} loads of small files: {fast} was the fastest with {fast_rate} "
        "operations a second, {slow} the slowest with {slow_rate}.",
        "{clients:,} クライアント、小さなファイルの負荷 {n} 種: "
        "最速は {fast} で毎秒 {fast_rate} 操作、最遅は {slow} で毎秒 {slow_rate} 操作。",
    ),
    "load_failed": ("{n:,} actions failed.", "{n:,} 操作が失敗。"),
    "load_no_room": (
        "{n:,} of {arrivals:,} arrivals were dropped: all clients were busy and the queue full.",
        "{arrivals:,} 件中 {n:,} 件は破棄: 全クライアントが使用中で待ち行列も満杯。",
    ),
    "load_saturated": (
        "The load generator itself had no time left ({cpu:.0%} of a CPU, {runq:.0%} of the time "
        "waiting for one, {late:.1%} of actions began late): these figures are its own limit, not "
        "the server's.",
        "負荷生成側に余裕がない (CPU {cpu:.0%}、CPU 待ち {runq:.0%}、遅れた開始 {late:.1%}): "
        "この値はサーバーの限界ではない。",
    ),
    "v_not_told": ("limit unknown", "不明"),
    "v_client": ("client-bound", "クライアント律速"),
    "v_disk": ("I/O-bound", "I/O律速"),
    "v_server_cpu": ("server CPU-bound", "サーバー CPU 律速"),
    "v_cpu_queue": ("short of CPU", "CPU 不足"),
    "v_latency": ("latency-bound", "遅延律速"),
    "v_network": ("network-bound", "ネットワーク律速"),
    "v_turns": ("client and server in turn", "交互動作"),
    "v_mixed": ("mixed", "混在"),
    "i_cpu": ("on a CPU", "CPU 上"),
    "i_runq": ("waiting for a CPU", "CPU 待ち"),
    "i_sync": ("syncing its database", "データベース同期"),
    "i_lock": ("locks", "ロック"),
    "i_io": ("other I/O", "その他の I/O"),
    "i_idle": ("request or answer in transit", "要求・応答の転送"),
    "i_stopped": ("stopped by a signal, a debugger or a freezer", "停止中 (シグナル等)"),
    "i_unknown": ("not seen", "不明"),
    **sweepwords.WORDS,
    **rxwords.WORDS,
}

# Figures of a verdict, in the order of the sentence that run.json has in English.
_FIGURES = {
    "client_cpu": "クライアントの CPU",
    "client_runq": "クライアントの CPU 待ち",
    "null_peer": "何も保存しない相手との比",
    "server_cpu": "{server} の CPU",
    "server_runq": "{server} の CPU 待ち",
    "server_disk": "サーバーのファイル待ち",
    "waiting": "双方とも待機",
}
_OF_THE_PATH = {
    "round_trips": "往復時間",
    "path_busy": "経路の使用",
    "queue": "経路の待ち行列",
}


class Words:
    """w["key"], w.say("key", name=value)."""

    def __init__(self, language: str, names: Mapping[str, str] = AFP_WORDS) -> None:
        """`names`: what the run's kind of server calls its things (Run.words)."""
        self.language = language
        self._at = LANGUAGES.index(language)
        self.names = NO_WORDS | {**names}

    def _named(self, text: str) -> str:
        for key, word in self.names.items():
            text = text.replace(f"{{{key}}}", word)
        return text

    def __getitem__(self, key: str) -> str:
        return self._named(_WORDS[key][self._at])

    def titled(self, section: Section) -> str:
        """Its title, in the language of the page if that is one of ours."""
        known = section.title == _WORDS.get(section.key, ("",))[0]
        return self[section.key] if known else section.title

    def say(self, key: str, **values: object) -> str:
        return self[key].format(**values)

    def verdict(self, t: Transfer) -> str:
        """What held a transfer up, and the figures that say so."""
        known = _WORDS.get(f"v_{t.verdict_kind}")
        if not known:
            return t.verdict
        figures = t.verdict if self.language == "en" else self._named(_figures(t))
        return f"{known[self._at]}: {figures}" if figures else known[self._at]


ENGLISH = Words("en")


def _figures(t: Transfer) -> str:
    shown = _FIGURES | (_OF_THE_PATH if t.verdict_kind in ("network", "latency") else {})
    shares = [(t.verdict_figures.get(key) or 0, text) for key, text in shown.items()]
    return "、".join(f"{text} {share:.0%}" for share, text in shares if share >= 0.05)
