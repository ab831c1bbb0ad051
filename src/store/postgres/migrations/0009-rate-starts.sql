-- older builds may run: yes
--
-- A rate key keeps when its executions started, so that its limit holds for starts that came later than their
-- turn (X-12). Builds before this one start them without writing that down: while they run, the limit holds for
-- turns only.

-- Pairs of time and count, as JSON, the oldest first.
alter table hf.rate add column starts text not null default '[]';

-- How many came to their turn and found no room.
alter table hf.rate add column late integer not null default 0;
