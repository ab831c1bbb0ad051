// Retention times, and the decision to remove (docs/spec/retention.md). Pure.

import {
  type Erasure,
  type ExecutionRecord,
  TERMINAL,
  type TerminalStatus,
} from '../../execution/execution.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';

/** A terminal status, or `deadLetter` for executions whose dead letter was not re-driven. */
export type KeepName = TerminalStatus | 'deadLetter';

export const KEEP_NAMES: readonly KeepName[] = [
  ...([...TERMINAL] as TerminalStatus[]),
  'deadLetter',
];

/** Milliseconds to keep executions after their end, by status; null: for ever. */
export type KeepMs = Readonly<Partial<Record<KeepName, number | null>>>;

/** The longest possible time: a hundred years. */
export const KEEP_MS_MAX: number = 100 * 366 * 86_400_000;

/** A project's settings override the deployment's, name by name (F-1). */
export function keepOf(deployment: KeepMs, project: KeepMs = {}): KeepMs {
  return { ...deployment, ...project };
}

/** The shortest retention; undefined if everything is kept for ever. */
export function shortestKeep(keep: KeepMs): number | undefined {
  const times = KEEP_NAMES.map((name) => keep[name]).filter((ms) => typeof ms === 'number');
  return times.length === 0 ? undefined : Math.min(...times);
}

/** An ended execution that nothing refers to (F-2). */
export interface Removable {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  readonly status: TerminalStatus;
  readonly endedAt: Instant;
  /** Its dead letter has no re-drive. */
  readonly hasOpenLetter: boolean;
}

/** Its retention; undefined means for ever. */
export function keptFor({ status, hasOpenLetter }: Removable, keep: KeepMs): number | undefined {
  return keep[hasOpenLetter ? 'deadLetter' : status] ?? undefined;
}

export function isDue(item: Removable, keep: KeepMs, now: Instant): boolean {
  const ms = keptFor(item, keep);
  return ms !== undefined && item.endedAt + ms <= now;
}

/**
 * The parts of an ended execution that can still change. The removed state must equal the archived
 * one (F-6).
 */
export interface SeenOfEnded {
  /** The number of late answers. */
  readonly late: number;
  /** The re-drive that its dead letter names. */
  readonly redrivenBy?: ExecutionId;
  /** Its values were erased. */
  readonly erased?: true;
}

/** An archived execution, as the store's index has it. */
export interface ArchivedExecution {
  /** The id of the execution. */
  readonly id: ExecutionId;
  /** The project. */
  readonly project: ProjectName;
  /** The name of the pipeline. */
  readonly pipeline: PipelineName;
  /** The terminal status. */
  readonly status: TerminalStatus;
  /** When it was submitted. */
  readonly submittedAt: Instant;
  /** When it ended. */
  readonly endedAt: Instant;
  /** When it was archived. */
  readonly archivedAt: Instant;
  /** The idempotency key of the submission. */
  readonly key?: string;
  /** The tags. */
  readonly tags: readonly string[];
  /** The execution that started it. */
  readonly parent?: ExecutionId;
  /** The execution that it repaired. */
  readonly redriveOf?: ExecutionId;
  /** The path of its documents in the archive. */
  readonly place: string;
  /** The SHA-256 digest of the manifest that lists the documents. */
  readonly digest: string;
  /** Set if its values were erased. */
  readonly erased?: Erasure;
}

/** The place of its documents. */
export interface ArchivedAt {
  readonly place: string;
  readonly digest: string;
}

export function archivedOf(
  execution: ExecutionRecord,
  { place, digest }: ArchivedAt,
  archivedAt: Instant,
): ArchivedExecution {
  const { id, project, pipeline, status, submittedAt, key, tags, parent, redriveOf } = execution;
  return {
    ...{ id, project, pipeline, status: status as TerminalStatus, submittedAt },
    endedAt: execution.endedAt as Instant,
    archivedAt,
    ...(key === undefined ? {} : { key }),
    tags,
    ...(parent === undefined ? {} : { parent: parent.id }),
    ...(redriveOf === undefined ? {} : { redriveOf }),
    ...{ place, digest },
    ...(execution.erased && { erased: execution.erased }),
  };
}

/** The index and a search use at most this many words of a text. */
const WORDS_MAX = 16;

/**
 * The words by which a key is found: runs of letters and digits in lower case, and the whole key
 * (F-7).
 */
export function keyWords(text: string): readonly string[] {
  const lower = text.toLowerCase();
  const words = lower.match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set([...words, lower])].slice(0, WORDS_MAX);
}

/** The words of a search; all must match. */
export function searchWords(text: string): readonly string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words)].slice(0, WORDS_MAX);
}

// Removing ---------------------------------------------------------------------------------------

export interface RemoveRequest {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  /** The retention for its status. Absent: keep for ever while the dead letter is closed. */
  readonly keepMs?: number;
  /** The retention while its dead letter is open. */
  readonly letterMs?: number;
  /** The archived state. Absent: there is no archive, and nothing remains. */
  readonly archived?: ArchivedAt & { readonly seen: SeenOfEnded };
}

interface RemoveView {
  readonly execution: ExecutionRecord | undefined;
  readonly hasOpenLetter: boolean;
  readonly seen: SeenOfEnded;
  /** Its parent, the execution that it re-drives, or its predecessor still exists. */
  readonly isHeld: boolean;
  /** A child, a re-drive or its successor is open. */
  readonly isNeeded: boolean;
}

export type WhyKept = 'unknown' | 'open' | 'not-due' | 'in-use' | 'changed';

type RemoveDecision =
  | { readonly kind: 'remove' }
  | { readonly kind: 'kept'; readonly why: WhyKept };

export function decideRemove(
  view: RemoveView,
  request: RemoveRequest,
  now: Instant,
): RemoveDecision {
  const { execution } = view;
  if (execution === undefined || execution.project !== request.project) return kept('unknown');
  if (execution.endedAt === undefined) return kept('open');
  const ms = view.hasOpenLetter ? request.letterMs : request.keepMs;
  if (ms === undefined || execution.endedAt + ms > now) return kept('not-due');
  if (view.isHeld || view.isNeeded) return kept('in-use');
  const { archived } = request;
  if (archived !== undefined && !isSame(archived.seen, view.seen)) return kept('changed');
  return { kind: 'remove' };
}

function kept(why: WhyKept): RemoveDecision {
  return { kind: 'kept', why };
}

function isSame(a: SeenOfEnded, b: SeenOfEnded): boolean {
  return a.late === b.late && a.redrivenBy === b.redrivenBy && a.erased === b.erased;
}

/** The execution that an event of a continuation chain names; undefined for other events. */
export function namedBy(
  body: string | undefined,
  name: 'continues' | 'continuedAs',
): ExecutionId | undefined {
  const found = CHAIN[name].exec(body ?? '')?.[1];
  return found as ExecutionId | undefined;
}

const ID = '([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})';
const CHAIN = {
  continues: new RegExp(`^{"continues":"${ID}"`),
  continuedAs: new RegExp(`^{"continuedAs":"${ID}"`),
};
