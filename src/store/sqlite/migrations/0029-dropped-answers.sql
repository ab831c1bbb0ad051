-- older builds may run: yes
--
-- A question is also announced if its row is older: an early answer without a link made it, and the signed question does
-- not use that (W-7).

create trigger announce_unanswered after update of status on interaction
  when old.status = 1 and new.status = 0 and new.item < 100
begin
  insert into delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-opened_' || new.id, 'question-opened', coalesce((select u.opened_at from await_unit as u where u.execution_id = new.execution_id and u.call = new.call), 0),
         json_object('interaction', new.id, 'execution', new.execution_id, 'name', new.name, 'assignee', new.assignee, 'correlation', new.correlation),
         coalesce((select u.opened_at from await_unit as u where u.execution_id = new.execution_id and u.call = new.call), 0)
    from channel as c
   where c.project = new.project
     and instr(c.events, ' question-opened ') > 0
      on conflict do nothing;
end;
