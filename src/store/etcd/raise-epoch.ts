import { epochOf, raisedOrigin } from '../../lease/fence.ts';
import type { EpochRaised, RaiseEpoch } from '../../lease/port.ts';
import { toNumber } from './connection.ts';
import type { Database } from './database.ts';
import { lastIssued, loadEpoch } from './load-view.ts';
import type { Transaction } from './transaction.ts';

/** Grants that are made while the epoch is being raised have fences up to here above what was read. */
const UNDER_WAY_MAX = 1_000_000;

export async function raiseEpoch(database: Database, request: RaiseEpoch): Promise<EpochRaised> {
  const { result } = await database.write(
    (tx) => liftFences(tx, { ...request, endHalt: true }),
    'etcd',
  );
  return { kind: 'raised', epoch: result };
}

/** Every grant is conditioned on the key of the epoch, so none is made of the old one afterwards (T-3). */
export async function liftFences(
  tx: Transaction,
  request: RaiseEpoch & { readonly endHalt: boolean },
): Promise<number> {
  const { keys } = tx;
  const epoch = await loadEpoch(tx);
  await tx.load([keys.halt]);
  const presented = toNumber(tx.get(keys.halt)) ?? 0;
  const issued = Math.max(lastIssued(tx, epoch), tx.seenFence);
  const origin = raisedOrigin(issued + UNDER_WAY_MAX, presented);
  tx.put(keys.epoch, JSON.stringify({ origin }));
  if (request.endHalt) tx.delete(keys.halt);
  tx.append({
    kind: 'epoch-raised',
    at: tx.now,
    actor: request.actor,
    cause: request.reason,
  });
  return epochOf(origin);
}
