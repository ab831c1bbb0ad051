import type { UnsealAnswer, UnsealRequest } from '../../../features/export/port.ts';
import { UNSEALED_EPOCHS } from '../../../lease/fence.ts';
import { type Queries, statement } from '../database.ts';
import { liftFences } from '../raise-epoch.ts';
import { lockAll, openTables, readSeal } from './seal.ts';

const FORGET = statement(`
  update hf.meta m
     set sealed = null
   where m.id = 1`);

/** In a transaction of its own. */
export async function unseal(queries: Queries, request: UnsealRequest): Promise<UnsealAnswer> {
  await lockAll(queries);
  const was = await readSeal(queries);
  if (was === undefined) return { kind: 'refused', why: 'not-sealed' };
  await openTables(queries);
  await queries.rows(FORGET, []);
  const { actor, reason } = request;
  const raising = { actor, reason: `unsealed: ${reason}`, endHalt: true };
  const epoch = await liftFences(queries, raising, UNSEALED_EPOCHS);
  return { kind: 'unsealed', epoch, was };
}
