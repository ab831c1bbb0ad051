-- older builds may run: yes
--
-- What the quotas of projects are counted by (P-14). Builds before this one say neither how large a value is nor whose
-- an attachment is: those do not count.

create index execution_open on execution (project) where ended_at is null;

-- Neither this nor any other column of it is written by a heartbeat.
create index session_project on session (metadata ->> '$."holdfast.project"') where ended_at is null;

alter table blob_of add column bytes integer;

update blob_of
   set bytes = (select length(blob.bytes) from blob where blob.digest = blob_of.digest);

create index blob_of_project on blob_of (project, bytes);

alter table attachment add column project text;

update attachment
   set project = (select execution.project from execution where execution.id = attachment.execution_id);

create index attachment_project on attachment (project, size) where project is not null;
