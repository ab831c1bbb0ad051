-- older builds may run: yes
--
-- The sessions that run executions of one project (X-90): a claim does not look at those of other projects.

create index execution_carrier on execution (project, session_id) where status = 1;
