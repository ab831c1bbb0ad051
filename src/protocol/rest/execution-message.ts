// Records → messages.

import type { Holdfast } from '../../engine/holdfast.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { HistoryEvent } from '../../execution/history.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';
import type { ExecutionInFull, ExecutionMessage, HistoryMessage } from '../messages/execution.ts';

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
  const values = await readable(holdfast, { input, ...(progress && { progress }) });
  return { ...executionMessage(record), ...values };
}

/** What went through a codec that is not here stays closed, and that is said. */
export async function readable<Name extends string>(
  holdfast: Holdfast,
  payloads: Readonly<Partial<Record<Name, string | object>>>,
): Promise<Partial<Record<Name, unknown>> & { readonly sealed?: true }> {
  try {
    const entries = Object.entries<string | object | undefined>(payloads);
    const values = await Promise.all(
      entries.map(async ([name, payload]) => [name, await holdfast.decode(payload ?? {})] as const),
    );
    return Object.fromEntries(values) as Partial<Record<Name, unknown>>;
  } catch (error) {
    if (!isSealed(error)) throw error;
    return { sealed: true } as { readonly sealed: true } & Partial<Record<Name, unknown>>;
  }
}

/** `out` in a body is a value; the rest of it is the engine's own. */
export async function historyMessage(
  holdfast: Holdfast,
  event: HistoryEvent,
): Promise<HistoryMessage> {
  const { seq, at, kind, name, fence, body } = event;
  return {
    seq,
    at: formatInstant(at),
    kind,
    ...(name === undefined ? {} : { name }),
    ...(fence === undefined ? {} : { fence }),
    ...(body === undefined ? {} : { body: await openedBody(holdfast, body) }),
  };
}

async function openedBody(holdfast: Holdfast, body: string): Promise<unknown> {
  const parsed = JSON.parse(body) as { readonly out?: object } | string | number | null;
  if (typeof parsed !== 'object' || parsed === null || !('out' in parsed)) return parsed;
  const { out, ...rest } = parsed;
  const { sealed, ...value } = await readable(holdfast, { out: out ?? {} });
  return { ...rest, ...value, ...(sealed && { sealed }) };
}

function isSealed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'codec-missing';
}
