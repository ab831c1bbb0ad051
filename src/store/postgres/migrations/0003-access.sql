-- older builds may run: yes
--
-- Projects and access keys. `settings` and `roles` are JSON that no statement looks into.

create table hf.project (
  created_at  bigint not null,
  name        text collate "C" primary key,
  settings    text not null
);

-- `project` is null for a key of all projects. Of the secret there is a digest only (P-3). Only `ended_at`
-- ever changes.
create table hf.access_key (
  created_at  bigint not null,
  expires_at  bigint,
  ended_at    bigint,
  id          text collate "C" primary key,
  project     text collate "C",
  name        text not null,
  roles       text not null,
  digest      text not null,
  created_by  text
);

create index access_key_list on hf.access_key (created_at, id);
create index access_key_project on hf.access_key (project, created_at, id) where project is not null;
