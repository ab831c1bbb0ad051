// Records → messages.

import type { Holdfast } from '../../engine/holdfast.ts';
import { mayBeTagged } from '../../engine/values/payloads.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { Failure } from '../../execution/failure.ts';
import { type HistoryEvent, saidIn } from '../../execution/history.ts';
import type { ProjectName } from '../../execution/names.ts';
import { BAD_ENDS } from '../../execution/report.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';
import { viewOf } from '../../support/value.ts';
import type { ExecutionInFull, ExecutionMessage, HistoryMessage } from '../messages/execution.ts';

/** Who reads values: what is kept apart is of a project. */
export interface Reader {
  readonly holdfast: Holdfast;
  readonly project: ProjectName;
}

type Times = 'readyAt' | 'claimedAt' | 'endedAt' | 'deadlineAt';

export function executionMessage(record: ExecutionRecord): ExecutionMessage {
  const { key, release, template, submittedBy, parent, redriveOf, fence, session } = record;
  return {
    id: record.id,
    project: record.project,
    pipeline: record.pipeline,
    lane: record.lane,
    status: record.status,
    holds: [...record.holds],
    compensating: record.compensating,
    lineage: record.lineage,
    submittedAt: formatInstant(record.submittedAt),
    ...timesOf(record),
    ...(key === undefined ? {} : { key }),
    ...(release === undefined ? {} : { release }),
    ...(template === undefined ? {} : { template }),
    ...(submittedBy === undefined ? {} : { submittedBy }),
    ...(parent === undefined ? {} : { parent: parent.id }),
    ...(redriveOf === undefined ? {} : { redriveOf }),
    ...(fence === undefined ? {} : { fence }),
    ...(session === undefined ? {} : { session }),
    tags: [...record.tags],
    attributes: { ...record.attributes },
    seq: record.seq,
  };
}

/** A page has many of them. */
const LISTED_MESSAGE_MAX = 200;

/** With the reason of each bad end, all of them by one read. */
export async function listedMessages(
  { executions }: CoordinatorStore,
  records: readonly ExecutionRecord[],
): Promise<ExecutionMessage[]> {
  const ended = records.filter(({ status }) => BAD_ENDS.has(status)).map(({ id }) => id);
  const outcomes = ended.length === 0 ? [] : await executions.outcomes(ended);
  const failures = new Map(outcomes.map(({ id, event }) => [id, failureIn(event.body)]));
  return records.map((record) => {
    const failure = failures.get(record.id);
    return { ...executionMessage(record), ...(failure && { failure }) };
  });
}

function failureIn(body: string | undefined): ExecutionMessage['failure'] {
  const { failure } = saidIn<{ failure: Failure }>(body);
  if (failure === undefined) return undefined;
  const { code, message, location } = failure;
  return {
    code: String(code),
    message: String(message).slice(0, LISTED_MESSAGE_MAX),
    ...(location === undefined ? {} : { location: String(location) }),
  };
}

function timesOf(record: ExecutionRecord): Partial<Record<Times, string>> {
  const names: readonly Times[] = ['readyAt', 'claimedAt', 'endedAt', 'deadlineAt'];
  const times = names.flatMap((name) => {
    const at: Instant | undefined = record[name];
    return at === undefined ? [] : [[name, formatInstant(at)] as const];
  });
  return Object.fromEntries(times);
}

export async function executionInFull(
  holdfast: Holdfast,
  record: ExecutionRecord,
): Promise<ExecutionInFull> {
  const { input, progress } = record;
  const reader = { holdfast, project: record.project };
  const values = await readable(reader, { input, ...(progress && { progress }) });
  return { ...executionMessage(record), ...values };
}

/** What went through a codec that is not here stays closed, and what is no value as it is stored; that is said. */
export async function readable<Name extends string>(
  { holdfast, project }: Reader,
  payloads: Readonly<Partial<Record<Name, string | object>>>,
): Promise<Partial<Record<Name, unknown>> & { readonly sealed?: true }> {
  try {
    const entries = Object.entries<string | object | undefined>(payloads);
    const values = await Promise.all(
      entries.map(async ([name, payload]) => {
        const value = await holdfast.decode(payload ?? {}, { project });
        return [name, mayBeTagged(payload ?? {}) ? viewOf(value) : value] as const;
      }),
    );
    return Object.fromEntries(values) as Partial<Record<Name, unknown>>;
  } catch (error) {
    if (!isSealed(error)) throw error;
    return { sealed: true } as { readonly sealed: true } & Partial<Record<Name, unknown>>;
  }
}

/** `out` in a body is a value; the rest of it is the engine's own. */
export async function historyMessage(reader: Reader, event: HistoryEvent): Promise<HistoryMessage> {
  const { seq, at, kind, name, fence, body } = event;
  return {
    seq,
    at: formatInstant(at),
    kind,
    ...(name === undefined ? {} : { name }),
    ...(fence === undefined ? {} : { fence }),
    ...(body === undefined ? {} : { body: await openedBody(reader, body) }),
  };
}

async function openedBody(reader: Reader, body: string): Promise<unknown> {
  const parsed = JSON.parse(body) as { readonly out?: object } | string | number | null;
  if (typeof parsed !== 'object' || parsed === null || !('out' in parsed)) return parsed;
  const { out, ...rest } = parsed;
  const { sealed, ...value } = await readable(reader, { out: out ?? {} });
  return { ...rest, ...value, ...(sealed && { sealed }) };
}

function isSealed(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  // Workers wrote what they liked before the door looked at it.
  return code === 'codec-missing' || code === 'codec-refused' || code === 'invalid-input';
}
