-- older builds may run: yes
--
-- What the quotas of projects are counted by (P-14). Builds before this one say neither how large a value is nor whose
-- an attachment is: those do not count. "POSIX" keeps the index from statements that look a value up by its digest.

-- No column of it is written by a heartbeat, and only statements that name a project fit its condition.
create index session_project on hf.session ((metadata ->> 'holdfast.project'))
  where ended_at is null and metadata ->> 'holdfast.project' is not null;

alter table hf.blob_of add column bytes bigint;

update hf.blob_of o
   set bytes = (select octet_length(b.bytes) from hf.blob b where b.digest = o.digest);

create index blob_of_project on hf.blob_of (project collate "POSIX", bytes);

alter table hf.attachment add column project text collate "C";

update hf.attachment a
   set project = (select e.project from hf.execution e where e.id = a.execution_id);

create index attachment_project on hf.attachment (project, size) where project is not null;
