-- older builds may run: yes
--
-- The sessions that run executions of one project (X-90): a claim does not look at those of other projects. Every project
-- is at least ''. Only the statement that repeats this condition can use the index; for others the planner would take it
-- while the table is empty, and keep it.

create index execution_carrier on hf.execution (project, session_id) where status = 1 and project >= '';
