-- older builds may run: yes
--
-- The inbox lists open awaits in the order in which they are due (W-10).

create index await_unit_due on await_unit (project, due_at, execution_id) where status = 0;
