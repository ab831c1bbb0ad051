// Writes one execution into an archive: its documents, then the manifest (F-9).

import type { Archive } from '../../archive/port.ts';
import type { EngineConfig } from '../../engine/config.ts';
import { attachmentAt } from '../../engine/values/place.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { ExecutionId } from '../../execution/names.ts';
import type { AttachmentSummary } from '../../store/contract/execution-store.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';
import { digestOf } from '../../support/digest.ts';
import { Fault } from '../../support/fault.ts';
import { documentsOf, FORMAT } from './documents-api.ts';
import { gather } from './gather-api.ts';
import { type ArchivedDocument, MANIFEST, type Manifest } from './manifest-api.ts';
import type { ArchivedAt, SeenOfEnded } from './model.ts';
import { type Draft, JSON_TYPE, jsonBytes, Values } from './values-api.ts';

export interface Archiving {
  readonly archive: Archive;
  /** Values that went through a codec are written as it reads them. */
  readonly decodes: boolean;
}

export type Written = ArchivedAt & { readonly seen: SeenOfEnded };

/** Undefined when it is gone meanwhile: then somebody else has archived it. */
export async function writeExecution(
  config: EngineConfig,
  { archive, decodes }: Archiving,
  id: ExecutionId,
): Promise<Written | undefined> {
  const { executions } = config.store;
  const gathered = await gather(executions, id);
  if (gathered === undefined) return undefined;
  const { execution, attachments, seen } = gathered;
  const payloads = config.payloads.of(execution.project);
  const drafts = await documentsOf(gathered, new Values(payloads, decodes));
  const place = placeOf(execution.project, execution.endedAt, nameOf(id, drafts, attachments));
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
    ...{ format: FORMAT, id, project, pipeline, status },
    endedAt: formatInstant(endedAt ?? (0 as Instant)),
    documents,
  };
  const bytes = jsonBytes(manifest);
  await archive.put({ path: `${place}/${MANIFEST}`, type: JSON_TYPE, bytes });
  return { place, digest: digestOf(bytes), seen };
}

const DIGEST_SHOWN = 12;

/** The same when it says the same: another version of it has another place. */
function nameOf(
  id: ExecutionId,
  drafts: readonly Draft[],
  attachments: readonly AttachmentSummary[],
): string {
  const said = drafts.map(({ name, bytes }) => `${name} ${digestOf(bytes)}`);
  const all = JSON.stringify([said, attachments]);
  return `${id}-${digestOf(Buffer.from(all)).slice(0, DIGEST_SHOWN)}`;
}

const DAY_CHARACTERS = 10;

function placeOf(project: string, endedAt: Instant | undefined, name: string): string {
  const day = formatInstant(endedAt ?? (0 as Instant)).slice(0, DAY_CHARACTERS);
  return `${safeName(project)}/${day}/${name}`;
}

const NAME_MAX = 80;

/** As a part of a path, whatever it is; two names are never the same. */
function safeName(name: string): string {
  if (/^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(name) && name.length <= NAME_MAX) return name;
  const readable = name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, NAME_MAX);
  return `${readable}-${digestOf(Buffer.from(name)).slice(0, DIGEST_SHOWN)}`;
}

/** The ways in which a codec says that this is not for it. */
const SEALED: ReadonlySet<string> = new Set(['codec-missing', 'codec-refused', 'codec-broken']);

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
  const file = `attachments/${String(nth + 1).padStart(3, '0')}-${safeName(name)}`;
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
