-- older builds may run: yes
--
-- The key of a signal, by which a repeated one is recognised (X-109). Builds before this one send signals without keys.

alter table hf.inbox add column key text collate "C";

create unique index inbox_key on hf.inbox (execution_id, key) where key is not null;
