import type { Fence } from '../../lease/fence.ts';
import { halt } from '../sql/leases/events.ts';
import type { Database } from './database.ts';
import { plainGatewayOf } from './gateway.ts';

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
