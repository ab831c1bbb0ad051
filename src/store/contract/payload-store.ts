// The port for values that are stored apart from rows. ADR 0032 describes which projects own them.

import type { ExecutionId, ProjectName } from '../../execution/names.ts';

/**
 * Stores values that are too large for a row. Callers write them, under their digest, before any
 * row refers to them.
 */
export interface BlobStore {
  /** Gives the project access to the blob from then on. */
  putBlob(blob: Blob): Promise<void>;
  /** Returns undefined unless the project has the blob. */
  getBlob(query: ReadBlob): Promise<Uint8Array | undefined>;
  /** Gives the project older blobs whose digests the caller found in the project's rows. */
  attributeBlobs(request: AttributeBlobs): Promise<void>;
}

export interface PayloadStore extends BlobStore {
  /** Returns the digests that the project does not have. */
  missingBlobs(query: BlobsOf): Promise<readonly string[]>;
  /**
   * Lists running executions of the project whose rows contain the digest of an older blob, in any
   * field.
   */
  referring(query: ReadBlob): Promise<readonly ExecutionId[]>;
}

export interface ReadBlob {
  readonly project: ProjectName;
  readonly digest: string;
}

export interface Blob extends ReadBlob {
  readonly bytes: Uint8Array;
}

export interface BlobsOf {
  readonly project: ProjectName;
  readonly digests: readonly string[];
}

export interface AttributeBlobs extends BlobsOf {
  /**
   * Limits this to blobs that an older build wrote within this time. Such a build is then running,
   * or was until recently.
   */
  readonly putWithinMs?: number;
}
