-- older builds may run: yes
--
-- An await announces its first 100 questions (CH-12). It can have thousands, and each was a row for each channel, written
-- in one transaction while all other writes waited.

drop trigger announce_question on hf.interaction;

create trigger announce_question after insert on hf.interaction
  for each row when (new.status = 0 and new.item < 100) execute function hf.announce_question();

create or replace function hf.announce_expiry() returns trigger language plpgsql as $$
begin
  insert into hf.delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-expired_' || i.id, 'question-expired', new.settled_at,
         json_build_object('interaction', i.id, 'execution', i.execution_id, 'name', new.name, 'assignee', i.assignee)::text,
         new.settled_at
    from hf.channel as c
  join hf.interaction as i on i.execution_id = new.execution_id and i.call = new.call and i.status = 0 and i.item < 100
   where c.project = new.project
     and strpos(c.events, ' question-expired ') > 0
      on conflict do nothing;
  return null;
end $$;

create or replace function hf.announce_reminder() returns trigger language plpgsql as $$
begin
  insert into hf.delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-reminded_' || i.id || '_' || json_array_length(new.about::json -> 'reminders'), 'question-reminded', coalesce(old.next_at, new.opened_at),
         json_build_object('interaction', i.id, 'execution', i.execution_id, 'name', new.name, 'assignee', i.assignee, 'dueAt', new.due_at)::text,
         coalesce(old.next_at, new.opened_at)
    from hf.channel as c
  join hf.interaction as i on i.execution_id = new.execution_id and i.call = new.call and i.status = 0 and i.item < 100
   where c.project = new.project
     and strpos(c.events, ' question-reminded ') > 0
      on conflict do nothing;
  return null;
end $$;
