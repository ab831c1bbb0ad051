-- older builds may run: yes
--
-- Releases. What is pinned to one has it in `pipeline`, behind U+001F: so a claim by pipeline finds only what is
-- pinned to none, as builds before this one ask, and one by pipeline and release only that, at no cost (ADR 0030).
-- `contract`, `preflight`, `was`, `became` and `pipelines` are JSON that no statement looks into.

create table hf.release (
  created_at        bigint not null,
  retired_at        bigint,
  project           text collate "C" not null,
  pipeline          text collate "C" not null,
  name              text collate "C" not null,
  artifact          text not null,
  digest            text not null,
  contract_version  text not null,
  contract          text not null,
  created_by        text not null,
  preflight         text,
  primary key (project, pipeline, name)
);

create index release_list on hf.release (project, created_at, pipeline, name);
create index release_name on hf.release (name);

-- Where new executions go: one row for each pipeline that ever had an act. Submits share it, acts have it alone.
create table hf.release_line (
  version    integer not null,
  percent    smallint,
  project    text collate "C" not null,
  pipeline   text collate "C" not null,
  active     text,
  previous   text,
  candidate  text,
  primary key (project, pipeline)
);

-- The log of a line. Append-only: nothing updates or deletes here.
create table hf.activation (
  at        bigint not null,
  version   integer not null,
  forced    boolean not null,
  project   text collate "C" not null,
  pipeline  text collate "C" not null,
  act       text not null,
  name      text not null,
  actor     text not null,
  reason    text not null,
  was       text not null,
  became    text not null,
  primary key (project, pipeline, version)
);

-- What workers say of themselves, and what they may claim of what is pinned. Gone when their session is forgotten.
create table hf.worker (
  session_id    uuid primary key,
  announced_at  bigint not null,
  proved_at     bigint not null,
  every_ms      integer not null,
  room          integer not null,
  state         text not null,
  project       text collate "C",
  release       text,
  pipelines     text not null
);

create table hf.worker_route (
  session_id  uuid not null,
  project     text collate "C" not null,
  route       text collate "C" not null,
  primary key (session_id, project, route)
);

-- Open and pinned, to be counted. What is pinned to none is never in it.
create index execution_pinned on hf.execution (project collate "POSIX", pipeline collate "POSIX")
  where status < 10 and strpos(pipeline, E'\x1f') > 0;

alter table hf.dead_letter add column release text;

-- A build before this one that ends what is pinned takes the name from its row, and the release with it.
create function hf.split_route() returns trigger language plpgsql as $$
begin
  new.release := split_part(new.pipeline, E'\x1f', 2);
  new.pipeline := split_part(new.pipeline, E'\x1f', 1);
  return new;
end $$;

create trigger dead_letter_route before insert on hf.dead_letter
  for each row when (strpos(new.pipeline, E'\x1f') > 0) execute function hf.split_route();
