import type { Blob } from '../../contract/execution-store.ts';
import type { ExecutionState } from './state.ts';

/** the same digest is the same bytes. */
export function putBlob(state: ExecutionState, { digest, bytes }: Blob): void {
  if (!state.blobs.has(digest)) state.blobs.set(digest, Uint8Array.from(bytes));
}

export function getBlob(state: ExecutionState, digest: string): Uint8Array | undefined {
  const bytes = state.blobs.get(digest);
  return bytes === undefined ? undefined : Uint8Array.from(bytes);
}
