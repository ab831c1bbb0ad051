-- older builds may run: yes
--
-- The index of what was archived. `tags` is JSON; `place` says where its documents are.

create table archived (
  id           text    not null primary key,
  project      text    not null,
  pipeline     text    not null,
  status       integer not null,
  submitted_at integer not null,
  ended_at     integer not null,
  archived_at  integer not null,
  key          text,
  tags         text    not null,
  parent_id    text,
  redrive_of   text,
  place        text    not null,
  digest       text    not null
) strict;

create index archived_list on archived (project, ended_at, id);
create index archived_pipeline on archived (project, pipeline, ended_at, id);
create index archived_status on archived (project, status, ended_at, id);

-- What it is found by: tags (kind 0) and words of its key (kind 1).
create table archived_label (
  project      text    not null,
  kind         integer not null,
  value        text    not null,
  ended_at     integer not null,
  execution_id text    not null,
  primary key (project, kind, value, ended_at, execution_id)
) strict, without rowid;
