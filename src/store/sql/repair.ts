// Repairs violations that are provable, each in its own transaction (Z-4). It locks the row and
// checks again, because the execution may have moved on since it was found.

import { deliver, type NewMessage } from '../../execution/decide/deliver.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { HistoryEvent } from '../../execution/history.ts';
import type { CallKey, ExecutionId } from '../../execution/names.ts';
import { INTERACTION_CODES } from '../../features/awaits/rows.ts';
import {
  childMessage,
  givenBackUnowned,
  judgeSlots,
  judgeWaiting,
  markedRead,
  settlementMessage,
  type WaitingFacts,
} from '../../features/reconcile/decide.ts';
import {
  type BrokenInvariant,
  type Finding,
  type InvariantName,
  isRepairable,
} from '../../features/reconcile/model.ts';
import type { Reconcile, Reconciled, ReconcileStore } from '../../features/reconcile/port.ts';
import type { SessionId } from '../../lease/names.ts';
import type { Instant } from '../../support/clock.ts';
import {
  ofPipeline,
  PREVIOUS_CODES,
  STATUS_CODES,
  TERMINAL_FROM,
  toExecution,
  toHistoryEvent,
} from '../execution-rows.ts';
import { answeredOf, closeAwaits, loadUnit } from './awaits.ts';
import { deliverTo, type Natives, saveExecution } from './changes.ts';
import { appendEvent, lockExecution } from './executions.ts';
import { admit } from './question-slots.ts';
import { CHECKS, slotFacts, waitingFacts } from './reconcile.ts';
import { all, found, type Gateway, one, type Script, sql, sqlPerDialect, wrote } from './script.ts';

/** Sweeps, and returns true if this session has ended by then. */
export type SweepFor = (session: SessionId) => Promise<boolean>;

export function reconcileOf(
  gateway: Gateway,
  natives: Natives,
  sweepFor: SweepFor,
): ReconcileStore {
  const repairs = repairsOf(natives);
  const repair = (violation: BrokenInvariant): Promise<boolean> => {
    // A sweep takes many transactions, so it cannot run as one script.
    if (violation.invariant === 'overdue-not-swept') return sweepFor(violation.about as SessionId);
    const operation = repairs[violation.invariant];
    if (operation === undefined) return Promise.resolve(false);
    const isRepaired = (result: boolean): boolean => result;
    return gateway.repeat(() => operation(violation), { keeps: isRepaired, notifies: isRepaired });
  };
  return { reconcile: (request) => reconcile(gateway, repair, request) };
}

async function reconcile(
  { read }: Gateway,
  repair: (violation: BrokenInvariant) => Promise<boolean>,
  request: Reconcile,
): Promise<Reconciled> {
  const { broken, next } = await read(() => CHECKS[request.part](request));
  const found: Finding[] = [];
  for (const each of broken) {
    const violation = ofPipeline(each);
    const isTried = request.dryRun !== true && isRepairable(violation.invariant);
    found.push({ ...violation, repaired: isTried && (await repair(violation)) });
  }
  return { found, ...(next === undefined ? {} : { next }) };
}

/** Returns true if it repaired the violation. */
type Repair = (violation: BrokenInvariant) => Script<boolean>;

type Repairs = Readonly<Partial<Record<InvariantName, Repair>>>;

function repairsOf(natives: Natives): Repairs {
  const countAnew: Repair = (violation) => countSlots(natives, violation);
  return {
    'running-unowned': giveBack,
    'settlement-undelivered': whileBroken(deliverSettlement),
    'child-end-undelivered': whileBroken(deliverChildEnd),
    'inbox-unread': whileBroken(markRead),
    'child-of-the-ended': whileBroken(noteParent),
    'await-of-the-ended': closeLeft,
    'slots-miscounted': countAnew,
    'slot-not-given': countAnew,
    'question-slot-not-given': askNext,
    'paused-schedule-with-time': (violation) => wrote(PUT_OFF, violation),
    'queued-without-time': (violation) => wrote(READY_NOW, violation),
  };
}

const READY_NOW = sql(`
  update hf.execution
     set ready_at = hf_now()
   where id = :execution
     and coalesce(status = ${STATUS_CODES.queued}, false)
     and ready_at is null
  returning id`);

const PUT_OFF = sql(`
  update hf.schedule
     set next_at = null
   where project = :project
     and id = :about
     and paused
     and next_at is not null
  returning id`);

const LAST_EVENT = sqlPerDialect(
  {
    sqlite: 'h.row_id = (select e.row_id from execution as e where e.id = :id)',
    postgres: 'h.execution_id = :id',
  },
  (ofHistory) => `
  select h.seq, h.at, h.fence, h.kind, h.name, h.body
    from hf.history as h
   where ${ofHistory}
   order by h.seq desc
   limit 1`,
);

function* lastEventOf(id: ExecutionId): Script<HistoryEvent | undefined> {
  return yield* found(LAST_EVENT, { id }, toHistoryEvent);
}

/** Queues a running execution that has no session (Z-10). */
function* giveBack({ execution: id }: BrokenInvariant): Script<boolean> {
  const row = id === undefined ? undefined : yield* lockExecution(id);
  if (id === undefined || row?.status !== STATUS_CODES.running || row.session_id !== null) {
    return false;
  }
  const last = yield* lastEventOf(id);
  const taken = givenBackUnowned(toExecution(row), last?.seq ?? 0, row.now);
  yield* saveExecution(taken.execution, PREVIOUS_CODES['given-back']);
  yield* appendEvent(id, taken.event);
  return true;
}

/** An execution that is locked and still broken in the same way. */
interface Broken {
  readonly facts: WaitingFacts;
  readonly execution: ExecutionRecord;
  readonly about: string;
  readonly now: Instant;
}

/** Repairs a waiting execution only while it is still broken in the same way. */
function whileBroken(operation: (broken: Broken) => Script<boolean>): Repair {
  return function* ({ invariant, execution: id, about = '' }) {
    const row = id === undefined ? undefined : yield* lockExecution(id);
    if (row === undefined || id === undefined) return false;
    const [facts] = yield* waitingFacts([id]);
    if (facts === undefined) return false;
    const isAsFound = judgeWaiting(facts).some(
      (each) => each.invariant === invariant && (each.about ?? '') === about,
    );
    if (!isAsFound) return false;
    return yield* operation({ facts, execution: toExecution(row), about, now: row.now });
  };
}

function* deliverSettlement(broken: Broken): Script<boolean> {
  const place = { execution: broken.execution.id, call: broken.about as CallKey };
  const { unit } = yield* loadUnit(place);
  if (unit === undefined) return false;
  return yield* deliverMessage(broken, settlementMessage(unit, yield* answeredOf(place)));
}

// Ids ascend, so the last continuation in a chain has the greatest id.
const LAST_CHILD = sql(`
  select c.id, coalesce(c.status >= ${TERMINAL_FROM}, false) as ended
    from hf.execution as c indexed by execution_parent
   where c.parent_id between :id and :id
     and c.parent_call = :about
     and c.project = :project
   order by c.parent_id desc, c.id desc
   limit 1`);

function* deliverChildEnd(broken: Broken): Script<boolean> {
  const { execution, about } = broken;
  type Row = { readonly id: ExecutionId; readonly ended: number | boolean };
  const child = yield* one<Row>(LAST_CHILD, { ...execution, about });
  if (child === undefined || !child.ended) return false;
  return yield* deliverMessage(
    broken,
    childMessage({ id: child.id, call: about }, yield* lastEventOf(child.id)),
  );
}

function* deliverMessage(
  { execution, now }: Broken,
  message: NewMessage | undefined,
): Script<boolean> {
  if (message === undefined) return false;
  yield* deliverTo(execution, deliver(execution, message, now));
  return true;
}

function* markRead({ facts, execution, now }: Broken): Script<boolean> {
  yield* saveExecution(markedRead(execution, facts.newest?.n ?? 0, now));
  return true;
}

const NOTE_PARENT = sqlPerDialect(
  { sqlite: "''", postgres: 'null' },
  (first) => `
  insert into hf.errand (parent_id, after_id)
  select e.parent_id, ${first}
    from hf.execution as e
   where e.id = :id
      on conflict (parent_id) do update set after_id = ${first}`,
);

function* noteParent({ execution: { id } }: Broken): Script<boolean> {
  yield* all(NOTE_PARENT, { id });
  return true;
}

const LEFT_OPEN = sql(`
  select 1 as open
    from hf.interaction as i indexed by interaction_execution
   where i.execution_id = :id
     and coalesce(i.status in (${INTERACTION_CODES.open}, ${INTERACTION_CODES.queued}), false)
   limit 1`);

/** Closes awaits that an ended execution left open (Z-13). */
function* closeLeft({ execution: id }: BrokenInvariant): Script<boolean> {
  const row = id === undefined ? undefined : yield* lockExecution(id);
  if (id === undefined || row === undefined || row.status < TERMINAL_FROM) return false;
  if ((yield* one(LEFT_OPEN, { id })) === undefined) return false;
  yield* closeAwaits(id, row.now);
  return true;
}

/** Opens queued questions of a key with free slots (Z-16). The stored limit stays. */
function* askNext({ project, about: key }: BrokenInvariant): Script<boolean> {
  if (project === undefined || key === undefined) return false;
  return (yield* admit({ project, key, limit: 1, isNew: false })) > 0;
}

const LOCK_SLOTS = sql(`
  select p.key
    from hf.place as p
   where p.project = :project
     and p.key = :about
     for no key update of p`);

const COUNT = sql(`
  update hf.place
     set taken = :held
   where project = :project
     and key = :key
  returning hf_now() as now`);

/**
 * Recounts the used slots of a concurrency key from the executions (Z-14). It counts after it has
 * locked the key, when no other transaction can be changing it.
 */
function* countSlots(natives: Natives, { project, about = '' }: BrokenInvariant): Script<boolean> {
  if (project === undefined || (yield* one(LOCK_SLOTS, { project, about })) === undefined) {
    return false;
  }
  const facts = yield* slotFacts(project, about);
  if (facts === undefined || judgeSlots(facts).length === 0) return false;
  const counted = yield* one<{ readonly now: Instant }>(COUNT, facts);
  if (counted === undefined) return false;
  const { key, slots: limit, held: taken } = facts;
  yield* natives.handOn({ project, key, limit, taken, now: counted.now });
  return true;
}
