import { epochOf, type Fence, raisedOrigin } from '../../lease/fence.ts';
import type { EpochRaised, RaiseEpoch } from '../../lease/port.ts';
import { noticesOfRaise } from '../../lease/session.ts';
import { halt } from '../sql/leases/events.ts';
import { type Database, type Queries, statement } from './database.ts';
import { plainGatewayOf } from './gateway.ts';

// A separate statement takes the lock before the next one reads the sequence. Otherwise two
// concurrent raises would lift it to the same value, and fences would be issued twice (T-3).
const TAKE_TURNS = statement('select m.halted from hf.meta m where m.id = 1 for update');

const LAST_ISSUED = statement(`
  select case when f.is_called then f.last_value else f.last_value - 1 end as last_issued
    from hf.fence f`);

// `setval` is not transactional and need not be: a rollback only leaves a larger gap. Grants minted
// meanwhile stay within the epoch that ends (T-3).
const LIFT = statement(`select setval('hf.fence', $1::bigint, true)`);

const RECORD = statement(`
  with resumed as (
    update hf.meta m
       set halted = case when $3 then null else m.halted end
     where m.id = 1
  )
  insert into hf.event (at, kind, detail)
  values (hf_now(), 'epoch-raised', jsonb_build_object('actor', $1::text, 'cause', $2::text))`);

const NOTIFY_ALL = statement(`
  update hf.session s
     set notices = s.notices + $1::bigint
   where s.ended_at is null`);

export async function raiseEpoch(database: Database, request: RaiseEpoch): Promise<EpochRaised> {
  return database.transaction(async (queries) => {
    const epoch = await liftFences(queries, { ...request, endHalt: true });
    return { kind: 'raised', epoch };
  });
}

/**
 * Runs inside a transaction that locks the row of hf.meta. So two raises cannot run at once, and no
 * other transaction that locks several sessions runs meanwhile. The notices make each live holder
 * check the leases that it still carries.
 */
export async function liftFences(
  queries: Queries,
  request: RaiseEpoch & { readonly endHalt: boolean },
  by: number = 1,
): Promise<number> {
  const [meta] = await queries.rows<{ halted: number | null }>(TAKE_TURNS, []);
  const [sequence] = await queries.rows<{ last_issued: number }>(LAST_ISSUED, []);
  const lastIssued = sequence?.last_issued ?? 0;
  const origin = raisedOrigin(lastIssued, meta?.halted ?? 0, by);
  await queries.rows(LIFT, [origin]);
  await queries.rows(NOTIFY_ALL, [noticesOfRaise(lastIssued, origin)]);
  await queries.rows(RECORD, [request.actor, request.reason, request.endHalt]);
  return epochOf(origin);
}

/**
 * A caller showed a fence that this store never issued. Halt grants until an operator acts (T-4).
 */
export async function haltIfAhead(
  database: Database,
  fence: Fence,
  refusal: { readonly why: string },
): Promise<void> {
  if (refusal.why === 'fence-ahead') await plainGatewayOf(database).write(() => halt(fence));
}
