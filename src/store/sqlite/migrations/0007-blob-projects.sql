-- older builds may run: yes
--
-- Whose a value is that is kept apart: one blob for each digest, a row here for each project that has put it
-- (ADR 0032). The project '' stands for one that is not known: builds before this one put values without saying
-- for whom, and may go on doing so.

-- `at` is when it was put for the project first; for '' when it was last.
create table blob_of (
  digest  text    not null,
  project text    not null,
  at      integer not null,
  primary key (digest, project)
) strict, without rowid;

-- Who put it first; null: a build that does not say.
alter table blob add column project text;

-- Before, so that it is noted of what is there already, too: it may be of another project.
create trigger blob_of_before before insert on blob when new.project is null
begin
  insert into blob_of (digest, project, at) values (new.digest, '', new.at)
  on conflict (digest, project) do update set at = excluded.at;
end;

insert into blob_of (digest, project, at)
select digest, '', at
  from blob;
