import type { LeasePolicy } from '../../lease/policy.ts';
import type { Sweep, Swept } from '../../lease/port.ts';
import {
  deleteOld,
  deleteRetired,
  dropDeadTickets,
  listOverdue,
  reclaim,
  recordImpliedEnds,
} from '../sql/leases/sweep.ts';
import { onPostgres, POSTGRES, placeIsOver } from '../sql/leases/views.ts';
import { one } from '../sql/script.ts';
import { adoptServer } from './adopt-server.ts';
import type { Database } from './database.ts';
import { plainGatewayOf } from './gateway.ts';
import { SAME_SERVER } from './predicates.ts';

// Every process sweeps, and there is nearly always nothing to do. This statement finds that out. It
// covers everything that the scripts would touch, and may return true too often but never too
// rarely.
const HAS_WORK = onPostgres(`
  select not coalesce(${SAME_SERVER}, false)
      or exists (select from hf.session s where s.ended_at is null and s.expires_at <= hf_now())
      or exists (select from hf.lease l where l.ended_at is null and least(l.drain_deadline_at, l.hard_deadline_at) <= hf_now())
      or exists (
           select
             from hf.session e
             join hf.session h on e.id = any (h.path)
             join hf.lease l on l.session_id = h.id
            where e.ended_at is not null
              and l.ended_at is null)
      or exists (select from hf.lease l where l.ended_at is null and not exists (select from hf.session s where s.id = l.session_id))
      or exists (select from hf.ticket t where ${placeIsOver(POSTGRES, 't')})
      or exists (select from hf.lease l where l.exit = 'retired' and l.ended_at <= hf_now() - :retentionMs::bigint)
      or exists (select from hf.session s where s.ended_at <= hf_now() - :retentionMs::bigint)
      or (select e.at <= hf_now() - :retentionMs::bigint from hf.event e order by e.seq limit 1)
      or exists (select from hf.flap f where f.until <= hf_now()) as has_work`);

const NOTHING: Swept = { expired: [], ended: [], deleted: 0, paused: 0, more: false };

/**
 * Runs each script in its own transaction. One transaction for all would lock sessions and leases
 * in another order than drains do, and could deadlock.
 */
export async function sweep(
  database: Database,
  policy: LeasePolicy,
  { limit }: Sweep,
): Promise<Swept> {
  const { read, write } = plainGatewayOf(database);
  const found = await read(() => one<{ has_work: boolean | null }>(HAS_WORK, policy));
  if (found?.has_work !== true) return NOTHING;
  await adoptServer(database, policy);
  const overdue = await read(() => listOverdue(limit));
  const { expired, paused } = await write(() => reclaim(overdue.candidates, policy));
  const ended = await write(() => recordImpliedEnds(limit, policy));
  await write(dropDeadTickets);
  const retired = await write(() => deleteRetired(limit, policy));
  const deleted = retired + (await write(() => deleteOld(limit - retired, policy)));
  return { expired, ended, deleted, paused, more: overdue.more || ended.length >= limit };
}
