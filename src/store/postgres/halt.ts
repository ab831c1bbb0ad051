import { type Fence, isIssuable } from '../../lease/fence.ts';
import { type Database, statement } from './database.ts';

// The alarm goes off once; the epoch must rise above the highest fence presented, not the first.
const HALT = statement(`
  with before as (
    select m.halted
      from hf.meta m
     where m.id = 1
       for update
  ),
  halted as (
    update hf.meta m
       set halted = greatest(m.halted, $1::bigint)
      from before
     where m.id = 1
       and $1 > (select case when f.is_called then f.last_value else f.last_value - 1 end from hf.fence f) -- guard: ahead
    returning before.halted is null as first
  )
  insert into hf.event (at, kind, detail)
  select hf_now(), 'alarm', jsonb_build_object('alarm', 'fence-ahead', 'cause', 'fence ' || $1::text)
    from halted
   where halted.first`);

/** Somebody showed a fence that was never issued: stop granting until a person looks (T-4). */
export async function haltIfAhead(
  database: Database,
  fence: Fence,
  refusal: { readonly why: string },
): Promise<void> {
  if (refusal.why === 'fence-ahead' && isIssuable(fence)) await database.rows(HALT, [fence]);
}
