-- older builds may run: yes
--
-- A question is also announced if its row is older: an early answer without a link made it, and the signed question does
-- not use that (W-7).

create trigger announce_unanswered after update of status on hf.interaction
  for each row when (old.status = 1 and new.status = 0 and new.item < 100) execute function hf.announce_question();
