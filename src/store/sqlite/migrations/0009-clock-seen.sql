-- older builds may run: yes

-- Store time and the machine's time since its start, of the last write, as JSON: what a later time is measured by (C-9).
alter table meta add column clock_seen text;
