-- older builds may run: yes
--
-- Filters of console pages that a project shares (P-19). Older builds neither read nor write them.

create table saved_view (
  project  text    not null,
  id       text    not null,
  name     text    not null,
  page     text    not null,
  query    text    not null,
  saved_at integer not null,
  saved_by text,
  primary key (project, id)
) strict, without rowid;
