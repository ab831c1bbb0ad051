-- older builds may run: yes
--
-- Figures for operators (X-91, X-92). Builds before this one end executions as this one does, and roll nothing up.

-- By end: for lists, and for rollups. Written once, when an execution ends.
create index execution_ended on execution (project, ended_at, id) where ended_at is not null;

create index dead_letter_open on dead_letter (project, execution_id) where redriven_by is null;

-- How many executions ended in an interval, by pipeline (with its release), status and duration. A bucket is a quarter
-- of a doubling of milliseconds. Only the duty of one worker writes here.
create table rollup (
  project  text    not null,
  step_ms  integer not null,
  at       integer not null,
  pipeline text    not null,
  status   integer not null,
  bucket   integer not null,
  count    integer not null,
  primary key (project, step_ms, at, pipeline, status, bucket)
) strict, without rowid;

-- One row: executions that ended until then are in the rollups.
create table rollup_position (
  id    integer primary key,
  until integer not null
) strict;
