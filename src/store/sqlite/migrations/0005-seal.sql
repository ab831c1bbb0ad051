-- older builds may run: yes
--
-- What seals the store (docs/spec/move.md), as JSON; null while it is open. The triggers that
-- refuse writes are made with the seal, so that they cost nothing before.

alter table meta add column sealed text;
