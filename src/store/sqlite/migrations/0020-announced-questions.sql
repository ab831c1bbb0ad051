-- older builds may run: yes
--
-- An await announces its first 100 questions (CH-12). It can have thousands, and each was a row for each channel, written
-- in one transaction while all other writes waited.

drop trigger announce_question;

create trigger announce_question after insert on interaction
  when new.status = 0 and new.item < 100
begin
  insert into delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-opened_' || new.id, 'question-opened', coalesce((select u.opened_at from await_unit as u where u.execution_id = new.execution_id and u.call = new.call), 0),
         json_object('interaction', new.id, 'execution', new.execution_id, 'name', new.name, 'assignee', new.assignee),
         coalesce((select u.opened_at from await_unit as u where u.execution_id = new.execution_id and u.call = new.call), 0)
    from channel as c
   where c.project = new.project
     and instr(c.events, ' question-opened ') > 0
      on conflict do nothing;
end;

drop trigger announce_expiry;

create trigger announce_expiry after update of status on await_unit
  when old.status = 0 and new.status in (10, 11) and new.due_at is not null and new.due_at <= new.settled_at
begin
  insert into delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-expired_' || i.id, 'question-expired', new.settled_at,
         json_object('interaction', i.id, 'execution', i.execution_id, 'name', new.name, 'assignee', i.assignee),
         new.settled_at
    from channel as c
  join interaction as i on i.execution_id = new.execution_id and i.call = new.call and i.status = 0 and i.item < 100
   where c.project = new.project
     and instr(c.events, ' question-expired ') > 0
      on conflict do nothing;
end;

drop trigger announce_reminder;

create trigger announce_reminder after update of about on await_unit
  when new.status = 0 and json_array_length(new.about, '$.reminders') < json_array_length(old.about, '$.reminders')
begin
  insert into delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-reminded_' || i.id || '_' || json_array_length(new.about, '$.reminders'), 'question-reminded', coalesce(old.next_at, new.opened_at),
         json_object('interaction', i.id, 'execution', i.execution_id, 'name', new.name, 'assignee', i.assignee, 'dueAt', new.due_at),
         coalesce(old.next_at, new.opened_at)
    from channel as c
  join interaction as i on i.execution_id = new.execution_id and i.call = new.call and i.status = 0 and i.item < 100
   where c.project = new.project
     and instr(c.events, ' question-reminded ') > 0
      on conflict do nothing;
end;
