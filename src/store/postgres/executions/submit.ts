import type { ClientBase } from 'pg';
import { decideSubmit } from '../../../execution/decide/submit.ts';
import type { NoSuchRelease } from '../../../execution/refusal.ts';
import { changedBySubmit } from '../../../features/audit/decide.ts';
import type { Audited } from '../../../features/audit/model.ts';
import { noSuchRelease } from '../../../features/releases/decide.ts';
import type { Instant } from '../../../support/clock.ts';
import { InvalidInput } from '../../../support/fault.ts';
import type { Submit, SubmitAnswer, TransactionClient } from '../../contract/execution-store.ts';
import { toExecution } from '../../execution-rows.ts';
import { writeAudit } from '../../sql/audit.ts';
import { EXECUTION_COLUMNS, type LockedRow } from '../../sql/executions.ts';
import { readRelease } from '../../sql/releases.ts';
import { Committer, isClash } from '../committer.ts';
import { type Queries, statement, toFault } from '../database.ts';
import { play } from '../gateway.ts';
import { hasPlaces, insertExecutions, insertWithPlaces, namesOf } from './insert-executions.ts';
import type { Parts } from './parts.ts';

const SAME = statement(`
  select ${EXECUTION_COLUMNS.postgres}, hf_now() as now
    from hf.execution e
   where e.id = $1
   union all
  select ${EXECUTION_COLUMNS.postgres}, hf_now() as now
    from hf.execution e
   where e.project = $2
     and e.key = $3
     and e.id <> $1`);

export function submitter(parts: Parts): {
  submit(request: Submit & Audited): Promise<SubmitAnswer>;
  close(): Promise<void>;
} {
  const committer = new Committer<Submit & Audited, SubmitAnswer>(
    {
      lanes: 2,
      keysOf: namesOf,
      fits: () => true,
      flush: (requests) => flush(parts, requests),
      settle: (request) => settle(parts, request),
    },
    parts.surroundings,
  );
  return { submit: (request) => committer.push(request), close: () => committer.close() };
}

async function flush(
  parts: Parts,
  requests: readonly (Submit & Audited)[],
): Promise<readonly (SubmitAnswer | undefined)[]> {
  const inserted = await insertAll(parts, requests);
  parts.bell.ring();
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
  if (!hasPlaces(requests) && audited.length === 0) {
    const inserts = requests.map((submit) => ({ submit }));
    return boundaries.around(() => insertExecutions(database, inserts, false));
  }
  return database.attempt(async (queries) => {
    const result = await insertWithPlaces(queries, requests, false);
    const isInserted = new Set(requests.filter((_, nth) => result[nth] === true));
    await noteStarts(
      queries,
      audited.filter((request) => isInserted.has(request)),
    );
    return { keep: true, result };
  }, boundaries);
}

const TIME = statement('select hf_now() as now');

/** J-1: of jobs. */
async function noteStarts(queries: Queries, started: readonly (Submit & Audited)[]): Promise<void> {
  if (started.length === 0) return;
  const [time] = await queries.rows<{ now: number }>(TIME, []);
  const now = (time?.now ?? 0) as Instant;
  for (const request of started) {
    await play(queries, writeAudit(request, changedBySubmit(request), now));
  }
}

/** who is there with this id or key. */
async function settle(parts: Parts, request: Submit & Audited): Promise<SubmitAnswer> {
  const settled = await answerByWhoIsThere(parts.database, request);
  if (settled !== undefined) return settled;
  const [answer] = await flush(parts, [request]);
  return answer ?? settle(parts, request);
}

/** Undefined when it can be inserted now: the one before is gone, or its key went to a successor. */
export async function answerByWhoIsThere(
  queries: Queries,
  request: Submit,
): Promise<SubmitAnswer | undefined> {
  const answer = await submitted(queries, request);
  if (answer !== undefined) return answer;
  const refusal = await refuseRelease(queries, request);
  return refusal && { kind: 'refused', ...refusal };
}

/** By the execution that has its id or key. */
export async function submitted(
  queries: Queries,
  request: Submit,
): Promise<SubmitAnswer | undefined> {
  const { id, project, key } = request;
  const rows = await queries.rows<LockedRow>(SAME, [id, project, key ?? null]);
  const found = rows.map(toExecution);
  const byId = found.find((execution) => execution.id === id);
  const byKey = key === undefined ? undefined : found.find((execution) => execution.key === key);
  const now = (rows[0]?.now ?? 0) as Instant;
  const decision = decideSubmit({ byId, byKey, exhausted: false }, request, now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'existing') return { kind: 'submitted', id: decision.id, existing: true };
  return undefined;
}

/** RE-6: of a release that was asked for by name, once nothing was inserted. */
async function refuseRelease(
  queries: Queries,
  { project, pipeline, release: name }: Submit,
): Promise<NoSuchRelease | undefined> {
  if (name === undefined) return undefined;
  const stored = await play(queries, readRelease({ project, pipeline, name }));
  return noSuchRelease(stored, { pipeline, name });
}

const NO_TRANSACTION = '25P01';

/** with its savepoint, so that a lost race leaves the caller's transaction as it was. */
export async function submitWithin(
  { database }: Parts,
  given: TransactionClient,
  request: Submit,
): Promise<SubmitAnswer> {
  const client = given as ClientBase;
  const queries = database.on(client);
  for (;;) {
    if (await inserted(client, queries, request)) {
      return { kind: 'submitted', id: request.id, existing: false };
    }
    const answer = await answerByWhoIsThere(queries, request);
    if (answer !== undefined) return answer;
  }
}

async function inserted(client: ClientBase, queries: Queries, request: Submit): Promise<boolean> {
  await client.query('savepoint holdfast_submit').catch(explain);
  try {
    const [isInserted = false] = await insertWithPlaces(queries, [request], false);
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
    'submit: client has no transaction open. Nothing was submitted. Send "begin" on it first.',
    { cause },
  );
}
