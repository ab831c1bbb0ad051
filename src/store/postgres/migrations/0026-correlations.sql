-- older builds may run: yes
--
-- A name that the code chooses for a question, by which other systems find it (W-14). It names one question of a project.

alter table hf.interaction add column correlation text;

create unique index interaction_correlation on hf.interaction (project, correlation) where correlation is not null;

create or replace function hf.announce_question() returns trigger language plpgsql as $$
begin
  insert into hf.delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-opened_' || new.id, 'question-opened', coalesce((select u.opened_at from hf.await_unit as u where u.execution_id = new.execution_id and u.call = new.call), 0),
         json_build_object('interaction', new.id, 'execution', new.execution_id, 'name', new.name, 'assignee', new.assignee, 'correlation', new.correlation)::text,
         coalesce((select u.opened_at from hf.await_unit as u where u.execution_id = new.execution_id and u.call = new.call), 0)
    from hf.channel as c
   where c.project = new.project
     and strpos(c.events, ' question-opened ') > 0
      on conflict do nothing;
  return null;
end $$;
