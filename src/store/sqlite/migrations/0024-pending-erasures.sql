-- older builds may run: yes
--
-- Erasures with documents or large values that are still to go (F-16), so that a duty finds them. An erasure that a build
-- before this one leaves pending is not in it until you repeat it.

create table pending_erasure (
  execution_id text    primary key,
  project      text    not null,
  due_at       integer not null,
  in_archive   integer not null,
  erasure      text    not null
) strict, without rowid;

create index pending_erasure_due on pending_erasure (in_archive, due_at);
