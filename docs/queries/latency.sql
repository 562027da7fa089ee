-- For each run, how long requests took: median, the slowest of 100, the slowest; in microseconds.
select run, command, count(*) as requests,
    round(percentile_cont(0.5) within group (order by time_ns) / 1000, 1) as p50_us,
    round(percentile_cont(0.99) within group (order by time_ns) / 1000, 1) as p99_us,
    round(max(time_ns) / 1000, 1) as max_us
from requests
group by run, command
order by run, requests desc, command
