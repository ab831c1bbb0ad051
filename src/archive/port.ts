// The port of an archive: documents under paths, written once and read for ever.

import { Fault } from '../support/fault.ts';

export interface Archive {
  /** For people: which folder, which bucket. */
  readonly name: string;
  /** Durable when it resolves, and whole: nobody reads half of it. The same again is fine. */
  put(document: ArchiveDocument): Promise<void>;
  /** Undefined when there is none. */
  get(path: string): Promise<Uint8Array | undefined>;
}

export interface ArchiveDocument {
  /** Parts of letters, digits, `.`, `_` and `-`, with `/` between them. */
  readonly path: string;
  /** Its media type. */
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** The archive did not do it, or did not say so. Writing the same again is safe. */
export class ArchiveUnavailable extends Fault {
  override readonly name = 'ArchiveUnavailable';

  constructor(message: string, options?: ErrorOptions) {
    super('archive-unavailable', message, options);
  }
}

const PATH = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;

/** Returns true for a path that stays inside the archive. */
export function isArchivePath(path: string): boolean {
  return PATH.test(path);
}
