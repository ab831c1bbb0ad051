import type { UnsealAnswer, UnsealRequest } from '../../contract/seal-store.ts';
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
  const epoch = await liftFences(queries, {
    actor,
    reason: `unsealed: ${reason}`,
    endHalt: true,
  });
  return { kind: 'unsealed', epoch, was };
}
