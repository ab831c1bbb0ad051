-- older builds may run: yes
--
-- The inbox lists open awaits in the order in which they are due (W-10). Every project is at least ''. Only the statement
-- that repeats this condition can use this index; see 0014.

create index await_unit_due on hf.await_unit (project, due_at, execution_id) where status = 0 and project >= '';
