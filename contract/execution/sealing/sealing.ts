// Builders for cases of seals.

import assert from 'node:assert/strict';
import type { SealRequest } from '../../../src/features/export/port.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { StoreSealed } from '../../../src/support/fault.ts';
import { expectKind } from '../../lease/expect.ts';

export const SEAL: SealRequest = {
  id: '0190aaaa-0000-7000-8000-000000000001',
  actor: 'olga',
  reason: 'to a server',
  to: "olga's file",
};

export async function mustSeal(store: CoordinatorStore): Promise<void> {
  expectKind(await store.seals.seal(SEAL), 'sealed');
}

export async function mustUnseal(store: CoordinatorStore): Promise<number> {
  const result = await store.seals.unseal({ actor: 'olga', reason: 'given up' });
  return expectKind(result, 'unsealed').epoch;
}

/** Refused as sealed: the message names who exported the store, and where to (EX-1). */
export async function expectSealed(operation: () => Promise<unknown>): Promise<void> {
  await assert.rejects(operation, (fault: unknown) => {
    assert.ok(fault instanceof StoreSealed, String(fault));
    assert.match(fault.message, /sealed: olga exported it to olga's file at /);
    return true;
  });
}
