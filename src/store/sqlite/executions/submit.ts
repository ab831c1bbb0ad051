import type { PipelineName } from '../../../execution/names.ts';
import { routeOf } from '../../../execution/route.ts';
import { changedBySubmit } from '../../../features/audit/decide.ts';
import type { Audited } from '../../../features/audit/model.ts';
import { pinOf, type Rollout } from '../../../features/releases/model.ts';
import type { ChangeRollout, RolloutChanged } from '../../../features/releases/port.ts';
import { type RolloutRow, toRollout } from '../../../features/releases/rows.ts';
import { assert } from '../../../support/assert.ts';
import type { Submit, SubmitResult } from '../../contract/execution-store.ts';
import { type ExecutionRow, fromSubmit, HOLD_BITS, LABEL_KINDS } from '../../execution-rows.ts';
import { writeAudit } from '../../sql/audit.ts';
import { existingSubmit } from '../../sql/executions.ts';
import { changeRollout as changeRolloutScript, refuseRelease } from '../../sql/releases.ts';
import { positional } from '../connection.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';
import { noteLimit } from './gates.ts';

// An id and a key are taken once. Columns that a new execution does not use yet are null or
// zero.
const INSERT = positional(
  'id readyAt hold lane gated hasSlot now deadlineAt project pipeline parentId parentCall redriveOf key intent slotKey rateKey about',
  `
  insert into execution (id, status, news, seq, ready_at, hold, lane, gated, has_place,
                         claimed_seq, previous, saga, fruitless, wake_after, submitted_at, deadline_at,
                         project, pipeline, parent_id, parent_call, redrive_of, key, intent,
                         place_key, rate_key, about)
  values (:id, 0, 0, 1, :readyAt, :hold, :lane, :gated, :hasSlot,
          0, 0, 0, 0, 0, :now, :deadlineAt,
          :project, :pipeline, :parentId, :parentCall, :redriveOf, :key, :intent,
          :slotKey, :rateKey, :about)
  on conflict do nothing`,
);

const INPUT = positional(
  'rowId input',
  'insert into input (row_id, input) values (:rowId, :input)',
);

const FIRST_EVENT = positional(
  'rowId now body',
  `
  insert into history (row_id, seq, at, kind, body)
  values (:rowId, 1, :now, 'submitted', :body)`,
);

const IS_OVER = 'select 1 from execution where id = :id and status >= 10';

const ADD_ERRAND = `
  insert into errand (parent_id, after_id)
  values (:id, '')
  on conflict (parent_id) do update
     set after_id = ''`;

export function submit(tx: Transaction, request: Submit & Audited): SubmitResult {
  const isAllowed = request.release === undefined || !play(tx, refuseRelease(request));
  if (isAllowed && insertOne(tx, request)) {
    if (request.parent !== undefined) noteParent(tx, request.parent.id);
    if (request.audit !== undefined)
      play(tx, writeAudit(request, changedBySubmit(request), tx.now));
    tx.notify(request.project, { ended: [], ready: [request] });
    return { kind: 'submitted', id: request.id, existing: false };
  }
  const result = play(tx, existingSubmit(request));
  assert(result !== undefined, 'X-10: a submission that may be stored was not');
  return result;
}

/** Inserts children with their parent's write, and omits those whose id or key is taken. */
export function insertChildren(tx: Transaction, children: readonly Submit[]): void {
  for (const child of children) insertOne(tx, child);
  const parents = new Set(children.map(({ parent }) => parent?.id));
  for (const parent of parents) if (parent !== undefined) noteParent(tx, parent);
  tx.notify();
}

function insertOne(tx: Transaction, request: Submit): boolean {
  const row = fromSubmit(request, tx.now);
  if (row.place_key === null) return insertRow(tx, row, request);
  // An execution without a free slot gets a hold at once, so that claims do not read it.
  const isInserted = insertRow(tx, row, request);
  const isExhausted = isInserted && noteLimit(tx, request);
  // A delayed execution asks for a slot when its time comes.
  const isDelayed = (request.delayMs ?? 0) > 0;
  if (isExhausted && !isDelayed) tx.run(HOLD_BACK, { id: row.id });
  return isInserted;
}

const HOLD_BACK = `
  update execution
     set hold = ${HOLD_BITS['concurrency-limit']}
   where id = :id`;

/** Inserts the row with its first event and its labels. */
export function insertRow(
  tx: Transaction,
  row: ReturnType<typeof fromSubmit>,
  request: Submit,
): boolean {
  const { id } = row;
  const { changes, lastInsertRowid } = tx
    .statement(INSERT)
    .run(
      id,
      row.ready_at,
      row.hold,
      row.lane,
      row.gated as number,
      row.has_place as number,
      row.submitted_at,
      row.deadline_at,
      row.project,
      routeFor(tx, row, request),
      row.parent_id,
      row.parent_call,
      row.redrive_of,
      row.key,
      row.intent,
      row.place_key,
      row.rate_key,
      row.about,
    );
  if (changes === 0) return false;
  tx.statement(INPUT).run(lastInsertRowid, row.input);
  tx.statement(FIRST_EVENT).run(lastInsertRowid, tx.now, request.body ?? null);
  if (row.about !== null) addLabels(tx, request);
  return true;
}

/** An ended parent no longer cancels its children, so an errand does it. */
export function noteParent(tx: Transaction, id: string): void {
  if (tx.get(IS_OVER, { id }) !== undefined) addErrand(tx, id);
}

/** This ended parent may have open children. */
export function addErrand(tx: Transaction, id: string): void {
  tx.run(ADD_ERRAND, { id });
}

// Tags, attributes and keys of re-drives by which lists filter. The table is its own index.

const ADD = positional(
  'project kind name value id',
  `
  insert into label (project, kind, name, value, execution_id)
  values (:project, :kind, :name, :value, :id)
  on conflict do nothing`,
);

function addLabels(tx: Transaction, submit: Submit): void {
  const { id, project, tags, attributes, lineageKey } = submit;
  if (lineageKey !== undefined) {
    tx.statement(ADD).run(project, LABEL_KINDS.lineageKey, '', lineageKey, id);
  }
  for (const tag of tags) tx.statement(ADD).run(project, LABEL_KINDS.tag, '', tag, id);
  for (const [name, value] of Object.entries(attributes)) {
    tx.statement(ADD).run(project, labelKind(value), name, labelValue(value), id);
  }
}

function labelKind(value: string | number | boolean): number {
  if (typeof value === 'string') return LABEL_KINDS.string;
  return typeof value === 'number' ? LABEL_KINDS.number : LABEL_KINDS.boolean;
}

function labelValue(value: string | number | boolean): string | number {
  return typeof value === 'boolean' ? Number(value) : value;
}

// Finds the release to which a new execution is pinned (RE-5). If no pipeline has a rollout, one
// read per transaction is enough.

const ANY = 'select 1 from release_line limit 1';

const ROLLOUT = `
  select version, active, previous, candidate, percent
    from release_line
   where project = :project
     and pipeline = :pipeline`;

/** Null when the store has no rollout at all. */
const ROLLOUTS: WeakMap<Transaction, Map<string, Rollout | undefined> | null> = new WeakMap();

/** Drops the cache, so that later submits in the same flush read the new rollout. */
export function changeRollout(tx: Transaction, request: ChangeRollout): RolloutChanged {
  const result = play(tx, changeRolloutScript(request));
  ROLLOUTS.delete(tx);
  return result;
}

export function routeFor(
  tx: Transaction,
  row: Pick<ExecutionRow, 'id' | 'key' | 'project' | 'pipeline'>,
  { release }: Pick<Submit, 'release'>,
): string {
  const pipeline = row.pipeline as PipelineName;
  if (release !== undefined) return routeOf({ pipeline, release });
  const rollout = rolloutOf(tx, row);
  if (rollout === undefined) return pipeline;
  const pinned = pinOf(rollout, row.key === null ? { id: row.id } : { id: row.id, key: row.key });
  return pinned === undefined ? pipeline : routeOf({ pipeline, release: pinned });
}

function rolloutOf(
  tx: Transaction,
  { project, pipeline }: Pick<ExecutionRow, 'project' | 'pipeline'>,
): Rollout | undefined {
  let rollouts = ROLLOUTS.get(tx);
  if (rollouts === undefined) {
    rollouts = tx.get(ANY) === undefined ? null : new Map();
    ROLLOUTS.set(tx, rollouts);
  }
  if (rollouts === null) return undefined;
  const place = `${project}\0${pipeline}`;
  if (!rollouts.has(place)) {
    const row = tx.get<RolloutRow>(ROLLOUT, { project, pipeline });
    rollouts.set(place, row === undefined ? undefined : toRollout(row));
  }
  return rollouts.get(place);
}
