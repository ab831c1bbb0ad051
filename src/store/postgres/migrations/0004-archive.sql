-- older builds may run: yes
--
-- The index of what was archived. `tags` is JSON; `place` says where its documents are.

create table hf.archived (
  id            uuid primary key,
  submitted_at  bigint not null,
  ended_at      bigint not null,
  archived_at   bigint not null,
  parent_id     uuid,
  redrive_of    uuid,
  status        smallint not null,
  project       text collate "C" not null,
  pipeline      text collate "C" not null,
  key           text,
  tags          text not null,
  place         text not null,
  digest        text not null
);

create index archived_list on hf.archived (project, ended_at, id);
create index archived_pipeline on hf.archived (project, pipeline, ended_at, id);
create index archived_status on hf.archived (project, status, ended_at, id);

-- What it is found by: tags (kind 0) and words of its key (kind 1).
create table hf.archived_label (
  execution_id  uuid not null,
  ended_at      bigint not null,
  kind          smallint not null,
  project       text collate "C" not null,
  value         text collate "C" not null,
  primary key (project, kind, value, ended_at, execution_id)
);
