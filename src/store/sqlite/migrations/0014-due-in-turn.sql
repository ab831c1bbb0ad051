-- older builds may run: yes
--
-- If more is due than one round handles, the projects take turns (X-96).

create index schedule_turn on schedule (project, next_at) where next_at is not null;

create index await_unit_turn on await_unit (project, next_at) where next_at is not null;

create index execution_deadline_turn on execution (project, deadline_at)
  where deadline_at is not null and (status = 0 or status = 2);
