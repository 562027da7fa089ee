-- What makes the slowest percent of requests slow: means of a request in microseconds, the
-- slowest against all others.
with ranked as (
    select *, percent_rank() over (partition by run order by time_ns) >= 0.99 as slow from requests
)
select run, slow, count(*) as requests, round(avg(time_ns) / 1000, 1) as time_us,
    round(avg(own_ns + calls_ns) / 1000, 1) as cpu_us, round(avg(runq_ns) / 1000, 1) as runq_us,
    round(avg(disk_ns) / 1000, 1) as disk_us, round(avg(cnid_ns) / 1000, 1) as cnid_us,
    round(avg(log_ns) / 1000, 1) as log_us, round(avg(net_ns) / 1000, 1) as net_us
from ranked
group by run, slow
order by run, slow
