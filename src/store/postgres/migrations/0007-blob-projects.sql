-- older builds may run: yes
--
-- Whose a value is that is kept apart: one blob for each digest, a row here for each project that has put it
-- (ADR 0032). The project '' stands for one that is not known: builds before this one put values without saying
-- for whom, and may go on doing so.

-- `at` is when it was put for the project first; for '' when it was last.
create table hf.blob_of (
  at       bigint not null,
  digest   text not null,
  project  text collate "C" not null,
  primary key (digest, project)
);

-- Who put it first; null: a build that does not say.
alter table hf.blob add column project text collate "C";

create function hf.note_blob_of_before() returns trigger language plpgsql as '
begin
  insert into hf.blob_of (digest, project, at) values (new.digest, '''', new.at)
      on conflict (digest, project) do update set at = excluded.at;
  return new;
end';

-- Before, so that it is noted of what is there already, too: it may be of another project.
create trigger of_before before insert on hf.blob
  for each row when (new.project is null) execute function hf.note_blob_of_before();

insert into hf.blob_of (digest, project, at)
select b.digest, '', b.at
  from hf.blob b;
