import { changedBySubmit } from '../../../features/audit/decide.ts';
import type { Audited } from '../../../features/audit/model.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Submit, SubmitResult } from '../../contract/execution-store.ts';
import { writeAudit } from '../../sql/audit.ts';
import { existingSubmit } from '../../sql/executions.ts';
import { Committer } from '../committer.ts';
import { type Queries, statement } from '../database.ts';
import { play } from '../gateway.ts';
import {
  hasConcurrency,
  type Insert,
  insertOf,
  insertWithSlots,
  namesOf,
} from './insert-executions.ts';
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
  parts.claimBehind.watch(() => committer.isDue);
  return { submit: (request) => committer.push(request), close: () => committer.close() };
}

async function flush(
  parts: Parts,
  requests: readonly (Submit & Audited)[],
): Promise<readonly (SubmitResult | undefined)[]> {
  const { inserted, claimed } = await insertAll(parts, requests);
  const ready = requests.filter(({ id }) => !claimed.has(id));
  if (ready.length > 0) {
    parts.wakeups.notify(
      ready.map(({ project }) => project),
      { ended: [], ready },
    );
  }
  return requests.map(({ id }, nth) =>
    inserted[nth] ? { kind: 'submitted', id, existing: false } : undefined,
  );
}

async function insertAll(parts: Parts, requests: readonly (Submit & Audited)[]): Promise<Inserted> {
  const { database, boundaries } = parts;
  const audited = requests.filter(({ audit }) => audit !== undefined);
  if (!hasConcurrency(requests) && audited.length === 0) {
    const insert = insertOf(
      requests.map((submit) => ({ submit })),
      false,
    );
    return boundaries.around(() => insertWithClaim(parts, insert));
  }
  const inserted = await database.attempt(async (queries) => {
    const result = await insertWithSlots(queries, requests, false);
    const isInserted = new Set(requests.filter((_, nth) => result[nth] === true));
    await noteStarts(
      queries,
      audited.filter((request) => isInserted.has(request)),
    );
    return { keep: true, result };
  }, boundaries);
  return { inserted, claimed: NONE };
}

interface Inserted {
  readonly inserted: readonly (true | undefined)[];
  /** The executions that a claim took in the same transaction. */
  readonly claimed: ReadonlySet<string | null>;
}

const NONE: ReadonlySet<string | null> = new Set();

/** If a claim waits for this flush, both are one transaction. */
async function insertWithClaim(
  { database, claimBehind }: Parts,
  insert: Insert,
): Promise<Inserted> {
  const claiming = claimBehind.take();
  if (claiming === undefined) {
    const rows = await database.rows<object>(insert.statement, insert.values);
    return { inserted: insert.resultsFrom(rows), claimed: NONE };
  }
  const { inserted, claimed } = await claiming((claim) => database.together([insert, claim]));
  return { inserted: insert.resultsFrom(inserted), claimed };
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
