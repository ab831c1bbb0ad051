import type { LeasePolicy } from '../../lease/policy.ts';
import type { Recovered } from '../../lease/port.ts';
import { type Database, type Queries, statement } from './database.ts';

// E-6: at most once per heartbeat received, so that repeated outages cannot extend for ever.
const EXTEND = statement(`
  update hf.session s
     set expires_at = hf_now() + least(s.ttl_ms, $1),
         extended   = true
   where s.ended_at is null -- guard: ended
     and not s.extended -- guard: once
     and s.expires_at < hf_now() + least(s.ttl_ms, $1) -- guard: extend
  returning s.id`);

export async function recover(database: Database, policy: LeasePolicy): Promise<Recovered> {
  return { extended: await extendLiving(database, policy) };
}

export async function extendLiving(queries: Queries, policy: LeasePolicy): Promise<number> {
  return (await queries.rows(EXTEND, [policy.recoveryGraceMs])).length;
}
