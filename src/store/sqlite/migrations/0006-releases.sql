-- older builds may run: yes
--
-- Releases. What is pinned to one has it in `pipeline`, behind U+001F: so a claim by pipeline finds only what is
-- pinned to none, as builds before this one ask, and one by pipeline and release only that, at no cost (ADR 0030).
-- `contract`, `preflight`, `was`, `became` and `pipelines` are JSON that no statement looks into.

create table release (
  project          text    not null,
  pipeline         text    not null,
  name             text    not null,
  artifact         text    not null,
  digest           text    not null,
  contract_version text    not null,
  contract         text    not null,
  created_at       integer not null,
  created_by       text    not null,
  preflight        text,
  retired_at       integer,
  primary key (project, pipeline, name)
) strict, without rowid;

create index release_list on release (project, created_at, pipeline, name);
create index release_name on release (name);

-- Where new executions go: one row for each pipeline that ever had an act.
create table release_line (
  project   text    not null,
  pipeline  text    not null,
  version   integer not null,
  active    text,
  previous  text,
  candidate text,
  percent   integer,
  primary key (project, pipeline)
) strict, without rowid;

-- The log of a line. Append-only: nothing updates or deletes here.
create table activation (
  project  text    not null,
  pipeline text    not null,
  version  integer not null,
  at       integer not null,
  act      text    not null,
  name     text    not null,
  actor    text    not null,
  reason   text    not null,
  forced   integer not null,
  was      text    not null,
  became   text    not null,
  primary key (project, pipeline, version)
) strict, without rowid;

-- What workers say of themselves, and what they may claim of what is pinned. Gone when their session is forgotten.
create table worker (
  session_id   text    not null primary key,
  announced_at integer not null,
  proved_at    integer not null,
  every_ms     integer not null,
  room         integer not null,
  state        text    not null,
  project      text,
  release      text,
  pipelines    text    not null
) strict, without rowid;

create table worker_route (
  session_id text not null,
  project    text not null,
  route      text not null,
  primary key (session_id, project, route)
) strict, without rowid;

-- Open and pinned, to be counted. What is pinned to none is never in it.
create index execution_pinned on execution (project, pipeline)
  where ended_at is null and instr(pipeline, char(31)) > 0;

alter table dead_letter add column release text;

-- A build before this one that ends what is pinned takes the name from its row, and the release with it.
create trigger dead_letter_route after insert on dead_letter
  when instr(new.pipeline, char(31)) > 0
begin
  update dead_letter
     set pipeline = substr(new.pipeline, 1, instr(new.pipeline, char(31)) - 1),
         release = substr(new.pipeline, instr(new.pipeline, char(31)) + 1)
   where execution_id = new.execution_id;
end;
