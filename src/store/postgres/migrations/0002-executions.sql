-- older builds may run: yes
--
-- Executions. Codes of status, lane, hold, previous and saga are those of src/store/execution-rows.ts.
-- Every update of an execution is written to all indexes whose condition it fits, so there are few,
-- and nearly all are partial.

create table hf.execution (
  id            uuid primary key,
  ready_at      bigint,
  fence         bigint,
  claimed_at    bigint,
  submitted_at  bigint not null,
  deadline_at   bigint,
  ended_at      bigint,
  session_id    uuid,
  parent_id     uuid,
  redrive_of    uuid,
  claimed_seq   integer not null default 0,
  fruitless     integer not null default 0,
  seq           integer not null,
  news          integer not null default 0,
  wake_after    integer not null default 0,
  status        smallint not null,
  lane          smallint not null,
  hold          smallint not null default 0,
  previous      smallint not null default 0,
  saga          smallint not null default 0,
  gated         boolean not null default false,
  has_place     boolean not null default false,
  -- Answers came before anything was asked: its end looks for them.
  early         boolean not null default false,
  project       text collate "C" not null,
  pipeline      text collate "C" not null,
  input         text not null,
  about         text,
  key           text collate "C",
  intent        text,
  parent_call   text,
  place_key     text collate "C",
  rate_key      text collate "C",
  progress      text
) with (fillfactor = 70);

-- What a claim walks. Nothing that is held back, gated or over is in it.
create index execution_ready on hf.execution (pipeline, lane, project, ready_at, id)
  where ready_at is not null and hold = 0 and not gated;
create index execution_gated on hf.execution (pipeline, lane, project, ready_at, id)
  where ready_at is not null and hold = 0 and gated;
-- Few distinct keys: what one session carries lies together, and what a dead one left is found at once.
create index execution_running on hf.execution (session_id, pipeline, lane, project) where status = 1;
-- Who waits for a place and for nothing else.
create index execution_behind on hf.execution (project, place_key, lane, ready_at, id) where hold = 4;
-- Who has not passed the gate of its concurrency key yet, delayed or not: that key is in use.
create index execution_asking on hf.execution (project, place_key) where gated and place_key is not null;
-- Who has a place, so that they can be counted (Z-14). What has no concurrency key is never in it.
create index execution_placed on hf.execution (project, place_key) where has_place;
create index execution_deadline on hf.execution (deadline_at)
  where deadline_at is not null and (status = 0 or status = 2);
create unique index execution_key on hf.execution (project, key) where key is not null;
create index execution_parent on hf.execution (parent_id, id) where parent_id is not null;
-- Y-21: at most one open re-drive of an execution.
create unique index execution_redrive on hf.execution (redrive_of)
  where redrive_of is not null and status < 10;
-- One index for every list but those by label: pipelines and statuses are few and are gone through. What
-- runs is left out: it is bounded by what workers can carry, and every claim would pay for it.
-- "POSIX" orders as "C" does, but is another collation: no statement but those of lists fits this index,
-- which a planner without statistics would prefer for a claim.
create index execution_list on hf.execution (project collate "POSIX", pipeline collate "POSIX", status, id)
  where status <> 1;
-- What is held, by why.
create index execution_held on hf.execution (project collate "POSIX", hold, id) where hold <> 0;

create table hf.history (
  execution_id  uuid not null,
  at            bigint not null,
  fence         bigint,
  seq           integer not null,
  kind          text not null,
  name          text,
  body          text,
  primary key (execution_id, seq)
);

create table hf.inbox (
  execution_id  uuid not null,
  at            bigint not null,
  n             integer not null,
  kind          text not null,
  name          text,
  body          text,
  primary key (execution_id, n)
);

-- What people asked for: a few among any number of signals.
create index inbox_asked on hf.inbox (execution_id, n) where kind in ('cancel', 'pause', 'resume');

-- A concurrency key. `taken` counts executions that have a place.
create table hf.place (
  project  text collate "C" not null,
  key      text collate "C" not null,
  slots    integer not null,
  taken    integer not null default 0,
  primary key (project, key)
) with (fillfactor = 50);

-- A rate key: the last turn given out, and how much of the burst is left after it. `per_ms` is the longest
-- time it was used with.
create table hf.rate (
  last_at     bigint not null,
  per_ms      bigint not null default 0,
  burst_left  integer not null,
  project     text collate "C" not null,
  key         text collate "C" not null,
  primary key (project, key)
) with (fillfactor = 50);

-- Tags (kind 0), and attributes: text (1), number (2), boolean (3).
create table hf.label (
  execution_id  uuid not null,
  number        double precision,
  kind          smallint not null,
  project       text collate "C" not null,
  name          text collate "C" not null,
  value         text collate "C"
);
create index label_value on hf.label (project, kind, name, value, execution_id) where value is not null;
create index label_number on hf.label (project, name, number, execution_id) where number is not null;

create table hf.attachment (
  execution_id  uuid not null,
  at            bigint not null,
  name          text not null,
  type          text not null,
  -- Of the content; bytes may have gone through a codec.
  size          integer not null,
  sealed_by     text,
  bytes         bytea not null,
  primary key (execution_id, name)
);

create table hf.blob (
  digest  text primary key,
  at      bigint not null,
  bytes   bytea not null
);

-- Parents that have ended and may have open children; `after_id` is the last child looked at.
create table hf.errand (
  parent_id  uuid primary key,
  after_id   uuid
);

-- A version never changes: rows are only inserted. `digest` is of the content before any codec; `about` is
-- what only people and the engine read, as JSON.
create table hf.template (
  at        bigint not null,
  version   integer not null,
  project   text collate "C" not null,
  id        text collate "C" not null,
  pipeline  text not null,
  digest    text not null,
  defaults  text not null,
  about     text,
  primary key (project, id, version)
);

-- `next_at` is null while paused. `last_key` is the key of what the last fire submitted, by which its
-- continuations are found too.
create table hf.schedule (
  at              bigint not null,
  next_at         bigint,
  fired_at        bigint,
  last_execution  uuid,
  paused          boolean not null default false,
  project         text collate "C" not null,
  id              text collate "C" not null,
  last_key        text,
  digest          text not null,
  plan            text not null,
  put_by          text,
  primary key (project, id)
);

create index schedule_next on hf.schedule (next_at) where next_at is not null;

-- Awaits. Codes of status are those of src/store/await-rows.ts; `about` is what only people and the engine
-- read, as JSON. Whoever writes a unit or an interaction has the row of its execution locked.
create table hf.await_unit (
  execution_id  uuid not null,
  opened_at     bigint not null,
  settled_at    bigint,
  due_at        bigint,
  next_at       bigint,
  items         integer not null,
  needed        integer not null,
  answered      integer not null,
  status        smallint not null,
  project       text collate "C" not null,
  pipeline      text collate "C" not null,
  call          text collate "C" not null,
  name          text collate "C" not null,
  about         text not null,
  primary key (execution_id, call)
);

create index await_unit_next on hf.await_unit (next_at) where next_at is not null;

-- `name` is that of the unit, null while there is none: an answer may come before it.
create table hf.interaction (
  execution_id  uuid not null,
  answered_at   bigint,
  item          integer not null,
  late          integer not null,
  status        smallint not null,
  verified      boolean not null,
  id            text collate "C" primary key,
  project       text collate "C" not null,
  call          text collate "C" not null,
  name          text collate "C",
  request       text,
  assignee      text collate "C",
  answer        text,
  digest        text,
  answered_by   text
);

create index interaction_unit on hf.interaction (execution_id, call, item);
-- What is settled costs nobody anything who lists what is open. No two begin with the same: a collation keeps
-- the list of everything apart, as with executions.
create index interaction_list on hf.interaction (project collate "POSIX", id);
create index interaction_open on hf.interaction (project, id) where status = 0;
create index interaction_assignee on hf.interaction (assignee, project, id)
  where status = 0 and assignee is not null;
create index interaction_name on hf.interaction (name, project, id) where status = 0 and name is not null;

-- Answers that came too late, counted from 1 within the interaction, as far as they are kept.
create table hf.late_answer (
  answered_at     bigint not null,
  n               integer not null,
  interaction_id  text collate "C" not null,
  answer          text not null,
  digest          text not null,
  answered_by     text,
  primary key (interaction_id, n)
);

-- Written once; only `redriven_by` changes.
create table hf.dead_letter (
  execution_id  uuid primary key,
  at            bigint not null,
  redriven_by   uuid,
  attempts      integer not null,
  status        smallint not null,
  project       text collate "C" not null,
  pipeline      text collate "C" not null,
  category      text not null,
  code          text collate "C" not null,
  reason        text not null,
  step          text collate "C"
);

create index dead_letter_list on hf.dead_letter (project, execution_id);
create index dead_letter_pipeline on hf.dead_letter (pipeline, project, execution_id);
create index dead_letter_code on hf.dead_letter (code, project, execution_id);
create index dead_letter_open on hf.dead_letter (project collate "POSIX", execution_id)
  where redriven_by is null;

-- What became of each item of a bulk job. `answer` is the first one, as JSON, which is given again.
create table hf.job_item (
  job_id     uuid not null,
  target_id  uuid not null,
  made       uuid,
  at         bigint not null,
  outcome    text not null,
  answer     text not null,
  primary key (job_id, target_id)
);

-- What people did. Rows are only inserted. `was` and `became` are what it changed, as JSON. No two indices
-- begin with the same, as with interactions.
create table hf.audit (
  id           uuid primary key,
  at           bigint not null,
  project      text collate "C" not null,
  actor        text collate "C" not null,
  act          text collate "C" not null,
  target_kind  text collate "C" not null,
  target_id    text collate "C" not null,
  reason       text not null,
  was          text,
  became       text
);

create index audit_list on hf.audit (project, id);
create index audit_target on hf.audit (target_id, target_kind, project, id);
create index audit_actor on hf.audit (actor, project, id);
create index audit_act on hf.audit (act, project, id);

-- Writes of owners that were refused, counted; `why` and what follows are of the last.
create table hf.refused_write (
  execution_id  uuid not null,
  fence         bigint not null,
  newest        bigint,
  first_at      bigint not null,
  last_at       bigint not null,
  count         bigint not null,
  verb          text collate "C" not null,
  project       text collate "C" not null,
  why           text not null,
  session_id    text not null,
  owner         text not null,
  primary key (execution_id, fence, verb)
);

create index refused_write_last on hf.refused_write (project, last_at, execution_id, fence, verb);
