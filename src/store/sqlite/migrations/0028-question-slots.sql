-- older builds may run: yes
--
-- Questions with a concurrency key (W-17). Status 2: it waits for a slot. `since`: when it was queued, then when it got
-- its slot. An open question with a key takes a slot, so the slots are counted. `question_limit` has the limit of
-- each key in use; a transaction locks its row before it counts. Builds before this one give no slot on: the check
-- `question-slot-not-given` does (Z-16).

create table question_limit (
  project text    not null,
  key     text    not null,
  slots   integer not null,
  primary key (project, key)
) strict, without rowid;

alter table interaction add column since integer;
alter table interaction add column concurrency_key text;

create index interaction_queue on interaction (concurrency_key, project, since, execution_id, item, id) where status = 2;
create index interaction_slots on interaction (concurrency_key, project) where status = 0 and concurrency_key is not null;
create index interaction_queued on interaction (project, id) where status = 2;

-- A queued question is announced when it gets its slot: only then is anybody asked.
create trigger announce_admitted after update of status on interaction
  when old.status = 2 and new.status = 0 and new.item < 100
begin
  insert into delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-opened_' || new.id, 'question-opened', new.since,
         json_object('interaction', new.id, 'execution', new.execution_id, 'name', new.name, 'assignee', new.assignee, 'correlation', new.correlation),
         new.since
    from channel as c
   where c.project = new.project
     and instr(c.events, ' question-opened ') > 0
      on conflict do nothing;
end;
