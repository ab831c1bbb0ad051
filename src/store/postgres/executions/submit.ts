import type { ClientBase } from 'pg';
import { changedBySubmit } from '../../../features/audit/decide.ts';
import type { Audited } from '../../../features/audit/model.ts';
import type { Instant } from '../../../support/clock.ts';
import { InvalidInput } from '../../../support/fault.ts';
import type { Submit, SubmitResult, TransactionClient } from '../../contract/execution-store.ts';
import { writeAudit } from '../../sql/audit.ts';
import { existingSubmit } from '../../sql/executions.ts';
import { Committer, isClash } from '../committer.ts';
import { type Queries, statement, toFault } from '../database.ts';
import { play } from '../gateway.ts';
import { hasConcurrency, insertExecutions, insertWithSlots, namesOf } from './insert-executions.ts';
import type { Parts } from './parts.ts';

export function submitter(parts: Parts): {
  submit(request: Submit & Audited): Promise<SubmitResult>;
  close(): Promise<void>;
} {
  const committer = new Committer<Submit & Audited, SubmitResult>(
    {
      lanes: 2,
      keysOf: namesOf,
      fits: () => true,
      charsOf: ({ input }) => input.length,
      flush: (requests) => flush(parts, requests),
      settle: (request) => settle(parts, request),
    },
    parts.environment,
  );
  return { submit: (request) => committer.push(request), close: () => committer.close() };
}

async function flush(
  parts: Parts,
  requests: readonly (Submit & Audited)[],
): Promise<readonly (SubmitResult | undefined)[]> {
  const inserted = await insertAll(parts, requests);
  parts.wakeups.notify(
    requests.map(({ project }) => project),
    { ended: [], ready: requests },
  );
  return requests.map(({ id }, nth) =>
    inserted[nth] ? { kind: 'submitted', id, existing: false } : undefined,
  );
}

function insertAll(
  parts: Parts,
  requests: readonly (Submit & Audited)[],
): Promise<readonly (true | undefined)[]> {
  const { database, boundaries } = parts;
  const audited = requests.filter(({ audit }) => audit !== undefined);
  if (!hasConcurrency(requests) && audited.length === 0) {
    const inserts = requests.map((submit) => ({ submit }));
    return boundaries.around(() => insertExecutions(database, inserts, false));
  }
  return database.attempt(async (queries) => {
    const result = await insertWithSlots(queries, requests, false);
    const isInserted = new Set(requests.filter((_, nth) => result[nth] === true));
    await noteStarts(
      queries,
      audited.filter((request) => isInserted.has(request)),
    );
    return { keep: true, result };
  }, boundaries);
}

const TIME = statement('select hf_now() as now');

/** Writes the audit records of started jobs (J-1). */
async function noteStarts(queries: Queries, started: readonly (Submit & Audited)[]): Promise<void> {
  if (started.length === 0) return;
  const [time] = await queries.rows<{ now: number }>(TIME, []);
  const now = (time?.now ?? 0) as Instant;
  for (const request of started) {
    await play(queries, writeAudit(request, changedBySubmit(request), now));
  }
}

/** Finds the execution that has this id or key. */
async function settle(parts: Parts, request: Submit & Audited): Promise<SubmitResult> {
  const settled = await play(parts.database, existingSubmit(request));
  if (settled !== undefined) return settled;
  const [result] = await flush(parts, [request]);
  return result ?? settle(parts, request);
}

const NO_TRANSACTION = '25P01';

/** Uses a savepoint, so that a lost race leaves the caller's transaction as it was. */
export async function submitWithin(
  { database }: Parts,
  given: TransactionClient,
  request: Submit,
): Promise<SubmitResult> {
  const client = given as ClientBase;
  const queries = database.on(client);
  for (;;) {
    if (await inserted(client, queries, request)) {
      return { kind: 'submitted', id: request.id, existing: false };
    }
    const result = await play(queries, existingSubmit(request));
    if (result !== undefined) return result;
  }
}

async function inserted(client: ClientBase, queries: Queries, request: Submit): Promise<boolean> {
  await client.query('savepoint holdfast_submit').catch(explain);
  try {
    const [isInserted = false] = await insertWithSlots(queries, [request], false);
    await client.query('release savepoint holdfast_submit');
    return isInserted;
  } catch (cause) {
    const fault = toFault(cause);
    await client.query('rollback to savepoint holdfast_submit');
    if (isClash(fault)) return false;
    throw fault;
  }
}

function explain(cause: { readonly code?: string }): never {
  if (cause.code !== NO_TRANSACTION) throw toFault(cause);
  throw new InvalidInput(
    'submit: client has no open transaction. Nothing was submitted. Send "begin" on it first.',
    { cause },
  );
}
