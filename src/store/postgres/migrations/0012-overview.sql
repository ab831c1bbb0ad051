-- older builds may run: yes
--
-- Figures for operators (X-91, X-92). Builds before this one end executions as this one does, and roll nothing up.

-- By end: for lists, and for rollups. Written once, when an execution ends.
create index execution_ended on hf.execution (project, ended_at, id) where ended_at is not null;

-- How many executions ended in an interval, by pipeline (with its release), status and duration. A bucket is a quarter
-- of a doubling of milliseconds. Only the duty of one worker writes here.
create table hf.rollup (
  at        bigint not null,
  count     bigint not null,
  step_ms   integer not null,
  status    smallint not null,
  bucket    smallint not null,
  project   text collate "C" not null,
  pipeline  text collate "C" not null,
  primary key (project, step_ms, at, pipeline, status, bucket)
);

-- One row: executions that ended until then are in the rollups.
create table hf.rollup_position (
  id     smallint primary key,
  until  bigint not null
);
