-- older builds may run: yes
--
-- What seals the store (docs/spec/move.md), as JSON; null while it is open. The triggers that refuse writes are
-- made with the seal, so that they cost nothing before, and so that builds which do not know it are refused too.

alter table hf.meta add column sealed text;
