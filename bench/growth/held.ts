// The time of a heartbeat of a session that holds many leases.

import type { StoreLocation } from '../executions/store-location.ts';
import { openStore } from '../executions/subject/open-subject.ts';
import { hold, OPERATIONS } from '../lease/held-leases.ts';
import { openBenchSession } from '../lease/lease-case.ts';
import { drive } from '../measure.ts';

const WARM_UP_MS = 200;
const MEASURED_MS = 1_000;

export async function renewWith(location: StoreLocation, leases: number): Promise<number> {
  const store = await openStore(location);
  const session = await openBenchSession(store);
  await hold(session, leases);
  const operation = OPERATIONS.renew(session);
  await drive({ inFlight: 1, operation }, WARM_UP_MS);
  const { p50Ms } = await drive({ inFlight: 1, operation }, MEASURED_MS);
  await session.close();
  await store.close();
  return p50Ms;
}
