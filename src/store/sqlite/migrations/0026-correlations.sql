-- older builds may run: yes
--
-- A name that the code chooses for a question, by which other systems find it (W-14). It names one question of a project.

alter table interaction add column correlation text;

create unique index interaction_correlation on interaction (project, correlation) where correlation is not null;

drop trigger announce_question;

create trigger announce_question after insert on interaction
  when new.status = 0 and new.item < 100
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
