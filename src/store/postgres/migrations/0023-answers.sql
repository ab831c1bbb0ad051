-- older builds may run: yes
--
-- The secret of such a channel also signs answers to questions of its project (CH-16).

alter table hf.channel add column answers boolean not null default false;
