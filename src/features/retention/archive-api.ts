// Writes one execution to an archive: its documents first, then the manifest (F-9).

import type { Archive } from '../../archive/port.ts';
import type { EngineConfig } from '../../engine/config.ts';
import { attachmentAt } from '../../engine/values/place.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { HistoryEvent, InboxMessage } from '../../execution/history.ts';
import type { ExecutionId, InteractionId } from '../../execution/names.ts';
import type { AttachmentSummary, ChildSummary } from '../../store/contract/execution-reads.ts';
import type { ExecutionStore } from '../../store/contract/execution-store.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';
import { digestOf } from '../../support/digest.ts';
import { Fault } from '../../support/fault.ts';
import { wordsIn } from '../../support/options.ts';
import { readAll } from '../../support/page-size.ts';
import { weightOfParsing } from '../../support/turns.ts';
import type { AuditRecord } from '../audit/model.ts';
import type { Answer } from '../awaits/model.ts';
import type { InteractionFound } from '../awaits/port.ts';
import { erasedDocument, isErasedDocument, largeValuesIn } from '../erasure/model.ts';
import type { DeadLetterRecord } from '../repair/model.ts';
import {
  ARCHIVE_FORMAT,
  type Draft,
  documentsOf,
  JSON_TYPE,
  jsonBytes,
  Values,
} from './documents-api.ts';
import type { ArchivedAt, SeenOfEnded } from './model.ts';

interface Archiving {
  readonly archive: Archive;
  /** Decodes values that a codec sealed. */
  readonly decodes: boolean;
}

type Written = ArchivedAt & { readonly seen: SeenOfEnded };

/** Undefined if the execution disappeared meanwhile: another process has archived it. */
export async function writeExecution(
  config: EngineConfig,
  { archive, decodes }: Archiving,
  id: ExecutionId,
): Promise<Written | undefined> {
  const planned = await plan(config, decodes, id);
  if (planned === undefined) return undefined;
  const { execution, attachments, seen, drafts, place } = planned;
  const put = async (draft: Draft): Promise<ArchivedDocument> => {
    const { name, type, title, bytes } = draft;
    await archive.put({ path: `${place}/${name}`, type, bytes });
    const sha256 = digestOf(bytes);
    return { name, type, bytes: bytes.length, sha256, ...(title === undefined ? {} : { title }) };
  };
  const documents: ArchivedDocument[] = [];
  for (const draft of drafts) documents.push(await put(draft));
  for (const [nth, summary] of attachments.entries()) {
    const draft = await attachmentOf(config, { execution, nth, decodes }, summary);
    if (draft === undefined) return undefined;
    documents.push(await put(draft));
  }
  const { project, pipeline, status, endedAt } = execution;
  const manifest: Manifest = {
    ...{ format: ARCHIVE_FORMAT, id, project, pipeline, status },
    endedAt: formatInstant(endedAt ?? (0 as Instant)),
    documents,
  };
  const bytes = jsonBytes(manifest);
  await archive.put({ path: `${place}/${MANIFEST}`, type: JSON_TYPE, bytes });
  return { place, digest: digestOf(bytes), seen };
}

interface Planned extends Gathered {
  readonly place: string;
  /** All documents except attachments and the manifest. */
  readonly drafts: readonly Draft[];
}

async function plan(
  config: EngineConfig,
  decodes: boolean,
  id: ExecutionId,
): Promise<Planned | undefined> {
  const gathered = await gather(config.store.executions, id);
  if (gathered === undefined) return undefined;
  const { execution, attachments } = gathered;
  await config.jobLimits.begin(execution.project, weightOfParsing(charsIn(gathered)));
  const payloads = config.payloads.of(execution.project);
  const drafts = await documentsOf(gathered, new Values(payloads, decodes));
  const place = placeOf(execution.project, execution.endedAt, nameOf(id, drafts, attachments));
  return { ...gathered, drafts, place };
}

/**
 * Erases documents of an execution whose rows are still in the store: a process wrote them and ended
 * before it could remove the rows. Their place follows from the values, so erase those later.
 */
export async function eraseLeftDocuments(
  config: EngineConfig,
  { archive, decodes }: Archiving,
  id: ExecutionId,
): Promise<void> {
  const planned = await plan(config, decodes, id);
  if (planned === undefined) return;
  const { attachments, drafts, place } = planned;
  const files = attachments.flatMap(({ name }, nth) => {
    const file = attachmentFile(nth, name);
    return [file, `${file}.sealed`];
  });
  for (const name of [...drafts.map((draft) => draft.name), ...files]) {
    const bytes = await archive.get(`${place}/${name}`);
    if (bytes !== undefined) await eraseDocument(archive, place, { name, sha256: digestOf(bytes) });
  }
}

/** Erases the documents that a manifest names. Returns the digits of their large values (F-14). */
export async function eraseDocuments(archive: Archive, at: ArchivedAt): Promise<readonly string[]> {
  const manifest = await readManifest(archive, at);
  if (manifest === undefined) {
    throw new Fault(
      'archive-damaged',
      `The manifest in ${at.place} is missing or changed, so the documents to erase are not known. Their erasure stays pending. Restore the manifest from a copy of the archive, and erase the execution again.`,
    );
  }
  for (const each of manifest.documents) {
    const bytes = await archive.get(`${at.place}/${each.name}`);
    if (bytes !== undefined) await eraseDocument(archive, at.place, each);
  }
  return largeValuesIn(manifest.documents);
}

type Named = Pick<ArchivedDocument, 'name' | 'sha256'>;

function eraseDocument(archive: Archive, place: string, { name, sha256 }: Named): Promise<void> {
  const bytes = erasedDocument(sha256);
  return archive.put({ path: `${place}/${name}`, type: JSON_TYPE, bytes });
}

function attachmentFile(nth: number, name: string): string {
  return `attachments/${String(nth + 1).padStart(3, '0')}-${safeName(name)}`;
}

function charsIn({ history, inbox }: Gathered): number {
  return [...history, ...inbox].reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
}

const DIGEST_SHOWN = 12;

/** Equal content has the same name; other content gets another place. */
function nameOf(
  id: ExecutionId,
  drafts: readonly Draft[],
  attachments: readonly AttachmentSummary[],
): string {
  const names = drafts.map(({ name, bytes }) => `${name} ${digestOf(bytes)}`);
  const all = JSON.stringify([names, attachments]);
  return `${id}-${digestOf(Buffer.from(all)).slice(0, DIGEST_SHOWN)}`;
}

const DAY_CHARACTERS = 10;

function placeOf(project: string, endedAt: Instant | undefined, name: string): string {
  const day = formatInstant(endedAt ?? (0 as Instant)).slice(0, DAY_CHARACTERS);
  return `${safeName(project)}/${day}/${name}`;
}

const NAME_MAX = 80;

/** Makes any name fit into a path. Different names stay different. */
function safeName(name: string): string {
  if (/^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(name) && name.length <= NAME_MAX) return name;
  const readable = name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, NAME_MAX);
  return `${readable}-${digestOf(Buffer.from(name)).slice(0, DIGEST_SHOWN)}`;
}

/** Faults with which a codec refuses a value. */
const SEALED: ReadonlySet<string> = new Set(
  wordsIn('codec-missing codec-refused codec-broken value-erased'),
);

async function attachmentOf(
  { store, payloads }: EngineConfig,
  {
    execution,
    nth,
    decodes,
  }: { readonly execution: ExecutionRecord; readonly nth: number; readonly decodes: boolean },
  { name, type }: AttachmentSummary,
): Promise<Draft | undefined> {
  const stored = await store.executions.attachment({ id: execution.id, name });
  if (stored === undefined) return undefined;
  const file = attachmentFile(nth, name);
  const isSealed = stored.sealed !== undefined;
  try {
    const at = attachmentAt(execution, name);
    const bytes = isSealed && !decodes ? stored.bytes : await payloads.unsealAttachment(stored, at);
    return { name: file, type, title: name, bytes };
  } catch (error) {
    if (!(error instanceof Fault) || !SEALED.has(error.code)) throw error;
    return {
      name: `${file}.sealed`,
      type: 'application/octet-stream',
      title: name,
      bytes: stored.bytes,
    };
  }
}

// Gathers everything that the store has of an ended execution. A removal deletes all its rows in
// one transaction. So if the row still exists after the last read, nothing was missing.

export interface InteractionParts extends InteractionFound {
  readonly late: readonly Answer[];
}

export interface Gathered {
  readonly execution: ExecutionRecord;
  readonly history: readonly HistoryEvent[];
  readonly inbox: readonly InboxMessage[];
  readonly children: readonly ChildSummary[];
  readonly attachments: readonly AttachmentSummary[];
  readonly awaits: readonly InteractionParts[];
  readonly letter: DeadLetterRecord | undefined;
  readonly audit: readonly AuditRecord[];
  readonly seen: SeenOfEnded;
}

const PAGE = 1_000;

/** Undefined if the execution does not exist, or disappears meanwhile. */
async function gather(store: ExecutionStore, id: ExecutionId): Promise<Gathered | undefined> {
  const execution = await store.read(id);
  if (execution === undefined) return undefined;
  const { project } = execution;
  const letter = await store.deadLetter(id);
  const awaits = await awaitsOf(store, execution);
  const late = awaits.reduce((sum, { interaction }) => sum + interaction.late, 0);
  const gathered: Gathered = {
    execution,
    history: await readAll(PAGE, (last: HistoryEvent | undefined) =>
      store.history({ id, after: last?.seq ?? 0, limit: PAGE }),
    ),
    inbox: await readAll(PAGE, (last: InboxMessage | undefined) =>
      store.inbox({ id, after: last?.n ?? 0, limit: PAGE }),
    ),
    children: await readAll(PAGE, (last: ChildSummary | undefined) =>
      store.children({ parent: id, limit: PAGE, ...(last && { after: last.id }) }),
    ),
    attachments: await store.attachments(id),
    awaits,
    letter,
    audit: await readAll(PAGE, (last: AuditRecord | undefined) =>
      store.audit({
        ...{ project, target: { kind: 'execution', id }, limit: PAGE },
        ...(last && { before: last.id }),
      }),
    ),
    seen: {
      late,
      ...(letter?.redrivenBy && { redrivenBy: letter.redrivenBy }),
      ...(execution.erased && { erased: true }),
    },
  };
  return (await store.read(id)) === undefined ? undefined : gathered;
}

async function awaitsOf(
  store: ExecutionStore,
  { id, project }: ExecutionRecord,
): Promise<readonly InteractionParts[]> {
  const found = await readAll(PAGE, (last: InteractionFound | undefined) => {
    const before: { before?: InteractionId } = last ? { before: last.interaction.id } : {};
    return store.interactions({ project, execution: id, limit: PAGE, ...before });
  });
  return Promise.all(
    found.map(async (each) => {
      const isLate = each.interaction.late > 0;
      const query = { project, id: each.interaction.id };
      return { ...each, late: isLate ? await store.lateAnswers(query) : [] };
    }),
  );
}

// The documents of an archive, and the check that they are unchanged.

/** A document of an archived execution. */
export interface ArchivedDocument {
  /** The file name. */
  readonly name: string;
  /** The media type. */
  readonly type: string;
  /** The size in bytes. */
  readonly bytes: number;
  /** The SHA-256 digest of the content. */
  readonly sha256: string;
  /** The original name, if that cannot be a file name. */
  readonly title?: string;
}

interface Manifest {
  readonly format: string;
  readonly id: string;
  readonly project: string;
  readonly pipeline: string;
  readonly status: string;
  readonly endedAt: string;
  readonly documents: readonly ArchivedDocument[];
}

const MANIFEST = 'manifest.json';

/** Undefined if it is missing or changed. */
export async function readManifest(
  archive: Archive,
  { place, digest }: ArchivedAt,
): Promise<Manifest | undefined> {
  const bytes = await archive.get(`${place}/${MANIFEST}`);
  if (bytes === undefined || digestOf(bytes) !== digest) return undefined;
  return JSON.parse(Buffer.from(bytes).toString()) as Manifest;
}

/** Undefined if it is missing or changed. */
export async function readDocument(
  archive: Archive,
  place: string,
  { name, sha256 }: ArchivedDocument,
): Promise<Uint8Array | undefined> {
  const bytes = await archive.get(`${place}/${name}`);
  return bytes !== undefined && digestOf(bytes) === sha256 ? bytes : undefined;
}

/** A document that is missing from the archive or was changed. */
export type Damage = {
  /** The file name. */
  readonly document: string;
  /** `missing`, `changed`, or `not-erased` if it still has values of an erased execution. */
  readonly why: 'missing' | 'changed' | 'not-erased';
};

/**
 * The result of `archive.verify`: `intact` with the number of `documents`, `erased` if their values
 * were erased and their digests are intact, or `damaged` with the `damages`.
 */
export type Verified =
  | { readonly kind: 'intact' | 'erased'; readonly documents: number }
  | { readonly kind: 'damaged'; readonly damages: readonly Damage[] };

/** Verifies documents. `isErased`: all that exist must be erased (F-14). */
export async function verifyDocuments(
  archive: Archive,
  at: ArchivedAt,
  isErased: boolean,
): Promise<Verified> {
  const manifest = await readManifest(archive, at);
  if (manifest === undefined) {
    const bytes = await archive.get(`${at.place}/${MANIFEST}`);
    const why = bytes === undefined ? 'missing' : 'changed';
    return { kind: 'damaged', damages: [{ document: MANIFEST, why }] };
  }
  const damages: Damage[] = [];
  for (const { name, sha256 } of manifest.documents) {
    const bytes = await archive.get(`${at.place}/${name}`);
    const why = isErased ? whyNotErased(bytes, sha256) : whyDamaged(bytes, sha256);
    if (why !== undefined) damages.push({ document: name, why });
  }
  return damages.length === 0
    ? { kind: isErased ? 'erased' : 'intact', documents: manifest.documents.length }
    : { kind: 'damaged', damages };
}

function whyDamaged(bytes: Uint8Array | undefined, sha256: string): Damage['why'] | undefined {
  if (bytes === undefined) return 'missing';
  return digestOf(bytes) === sha256 ? undefined : 'changed';
}

/** A document that is gone has no values either. */
function whyNotErased(bytes: Uint8Array | undefined, sha256: string): Damage['why'] | undefined {
  if (bytes === undefined || isErasedDocument(bytes, sha256)) return undefined;
  return digestOf(bytes) === sha256 ? 'not-erased' : 'changed';
}
