import type { UnsealAnswer, UnsealRequest } from '../../../features/export/port.ts';
import { UNSEALED_EPOCHS } from '../../../lease/fence.ts';
import { raiseEpoch } from '../raise-epoch.ts';
import type { Transaction } from '../transaction.ts';
import { openTables, readSeal } from './seal.ts';

const FORGET = `
  update meta
     set sealed = null
   where id = 1`;

export function unseal(tx: Transaction, request: UnsealRequest): UnsealAnswer {
  const was = readSeal(tx);
  if (was === undefined) return { kind: 'refused', why: 'not-sealed' };
  openTables(tx);
  tx.run(FORGET);
  const { actor, reason } = request;
  const { epoch } = raiseEpoch(tx, { actor, reason: `unsealed: ${reason}` }, UNSEALED_EPOCHS);
  return { kind: 'unsealed', epoch, was };
}
