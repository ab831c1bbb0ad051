-- older builds may run: yes
--
-- When the claim of a refused write had ended, and the transport of the write (J-15). Builds before this one write neither.

alter table refused_write add column lost_at integer;
alter table refused_write add column transport text;
