// The port of an archive: documents under paths, written once and read for ever.

import { Fault } from '../support/fault.ts';

/**
 * A place for documents that are written once and read at any later time. `holdfast/archive/…` has
 * two.
 *
 * @example
 * import { openFolderArchive } from 'holdfast/archive/folder';
 *
 * const archive: Archive = openFolderArchive({ folder: '/var/lib/holdfast/archive' });
 */
export interface Archive {
  /** The folder or bucket, for operators. */
  readonly name: string;
  /**
   * Writes a document. It is complete and durable when this resolves. Writing the same again is
   * safe.
   */
  put(document: ArchiveDocument): Promise<void>;
  /** Returns a document's content, or undefined if there is none. */
  get(path: string): Promise<Uint8Array | undefined>;
}

/** A document of an archive. */
export interface ArchiveDocument {
  /** The path: letters, digits, `.`, `_` and `-`, in parts separated by `/`. */
  readonly path: string;
  /** The media type. */
  readonly type: string;
  /** The content. */
  readonly bytes: Uint8Array;
}

/**
 * The archive could not be reached, or did not confirm the write. Writing the same again is safe.
 */
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
