import { ownDeadline } from '../../lease/lease.ts';
import type { SessionId } from '../../lease/names.ts';
import type { CarriedLease } from '../../lease/port.ts';
import type { Instant } from '../../support/clock.ts';
import { type LeaseRow, toLease } from '../lease-rows.ts';
import { type Database, statement } from './database.ts';
import { LEASE_COLUMNS } from './load-view.ts';
import { termEnded } from './predicates.ts';

const CARRIED = statement(`
  select hf_now() as now, ${LEASE_COLUMNS}
    from (select l.* from hf.lease l where l.session_id = $1 and l.ended_at is null offset 0) l
   where not ${termEnded('l')}
   order by l.key collate "C"`);

export async function listCarried(
  database: Database,
  id: SessionId,
): Promise<readonly CarriedLease[]> {
  const rows = await database.rows<LeaseRow & { now: number }>(CARRIED, [id]);
  return rows.map((row) => {
    const lease = toLease(row);
    const deadline = ownDeadline(lease);
    return {
      key: lease.key,
      fence: lease.fence,
      ...(lease.drain === undefined ? {} : { drain: lease.drain }),
      ...(deadline === undefined ? {} : { deadlineInMs: deadline - (row.now as Instant) }),
    };
  });
}
