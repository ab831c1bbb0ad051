-- Older builds may not run. Executions, their history, what they are told, their limits and labels.

-- Codes of status, lane, hold and previous are those of src/store/execution-rows.ts. What every step
-- looks at comes first. The input has a table of its own, because every change writes the whole row, and
-- inputs are large and never change. Every index here is paid for at submit, claim or
-- finish, so there are few and most are partial; their conditions are such that an update can tell
-- cheaply whether it must touch them (`in (…)` is not). `row_id` is the id for our own use: history,
-- of which there is far more than of anything else, is found by it.
create table execution (
  row_id       integer primary key,
  id           text    not null unique,
  status       integer not null,
  fence        integer,
  session_id   text,
  news         integer not null,
  seq          integer not null,
  ready_at     integer,
  hold         integer not null,
  lane         integer not null,
  gated        integer not null,
  has_place    integer not null,
  claimed_at   integer,
  claimed_seq  integer not null,
  previous     integer not null,
  fruitless    integer not null,
  wake_after   integer not null,
  submitted_at integer not null,
  deadline_at  integer,
  ended_at     integer,
  project      text    not null,
  pipeline     text    not null,
  parent_id    text,
  parent_call  text,
  key          text,
  intent       text,
  place_key    text,
  rate_key     text,
  about        text,
  progress     text
) strict;

create table input (
  row_id integer primary key,
  input  text not null
) strict;

-- What a claim walks. What is held back, running or over is not in it.
create index execution_ready on execution (pipeline, lane, project, ready_at, id)
  where ready_at is not null and hold = 0;
-- What a session runs lies together, and what a dead one left is found at once. Narrow, because the
-- keys of one session are all alike and are compared column by column, at every claim and every end.
create index execution_running on execution (session_id) where status = 1;
-- Who waits for a place. 4 is the highest bit of hold.
create index execution_behind on execution (project, place_key, lane, ready_at, id) where hold >= 4;
-- Who has not passed the gate of its concurrency key yet, delayed or not: that key is in use.
create index execution_gated on execution (project, place_key) where gated = 1 and place_key is not null;
create index execution_deadline on execution (deadline_at, id)
  where deadline_at is not null and ended_at is null;
create unique index execution_key on execution (project, key) where key is not null;
create index execution_parent on execution (parent_id, id) where parent_id is not null;
-- Lists, newest first. These two are written once, at submit.
create index execution_list on execution (project, id);
create index execution_pipeline on execution (project, pipeline, id);
-- Statuses that are rare or last long. Queued, running and completed, which every execution passes
-- through, are found by the others.
create index execution_status on execution (project, status, id) where status = 2 or status > 10;

-- In the order in which it was written, with a small index by execution. Kept together by execution, every
-- flush would write again all that its executions have been through.
create table history (
  row_id integer not null,
  seq    integer not null,
  at     integer not null,
  fence  integer,
  kind   text    not null,
  name   text,
  body   text,
  primary key (row_id, seq)
) strict;

create table inbox (
  execution_id text    not null,
  n            integer not null,
  at           integer not null,
  kind         text    not null,
  name         text,
  body         text,
  primary key (execution_id, n)
) strict, without rowid;

-- What people asked for: a few among any number of signals.
create index inbox_asked on inbox (execution_id, n) where kind in ('cancel', 'pause', 'resume');

-- A concurrency key. `taken` counts the executions that have a place.
create table place (
  project text    not null,
  key     text    not null,
  slots   integer not null,
  taken   integer not null,
  primary key (project, key)
) strict, without rowid;

-- A rate key: the last turn given out, and how many of its burst are left (`RateState`). `per_ms` is the
-- longest time it was used with.
create table rate (
  project text    not null,
  key     text    not null,
  last_at integer not null,
  burst   integer not null,
  per_ms  integer not null,
  primary key (project, key)
) strict, without rowid;

-- Tags (kind 0) and attributes: text (1), number (2), boolean (3).
create table label (
  project      text    not null,
  kind         integer not null,
  name         text    not null,
  value        any     not null,
  execution_id text    not null,
  primary key (project, kind, name, value, execution_id)
) strict, without rowid;

create table attachment (
  execution_id text    not null,
  name         text    not null,
  type         text    not null,
  at           integer not null,
  -- Of the content; bytes may have gone through a codec.
  size         integer not null,
  sealed_by    text,
  bytes        blob    not null,
  primary key (execution_id, name)
) strict;

create table blob (
  digest text    not null primary key,
  at     integer not null,
  bytes  blob    not null
) strict;

-- Parents that ended and had children; `after_id` is the last child that was looked at.
create table errand (
  parent_id text not null primary key,
  after_id  text not null
) strict, without rowid;

-- A version never changes: rows are only inserted. `digest` is of the content before any codec; `about` is
-- what only people and the engine read, as JSON.
create table template (
  project  text    not null,
  id       text    not null,
  version  integer not null,
  at       integer not null,
  pipeline text    not null,
  digest   text    not null,
  defaults text    not null,
  about    text,
  primary key (project, id, version)
) strict;

-- `next_at` is null while paused. `last_key` is the key of what the last fire submitted, by which its
-- continuations are found too.
create table schedule (
  project        text    not null,
  id             text    not null,
  at             integer not null,
  paused         integer not null,
  next_at        integer,
  fired_at       integer,
  last_execution text,
  last_key       text,
  digest         text    not null,
  plan           text    not null,
  put_by         text,
  primary key (project, id)
) strict;

create index schedule_next on schedule (next_at) where next_at is not null;
