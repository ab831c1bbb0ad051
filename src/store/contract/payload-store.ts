// The port of values that are kept apart. Whose they are: ADR 0032.

import type { ExecutionId, ProjectName } from '../../execution/names.ts';

/** Values too large for a row: written before anything refers to them, under their digest. */
export interface BlobStore {
  /** The project has it from then on. */
  putBlob(blob: Blob): Promise<void>;
  /** Undefined unless the project has it. */
  getBlob(query: ReadBlob): Promise<Uint8Array | undefined>;
  /** For who has found the digests in rows of the project: of those from before, it has them then. */
  attributeBlobs(request: AttributeBlobs): Promise<void>;
}

export interface PayloadStore extends BlobStore {
  /** Those of `digests` that the project has not. */
  missingBlobs(query: BlobsOf): Promise<readonly string[]>;
  /** Running executions of the project in whose rows the digest of a blob from before stands, as whatever. */
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
  /** Only those that a build of before has put in the last so many milliseconds: one runs, or has just run. */
  readonly putWithinMs?: number;
}
