-- older builds may run: yes
--
-- The secret of such a channel also signs answers to questions of its project (CH-16).

alter table channel add column answers integer not null default 0;
