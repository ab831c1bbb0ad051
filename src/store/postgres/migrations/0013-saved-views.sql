-- older builds may run: yes
--
-- Filters of console pages that a project shares (P-19). Older builds neither read nor write them.

create table hf.saved_view (
  saved_at  bigint not null,
  project   text collate "C" not null,
  id        text collate "C" not null,
  name      text not null,
  page      text not null,
  query     text not null,
  saved_by  text,
  primary key (project, id)
);
