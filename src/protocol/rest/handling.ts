// Finds an execution for a caller. Executions of other projects count as missing.

import type { Static } from 'typebox';
import type { ExecutionFilter, ListOptions } from '../../engine/holdfast.ts';
import type { ExecutionRecord, Status } from '../../execution/execution.ts';
import { type ExecutionId, keyOfRef, parseExecutionRef } from '../../execution/names.ts';
import { describeExecutionRefusal } from '../../execution/refusal.ts';
import type { AttributeFilter } from '../../store/contract/execution-reads.ts';
import { dateFrom, formatInstant, type Instant } from '../../support/clock.ts';
import { digestOf } from '../../support/digest.ts';
import { present, shown } from '../../support/options.ts';
import type { Timers } from '../../support/timer.ts';
import { SharedRead } from '../../support/turns.ts';
import type { countQuery } from '../messages/execution.ts';
import { type Caller, type Coordinator, ProblemReply, type Reply } from './route.ts';

/** Refers the caller of a removed execution to the archive (F-7). */
async function refuseArchived(
  { executions }: Coordinator['store'],
  caller: Caller,
  id: ExecutionId,
): Promise<void> {
  const archived = await executions.archived(id);
  if (archived?.project !== caller.project) return;
  throw new ProblemReply(
    'execution-archived',
    `Execution ${id} ended as ${archived.status} and was archived at ${formatInstant(archived.archivedAt)}, so the store no longer has it. Read its documents: holdfast archive get ${id} (GET /v1/archive/${id}).`,
  );
}

export async function executionFor(
  { store }: Coordinator,
  caller: Caller,
  id: string,
): Promise<ExecutionRecord> {
  const ref = parseExecutionRef(id);
  const key = keyOfRef(ref);
  const { project } = caller;
  const known =
    key === undefined ? (ref as ExecutionId) : await store.executions.idOfKey({ project, key });
  const record = known && (await store.executions.read(known));
  if (record?.project === project) return record;
  if (key === undefined) await refuseArchived(store, caller, ref as ExecutionId);
  const why = 'execution-unknown';
  throw new ProblemReply(why, describeExecutionRefusal({ why, id: ref }));
}

// Turns records into messages, with times as text.

/** The named times of a record; leaves out undefined ones. */
export function writtenTimes<Record extends object, Name extends keyof Record & string>(
  record: Record,
  ...names: readonly Name[]
): { [Each in keyof Pick<Record, Name>]: string } {
  const texts = names.flatMap((name) => {
    const at = record[name] as Instant | undefined;
    return at === undefined ? [] : [[name, formatInstant(at)]];
  });
  return Object.fromEntries(texts);
}

// Responds with 304 to unchanged reads; the digest of the content is the tag.

export function withEtag(body: unknown, ifNoneMatch: string | undefined): Reply {
  const etag = etagOf(Buffer.from(JSON.stringify(body)));
  const headers = { etag, 'cache-control': 'no-cache' };
  return matchesEtag(etag, ifNoneMatch) ? { status: 304, headers } : { status: 200, body, headers };
}

export function etagOf(bytes: Buffer): string {
  return `"${digestOf(bytes).slice(0, 32)}"`;
}

export function matchesEtag(etag: string, ifNoneMatch: string | undefined): boolean {
  return ifNoneMatch?.split(',').some((each) => each.trim().replace(/^W\//, '') === etag) === true;
}

// The prefix of the engine's own names. Their work has routes and roles of its own.

const RESERVED = 'holdfast.';

export function isReserved(name: string): boolean {
  return name.startsWith(RESERVED);
}

export function requireOpenName(what: string, name: string): void {
  if (!isReserved(name)) return;
  throw new ProblemReply(
    'name-reserved',
    `${what} whose name begins with "${RESERVED}" is reserved for the engine. Nothing was done. Use the operation of the API for it, or another name.`,
  );
}

// Reads that many requests share.

/** The most keys of one coordinator. */
const SHARED_MAX = 1_000;

/** Requests with the same key share one read for a while. */
export class SharedReads<Found> {
  readonly #ageMs: number;
  readonly #reads: WeakMap<Coordinator, Map<string, SharedRead<Found>>> = new WeakMap();

  constructor(ageMs: number) {
    this.#ageMs = ageMs;
  }

  found(coordinator: Coordinator, key: string, read: () => Promise<Found>): Promise<Found> {
    const reads = this.#reads.get(coordinator) ?? new Map<string, SharedRead<Found>>();
    this.#reads.set(coordinator, reads);
    if (reads.size >= SHARED_MAX && !reads.has(key)) reads.clear();
    const { clock } = coordinator;
    const shared = reads.get(key) ?? new SharedRead({ read, clock, ageMs: this.#ageMs });
    reads.set(key, shared);
    return shared.found();
  }
}

// Long polls: held for a while, and released early when the caller is gone.

/** Undefined when the time is over or the caller has gone. */
export async function withinMs<Found>(
  timers: Timers,
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
  wait: (until: AbortSignal) => Promise<Found>,
): Promise<Found | undefined> {
  const over = new AbortController();
  const stop = (): void => over.abort();
  if (signal.aborted) return undefined;
  signal.addEventListener('abort', stop, { once: true });
  const cancel = timers.after(ms, stop);
  try {
    return await wait(over.signal);
  } catch (error) {
    if (over.signal.aborted) return undefined;
    throw error;
  } finally {
    cancel();
    signal.removeEventListener('abort', stop);
  }
}

type FilterQuery = Static<typeof countQuery>;

/** The filter of a query, or of a bulk job. */
export function filterFrom(query: FilterQuery, { project }: Caller): ExecutionFilter {
  const { status, where = [], attribute, equals, min, max, q, ...others } = query;
  const { submittedFrom, submittedTo, endedFrom, endedTo, ...rest } = others;
  const times = present({ submittedFrom, submittedTo, endedFrom, endedTo });
  const compared = { equals: labelOf(equals), min, max };
  const isCompared = Object.values(compared).some((each) => each !== undefined);
  if (isCompared && attribute === undefined) {
    throw new ProblemReply(
      'invalid-input',
      'equals, min and max filter by an attribute. Pass its name: attribute=<name>.',
    );
  }
  const attributes = [
    ...where.map(attributeFrom),
    ...(attribute === undefined ? [] : [{ name: attribute, ...present(compared) }]),
  ];
  return {
    ...rest,
    ...(q !== undefined && searchFor(q)),
    ...Object.fromEntries(
      Object.entries(times).map(([name, text]) => [name, dateFrom(text).getTime()]),
    ),
    project,
    ...(status === undefined ? {} : { status: status as readonly Status[] }),
    ...(attributes.length > 0 && { attribute: attributes }),
  };
}

const WHERE = /^(?<name>[^=<>]+)(?:(?<operator>=|>=|<=)(?<value>.*))?$/s;

function attributeFrom(where: string): AttributeFilter {
  const { name, operator, value } = WHERE.exec(where)?.groups ?? {};
  const number = operator === '=' ? 0 : Number(value?.trim() || Number.NaN);
  if (name === undefined || (operator !== undefined && !Number.isFinite(number))) {
    throw new ProblemReply(
      'invalid-input',
      `where must be name, name=value, name>=number or name<=number; got ${shown(where)}.`,
    );
  }
  if (operator === undefined) return { name };
  if (operator === '=') return { name, equals: labelOf(value) ?? '' };
  return operator === '>=' ? { name, min: number } : { name, max: number };
}

/** Keys of people are seldom eight hexadecimal digits; ids always begin with them. */
function searchFor(q: string): Pick<ListOptions, 'idPrefix' | 'keyPrefix'> {
  return /^[0-9a-f-]{8,36}$/.test(q) ? { idPrefix: q } : { keyPrefix: q };
}

/** Reads `true`, `17` and `"17"` as JSON; anything else is text. */
function labelOf(text: string | undefined): string | number | boolean | undefined {
  if (text === undefined) return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return /^".*"$/s.test(text) ? text.slice(1, -1) : text;
}
