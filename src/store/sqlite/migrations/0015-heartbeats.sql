-- older builds may run: yes
--
-- The last heartbeats of steps that have not ended (X-97), as JSON. Builds before this one neither read nor write them.

alter table execution add column heartbeats text;
