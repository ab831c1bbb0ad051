-- Older builds may not run. Executions, their history, what they are told, their limits and labels.

-- Codes of status, lane, hold, previous and saga are those of src/store/execution-rows.ts. What every step
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
  early        integer not null default 0, -- answers came before anything was asked: its end looks for them
  claimed_at   integer,
  claimed_seq  integer not null,
  previous     integer not null,
  saga         integer not null,
  fruitless    integer not null,
  wake_after   integer not null,
  submitted_at integer not null,
  deadline_at  integer,
  ended_at     integer,
  project      text    not null,
  pipeline     text    not null,
  parent_id    text,
  parent_call  text,
  redrive_of   text,
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
-- Who has a place, so that they can be counted (Z-14). What has no concurrency key is never in it.
create index execution_placed on execution (project, place_key) where has_place = 1;
create index execution_deadline on execution (deadline_at, id)
  where deadline_at is not null and ended_at is null;
create unique index execution_key on execution (project, key) where key is not null;
create index execution_parent on execution (parent_id, id) where parent_id is not null;
-- Y-21: at most one that is open.
create unique index execution_redrive on execution (redrive_of)
  where redrive_of is not null and ended_at is null;
-- Lists, newest first. These two are written once, at submit.
create index execution_list on execution (project, id);
create index execution_pipeline on execution (project, pipeline, id);
-- Statuses that are rare or last long. Queued, running and completed, which every execution passes
-- through, are found by the others.
create index execution_status on execution (project, status, id) where status = 2 or status > 10;
-- What is held, by why.
create index execution_held on execution (project, hold, id) where hold <> 0;

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

-- Codes of units and interactions are those of src/store/await-rows.ts. Rows of units are few and change
-- seldom: `about` has all that nobody filters by.
create table await_unit (
  execution_id text    not null,
  call         text    not null,
  project      text    not null,
  pipeline     text    not null,
  name         text    not null,
  status       integer not null,
  items        integer not null,
  needed       integer not null,
  answered     integer not null,
  opened_at    integer not null,
  settled_at   integer,
  due_at       integer,
  next_at      integer,
  about        text    not null,
  primary key (execution_id, call)
) strict;

create index await_unit_next on await_unit (next_at, execution_id, call) where next_at is not null;

-- `name` is that of the unit, and null while there is none. What is settled costs those who list what is open
-- nothing.
create table interaction (
  id           text    not null primary key,
  execution_id text    not null,
  call         text    not null,
  item         integer not null,
  project      text    not null,
  status       integer not null,
  request      text,
  assignee     text,
  answer       text,
  digest       text,
  answered_by  text,
  answered_at  integer,
  verified     integer not null,
  late         integer not null,
  name         text
) strict;

create index interaction_execution on interaction (execution_id, call, item);
create index interaction_list on interaction (project, id);
create index interaction_open on interaction (project, id) where status = 0;
create index interaction_assignee on interaction (project, assignee, id)
  where status = 0 and assignee is not null;
create index interaction_name on interaction (project, name, id) where status = 0;

-- Counted from 1 within the interaction, as far as they are kept.
create table late_answer (
  interaction_id text    not null,
  n              integer not null,
  answer         text    not null,
  digest         text    not null,
  answered_by    text,
  answered_at    integer not null,
  primary key (interaction_id, n)
) strict, without rowid;

-- Y-10: written once; only `redriven_by` changes.
create table dead_letter (
  execution_id text    not null primary key,
  project      text    not null,
  pipeline     text    not null,
  status       integer not null,
  category     text    not null,
  code         text    not null,
  reason       text    not null,
  step         text,
  attempts     integer not null,
  at           integer not null,
  redriven_by  text
) strict;

create index dead_letter_list on dead_letter (project, execution_id);
create index dead_letter_pipeline on dead_letter (project, pipeline, execution_id);
create index dead_letter_code on dead_letter (project, code, execution_id);

-- Y-23: what became of each item of a bulk job. `answer` is the first one, which is given again.
create table job_item (
  job_id  text    not null,
  target  text    not null,
  outcome text    not null,
  made    text,
  at      integer not null,
  answer  text    not null,
  primary key (job_id, target)
) strict, without rowid;

-- J-1: what people did. Rows are only inserted. `was` and `became` are what it changed, as JSON.
create table audit (
  id          text    not null primary key,
  at          integer not null,
  project     text    not null,
  actor       text    not null,
  act         text    not null,
  target_kind text    not null,
  target_id   text    not null,
  reason      text    not null,
  was         text,
  became      text
) strict;

create index audit_list on audit (project, id);
create index audit_target on audit (project, target_kind, target_id, id);
create index audit_actor on audit (project, actor, id);
create index audit_act on audit (project, act, id);

-- J-11: writes of owners that were refused, counted; `why` and what follows are of the last.
create table refused_write (
  execution_id text    not null,
  fence        integer not null,
  verb         text    not null,
  project      text    not null,
  why          text    not null,
  newest       integer,
  session_id   text    not null,
  owner        text    not null,
  count        integer not null,
  first_at     integer not null,
  last_at      integer not null,
  primary key (execution_id, fence, verb)
) strict, without rowid;

create index refused_write_last on refused_write (project, last_at, execution_id, fence, verb);
