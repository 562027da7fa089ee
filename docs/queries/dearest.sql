-- For each run, the AFP commands that took most time inside the server, and where it went.
select run, name, cast(sum(requests) as bigint) as requests,
    round(sum(time_ns) / 1e6, 1) as ms,
    round(100.0 * sum(time_ns) / sum(sum(time_ns)) over (partition by run), 1) as percent,
    round(100.0 * sum(cnid_ns) / sum(time_ns), 1) as percent_cnid,
    round(100.0 * sum(disk_ns) / sum(time_ns), 1) as percent_disk,
    round(100.0 * sum(log_ns) / sum(time_ns), 1) as percent_log
from accounts
where requests > 0 and time_ns > 0
group by run, name
order by run, ms desc, name
