import type { ExecutionId } from '../../../execution/names.ts';
import { auditOf, changedByRedrive } from '../../../features/audit/decide.ts';
import { decideRedrive, type RedriveDecision } from '../../../features/repair/decide.ts';
import type { Redrive, RedriveAnswer } from '../../../features/repair/port.ts';
import { assert } from '../../../support/assert.ts';
import { sagaOf } from '../../execution-rows.ts';
import { Committer } from '../committer.ts';
import type { Queries } from '../database.ts';
import { writeAudit } from './audit.ts';
import { insertExecutions } from './insert-executions.ts';
import { itemName, noteAnswers, type OfJob, storedAnswers } from './jobs.ts';
import type { Parts } from './parts.ts';
import { lockPlaces, saveLimits } from './places.ts';
import { appendReused, lockForRedrive, markRedriven } from './redrive-rows.ts';
import { refuseRelease } from './submit.ts';

/** Bulk jobs ask for many at once: they go together, as submits do. */
export function redriver(parts: Parts): {
  redrive(request: Redrive): Promise<RedriveAnswer>;
  close(): Promise<void>;
} {
  const committer = new Committer<Redrive, RedriveAnswer>(
    {
      lanes: 2,
      keysOf: ({ of, submit }) => [of, submit.id],
      fits: () => true,
      flush: (requests) => flush(parts, requests),
      settle: (request) => settle(parts, request),
    },
    parts.surroundings,
  );
  return {
    // Here too: what is decided is decided for all that go together.
    async redrive(request) {
      assert(request.submit.key === undefined, 'Y-20: the key stays with what is driven again');
      return committer.push(request);
    },
    close: () => committer.close(),
  };
}

type Answers = readonly (RedriveAnswer | undefined)[];

/** Whoever took its id meanwhile is there now. */
async function settle(parts: Parts, request: Redrive): Promise<RedriveAnswer> {
  const refusal = await refuseRelease(parts.database, request.submit);
  if (refusal !== undefined) return { kind: 'refused', ...refusal };
  const [answer] = await flush(parts, [request]);
  return answer ?? settle(parts, request);
}

async function flush(parts: Parts, requests: readonly Redrive[]): Promise<Answers> {
  const answers = await parts.database.attempt<Answers>(async (queries) => {
    const stored = await storedAnswers<RedriveAnswer>(queries, requests.flatMap(itemOf));
    const known = requests.map((request) => {
      const [item] = itemOf(request);
      return item === undefined ? undefined : stored.get(itemName(item));
    });
    const left = requests.filter((_, nth) => known[nth] === undefined);
    const done = left.length === 0 ? [] : await redriveAll(queries, left);
    const fresh = new Map(left.map((request, nth) => [request, done[nth]]));
    const result = requests.map((request, nth) => known[nth] ?? fresh.get(request));
    return { keep: left.length > 0, result };
  }, parts.boundaries);
  parts.bell.ring();
  return answers;
}

function itemOf({ job, of }: Redrive): readonly OfJob[] {
  return job === undefined ? [] : [{ job, target: of }];
}

/** In a transaction; undefined for what was not inserted. */
async function redriveAll(queries: Queries, requests: readonly Redrive[]): Promise<Answers> {
  const { now, ...view } = await lockForRedrive(queries, requests);
  const decisions = requests.map((request) => {
    const { of, submit } = request;
    const [ended, open, byId] = [view.ended.get(of), view.open.get(of), view.byId.get(submit.id)];
    return decideRedrive({ of: ended, open, byId }, request, now);
  });
  const made = await insertAll(queries, requests, decisions);
  const answers = decisions.map((decision) => answerOf(decision, made));
  const records = requests.flatMap((request, nth) => {
    const decision = decisions[nth];
    if (decision === undefined || !made.has(request.submit.id)) return [];
    return [auditOf(request, changedByRedrive(view.ended.get(request.of), decision), now)];
  });
  await writeAudit(queries, records);
  const items = requests.flatMap((request, nth) => {
    const answer = answers[nth];
    return answer === undefined ? [] : itemOf(request).map((of) => ({ of, answer }));
  });
  await noteAnswers(queries, items);
  return answers;
}

function answerOf(
  decision: RedriveDecision,
  made: ReadonlySet<ExecutionId>,
): RedriveAnswer | undefined {
  switch (decision.kind) {
    case 'refuse':
      return { kind: 'refused', ...decision.refusal };
    case 'existing':
      return { kind: 'submitted', id: decision.id, existing: true };
    case 'insert': {
      const { id } = decision.execution;
      return made.has(id) ? { kind: 'submitted', id, existing: false } : undefined;
    }
  }
}

/** Which ids were inserted. */
async function insertAll(
  queries: Queries,
  requests: readonly Redrive[],
  decisions: readonly RedriveDecision[],
): Promise<ReadonlySet<ExecutionId>> {
  const wanted = requests.flatMap((request, nth) => {
    const decision = decisions[nth];
    if (decision?.kind !== 'insert') return [];
    const { execution } = decision;
    return [{ ...request, seq: execution.seq, saga: sagaOf(execution) }];
  });
  if (wanted.length === 0) return new Set();
  const submits = wanted.map(({ submit }) => submit);
  const book = await lockPlaces(queries, submits);
  const inserted = await insertExecutions(queries, wanted, false);
  const done = wanted.filter((_, nth) => inserted[nth] === true);
  await saveLimits(
    queries,
    book,
    done.map(({ submit }) => submit),
  );
  await appendReused(queries, done);
  await markRedriven(queries, done);
  return new Set(done.map(({ submit }) => submit.id));
}
