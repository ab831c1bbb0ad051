// Why a claim was not answered.

import { refuseClaims } from '../../../execution/decide/claim.ts';
import { type Fence, toFence } from '../../../lease/fence.ts';
import type { SessionId } from '../../../lease/names.ts';
import type { ClaimAnswer } from '../../contract/execution-store.ts';
import { adoptServer } from '../adopt-server.ts';
import { type Queries, statement } from '../database.ts';
import { loadChains } from '../load-view.ts';
import type { Parts } from './parts.ts';

const HALTED = statement('select m.halted from hf.meta m where m.id = 1');

/** Undefined when the server was another one, or what stood against it is gone: ask again. */
export async function refuseClaim(
  { database, policy }: Parts,
  session: SessionId,
): Promise<ClaimAnswer | undefined> {
  await adoptServer(database, policy);
  const halted = await loadHalted(database);
  const { now, chains } = await loadChains(database, [session]);
  const refusal = refuseClaims({ own: chains[0] ?? [], halted }, now);
  return refusal === undefined ? undefined : { kind: 'refused', ...refusal };
}

async function loadHalted(queries: Queries): Promise<Fence | undefined> {
  const [row] = await queries.rows<{ halted: number | null }>(HALTED, []);
  const halted = row?.halted ?? undefined;
  return halted === undefined ? undefined : toFence(halted);
}
