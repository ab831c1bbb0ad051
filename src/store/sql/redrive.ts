// Re-drives any number of executions in one transaction (Y-20 … Y-23).

import type { ExecutionRecord } from '../../execution/execution.ts';
import type { ExecutionId } from '../../execution/names.ts';
import type { NoSuchRelease } from '../../execution/refusal.ts';
import { changedByRedrive } from '../../features/audit/decide.ts';
import { decideRedrive, type RedriveDecision } from '../../features/repair/decide.ts';
import type { Redrive, RedriveResult } from '../../features/repair/port.ts';
import type { Instant } from '../../support/clock.ts';
import { TERMINAL_FROM, toExecution } from '../execution-rows.ts';
import { writeAudit } from './audit.ts';
import { EXECUTION_COLUMNS, type LockedRow, readMany } from './executions.ts';
import { itemName, keepResults, keptResults, type OfJob } from './jobs.ts';
import { refuseRelease } from './releases.ts';
import { all, type Script, sqlPerDialect } from './script.ts';

// Two re-drives of one execution run one after the other. The unique index is the actual guard
// (Y-21).
const LOCK = sqlPerDialect(
  EXECUTION_COLUMNS,
  (columns) => `
  select ${columns}, hf_now() as now
    from hf.execution as e
   where e.id = any (:ids::uuid[])
   order by e.id
     for no key update of e`,
);

/** The condition of the index of re-drives. */
const OPEN = { sqlite: 'r.ended_at is null', postgres: `r.status < ${TERMINAL_FROM}` };

const OPEN_ONES = sqlPerDialect(
  OPEN,
  (isOpen) => `
  select r.redrive_of as ended, r.id
    from hf.execution as r indexed by execution_redrive
   where r.redrive_of = any (:ids::uuid[])
     and r.redrive_of is not null
     and ${isOpen}`,
);

// Marks the dead letter, if there is one (Y-22). The caller has already inserted the re-drive.
const MARK = sqlPerDialect(
  OPEN,
  (isOpen) => `
  update hf.dead_letter as d
     set redriven_by = (select r.id from hf.execution as r indexed by execution_redrive where r.redrive_of = d.execution_id and r.redrive_of is not null and ${isOpen})
   where d.execution_id = any (:ids::uuid[])`,
);

/** A re-drive and the execution to insert for it. */
export interface Redriven extends Redrive {
  readonly execution: ExecutionRecord;
}

/**
 * Inserts executions that have a history, and returns for each if it was inserted. Each store has
 * its own function.
 */
export type InsertRedriven = (redriven: readonly Redriven[]) => Script<readonly boolean[]>;

/**
 * Undefined for an execution that was not inserted: another transaction took its id or retired its
 * release.
 */
export type RedriveResults = readonly (RedriveResult | undefined)[];

/** Items that already have a result get the same one again (Y-23). */
export function* redriveAll(
  requests: readonly Redrive[],
  insert: InsertRedriven,
): Script<RedriveResults> {
  const kept = yield* keptResults<RedriveResult>(requests.flatMap(itemOf));
  const isKept = (request: Redrive): boolean =>
    itemOf(request).some((item) => kept.has(itemName(item)));
  const left = requests.filter((request) => !isKept(request));
  const results = left.length === 0 ? [] : yield* redriveNew(left, insert);
  const fresh = new Map(left.map((request, nth) => [request, results[nth]]));
  return requests.map((request) => {
    const [item] = itemOf(request);
    return (item && kept.get(itemName(item))) ?? fresh.get(request);
  });
}

function itemOf({ job, of }: Redrive): readonly OfJob[] {
  return job === undefined ? [] : [{ job, target: of }];
}

/** One request, and the decision about it. */
interface Try {
  readonly request: Redrive;
  readonly ended: ExecutionRecord | undefined;
  readonly decision: RedriveDecision;
}

function* redriveNew(requests: readonly Redrive[], insert: InsertRedriven): Script<RedriveResults> {
  const ids = requests.map(({ of }) => of);
  const locked = yield* all<LockedRow>(LOCK, { ids });
  const ended = byId(locked.map(toExecution));
  const found = yield* all<{ ended: ExecutionId; id: ExecutionId }>(OPEN_ONES, { ids });
  const open = new Map(found.map((each) => [each.ended, each.id]));
  const taken = byId(yield* readMany(requests.map(({ submit }) => submit.id)));
  const now = locked.at(-1)?.now ?? (0 as Instant);
  const tries = yield* withReleases(
    requests.map((request) => {
      const { of, submit } = request;
      const view = { of: ended.get(of), open: open.get(of), byId: taken.get(submit.id) };
      return { request, ended: view.of, decision: decideRedrive(view, request, now) };
    }),
  );
  const made = yield* insertAll(tries, insert);
  const answered = tries.map((each) => ({ ...each, result: answerOf(each.decision, made) }));
  for (const { request, ended, decision } of tries) {
    if (!made.has(request.submit.id)) continue;
    yield* writeAudit(request, changedByRedrive(ended, decision), now);
  }
  yield* keepResults(
    answered.flatMap(({ request, result }) =>
      result === undefined ? [] : itemOf(request).map((item) => ({ item, result })),
    ),
  );
  return answered.map(({ result }) => result);
}

function byId(executions: readonly ExecutionRecord[]): ReadonlyMap<ExecutionId, ExecutionRecord> {
  return new Map(executions.map((execution) => [execution.id, execution]));
}

/**
 * Refuses re-drives that name a release which does not exist (RE-6). Many requests name the same
 * one, so each is read once.
 */
function* withReleases(tries: readonly Try[]): Script<readonly Try[]> {
  const refusals = new Map<string, NoSuchRelease | undefined>();
  const checked: Try[] = [];
  for (const each of tries) {
    const { project, pipeline, release: name } = each.request.submit;
    if (each.decision.kind !== 'insert' || name === undefined) {
      checked.push(each);
      continue;
    }
    const place = JSON.stringify([project, pipeline, name]);
    if (!refusals.has(place)) {
      refusals.set(place, yield* refuseRelease(each.request.submit));
    }
    const refusal = refusals.get(place);
    checked.push(refusal ? { ...each, decision: { kind: 'refuse', refusal } } : each);
  }
  return checked;
}

/** Returns the ids that were inserted. */
function* insertAll(
  tries: readonly Try[],
  insert: InsertRedriven,
): Script<ReadonlySet<ExecutionId>> {
  const wanted = tries.flatMap(({ request, decision }) =>
    decision.kind === 'insert' ? [{ ...request, execution: decision.execution }] : [],
  );
  if (wanted.length === 0) return new Set();
  const inserted = yield* insert(wanted);
  const done = wanted.filter((_, nth) => inserted[nth] === true);
  yield* all(MARK, { ids: done.map(({ of }) => of) });
  return new Set(done.map(({ submit }) => submit.id));
}

function answerOf(
  decision: RedriveDecision,
  made: ReadonlySet<ExecutionId>,
): RedriveResult | undefined {
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'existing') return { kind: 'submitted', id: decision.id, existing: true };
  const { id } = decision.execution;
  return made.has(id) ? { kind: 'submitted', id, existing: false } : undefined;
}
