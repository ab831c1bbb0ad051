-- older builds may run: yes
--
-- The longest duration of a bucket, so that no percentile is above it (X-92). Null if an older build counted it.
-- After an upgrade an older build may count one more and leave a smaller value: then a percentile is up to 19 % too low.

alter table rollup add column max_ms integer;
