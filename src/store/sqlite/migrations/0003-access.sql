-- Older builds may not run. Projects and access keys. `settings` and `roles` are JSON that no statement looks into.

create table project (
  name       text    not null primary key,
  created_at integer not null,
  settings   text    not null
) strict;

-- `project` is null for a key of all projects. Of the secret there is a digest only (P-3). Only `ended_at`
-- ever changes.
create table access_key (
  id         text    not null primary key,
  project    text,
  roles      text    not null,
  name       text    not null,
  digest     text    not null,
  created_at integer not null,
  created_by text,
  expires_at integer,
  ended_at   integer
) strict;

create index access_key_list on access_key (created_at, id);
create index access_key_project on access_key (project, created_at, id) where project is not null;
