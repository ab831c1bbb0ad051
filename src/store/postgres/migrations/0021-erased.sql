-- older builds may run: yes
--
-- The erasure of an archived execution (F-14), as JSON. Builds before this one neither read nor write it: to them, its
-- documents differ from their digests.

alter table hf.archived add column erased text;
