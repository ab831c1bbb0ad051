import type { Blob } from '../../contract/execution-store.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';

// the same digest is the same bytes.
const PUT = `
  insert into blob (digest, at, bytes)
  values (:digest, :now, :bytes)
  on conflict (digest) do nothing`;

const LOAD = 'select bytes from blob where digest = :digest';

export function putBlob(tx: Transaction, { digest, bytes }: Blob): void {
  tx.run(PUT, { digest, bytes, now: tx.now });
}

export function getBlob(tx: ReadTransaction, digest: string): Uint8Array | undefined {
  return tx.get<{ bytes: Uint8Array }>(LOAD, { digest })?.bytes;
}
