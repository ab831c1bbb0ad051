import type { Blob, BlobsOf, PayloadStore, ReadBlob } from '../../contract/payload-store.ts';
import type { ExecutionState } from './state.ts';

/** the same digest is the same bytes. */
function putBlob(state: ExecutionState, { project, digest, bytes }: Blob): void {
  const found = state.blobs.get(digest);
  if (found !== undefined) found.projects.add(project);
  else state.blobs.set(digest, { bytes: Uint8Array.from(bytes), projects: new Set([project]) });
}

/** */
function getBlob(state: ExecutionState, { project, digest }: ReadBlob): Uint8Array | undefined {
  const found = state.blobs.get(digest);
  return found?.projects.has(project) === true ? Uint8Array.from(found.bytes) : undefined;
}

function missingBlobs(state: ExecutionState, { project, digests }: BlobsOf): readonly string[] {
  return digests.filter((digest) => state.blobs.get(digest)?.projects.has(project) !== true);
}

export function payloadsOf(state: ExecutionState): PayloadStore {
  return {
    putBlob: async (blob) => putBlob(state, blob),
    getBlob: async (query) => getBlob(state, query),
    missingBlobs: async (query) => missingBlobs(state, query),
    // no build before this one has put anything here.
    attributeBlobs: async () => undefined,
    referring: async () => [],
  };
}
