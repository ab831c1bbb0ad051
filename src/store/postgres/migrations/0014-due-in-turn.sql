-- older builds may run: yes
--
-- If more is due than one round handles, the projects take turns (X-96). Every project is at least ''. Only the statement
-- that repeats this condition can use these indexes; see 0011.

create index schedule_turn on hf.schedule (project, next_at) where next_at is not null and project >= '';

create index await_unit_turn on hf.await_unit (project, next_at) where next_at is not null and project >= '';

create index execution_deadline_turn on hf.execution (project, deadline_at)
  where deadline_at is not null and (status = 0 or status = 2) and project >= '';
