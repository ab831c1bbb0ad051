// What stands in an archive, and whether it is still what was put there.

import type { Archive } from '../../archive/port.ts';
import { digestOf } from '../../support/digest.ts';
import type { ArchivedAt } from './model.ts';

export interface ArchivedDocument {
  readonly name: string;
  readonly type: string;
  readonly bytes: number;
  readonly sha256: string;
  /** What it was called, where that is no name for a file. */
  readonly title?: string;
}

export interface Manifest {
  readonly format: string;
  readonly id: string;
  readonly project: string;
  readonly pipeline: string;
  readonly status: string;
  readonly endedAt: string;
  readonly documents: readonly ArchivedDocument[];
}

export const MANIFEST = 'manifest.json';

/** Undefined when it is not there, or is not what was written. */
export async function readManifest(
  archive: Archive,
  { place, digest }: ArchivedAt,
): Promise<Manifest | undefined> {
  const bytes = await archive.get(`${place}/${MANIFEST}`);
  if (bytes === undefined || digestOf(bytes) !== digest) return undefined;
  return JSON.parse(Buffer.from(bytes).toString()) as Manifest;
}

/** Undefined when it is not there, or is not what was written. */
export async function readDocument(
  archive: Archive,
  place: string,
  { name, sha256 }: ArchivedDocument,
): Promise<Uint8Array | undefined> {
  const bytes = await archive.get(`${place}/${name}`);
  return bytes !== undefined && digestOf(bytes) === sha256 ? bytes : undefined;
}

export type Damage = {
  readonly document: string;
  readonly why: 'missing' | 'changed';
};

export type Verified =
  | { readonly kind: 'intact'; readonly documents: number }
  | { readonly kind: 'damaged'; readonly damages: readonly Damage[] };

export async function verifyDocuments(archive: Archive, at: ArchivedAt): Promise<Verified> {
  const manifest = await readManifest(archive, at);
  if (manifest === undefined) {
    const bytes = await archive.get(`${at.place}/${MANIFEST}`);
    const why = bytes === undefined ? 'missing' : 'changed';
    return { kind: 'damaged', damages: [{ document: MANIFEST, why }] };
  }
  const damages: Damage[] = [];
  for (const { name, sha256 } of manifest.documents) {
    const bytes = await archive.get(`${at.place}/${name}`);
    if (bytes === undefined) damages.push({ document: name, why: 'missing' });
    else if (digestOf(bytes) !== sha256) damages.push({ document: name, why: 'changed' });
  }
  return damages.length === 0
    ? { kind: 'intact', documents: manifest.documents.length }
    : { kind: 'damaged', damages };
}
