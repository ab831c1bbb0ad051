-- older builds may run: yes
--
-- Erasures with documents or large values that are still to go (F-16), so that a duty finds them. An erasure that a build
-- before this one leaves pending is not in it until you repeat it.

create table hf.pending_erasure (
  due_at       bigint not null,
  execution_id uuid primary key,
  in_archive   boolean not null,
  project      text collate "C" not null,
  erasure      text not null
);

create index pending_erasure_due on hf.pending_erasure (in_archive, due_at);
