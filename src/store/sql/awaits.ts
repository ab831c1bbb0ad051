// Awaits (W-1 … W-10). An owner's write opens them, outsiders answer and change them, and the end
// of the execution closes them. Every write locks the execution's row first. An early answer and
// the opening of its unit therefore cannot miss each other (W-2), and a settled unit can message
// its execution.

import { deliver } from '../../execution/decide/deliver.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { CallKey, ExecutionId, InteractionId } from '../../execution/names.ts';
import { changedByAnswer, changedByAwaitCommand } from '../../features/audit/decide.ts';
import type { Audited } from '../../features/audit/model.ts';
import {
  type AnswerRequest,
  type AwaitChange,
  type AwaitCommandDecision,
  type AwaitCommandView,
  closedUnit,
  decideAnswer,
  decideAssign,
  decideCancelAwait,
  decideDue,
  decideExtend,
  decideOpenAwait,
  type LateAnswer,
} from '../../features/awaits/decide.ts';
import {
  type AwaitUnit,
  type Interaction,
  isSettled,
  LATE_ANSWERS_MAX,
  type OpenAwait,
} from '../../features/awaits/model.ts';
import type {
  AnswerTaken,
  AwaitCommand,
  AwaitResult,
  AwaitStore,
  AwaitsExpired,
  ExpireAwaits,
} from '../../features/awaits/port.ts';
import {
  AWAIT_CODES,
  fromAwaitUnit,
  fromInteraction,
  INTERACTION_CODES,
  type InteractionRow,
  toAwaitUnit,
  toInteraction,
} from '../../features/awaits/rows.ts';
import { assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { TERMINAL_FROM, toExecution } from '../execution-rows.ts';
import { writeAudit } from './audit.ts';
import { deliverTo, type Natives } from './changes.ts';
import { dueInTurn, takeDue } from './due.ts';
import { IS_ERASED, lockExecution } from './executions.ts';
import {
  columnNames,
  type FoundRow,
  INTERACTION,
  INTERACTION_COLUMNS,
  interactionsOf,
  OF_UNIT,
  UNIT,
  UNIT_COLUMNS,
  unitIn,
} from './interactions.ts';
import { admitNext } from './question-slots.ts';
import { all, every, type Gateway, one, type Script, sql, sqlPerDialect } from './script.ts';

const OPEN = INTERACTION_CODES.open;
const EARLY = INTERACTION_CODES.early;
const QUEUED = INTERACTION_CODES.queued;
const CLOSED = INTERACTION_CODES.closed;

const SAVE_UNITS = sql(`
  insert into hf.await_unit (${columnNames(UNIT).join(', ')})
  select n.*
    from jsonb_to_recordset(:rows::jsonb) as n(${UNIT})
   where true
      on conflict (execution_id, call) do update
     set status     = excluded.status,
         answered   = excluded.answered,
         settled_at = excluded.settled_at,
         due_at     = excluded.due_at,
         next_at    = excluded.next_at,
         about      = excluded.about`);

function* saveUnits(units: readonly AwaitUnit[]): Script<void> {
  if (units.length > 0) yield* all(SAVE_UNITS, { rows: JSON.stringify(units.map(fromAwaitUnit)) });
}

// An early answer gets a row before its unit has one (W-2). `name` is the unit's name.
const SAVE_INTERACTIONS = sql(`
  insert into hf.interaction as i (${columnNames(INTERACTION).join(', ')}, name, concurrency_key, since)
  select n.*
    from jsonb_to_recordset(:rows::jsonb) as n(${INTERACTION}, name text, concurrency_key text, since bigint)
   where true
      on conflict (id) do update
     set status          = case when excluded.status = ${QUEUED} and i.status <> ${EARLY} then i.status else excluded.status end,
         late            = excluded.late,
         name            = excluded.name,
         concurrency_key = excluded.concurrency_key,
         since           = coalesce(i.since, excluded.since),
         request         = excluded.request,
         assignee        = excluded.assignee,
         answer          = excluded.answer,
         digest          = excluded.digest,
         answered_by     = excluded.answered_by,
         answered_at     = excluded.answered_at,
         verified        = excluded.verified,
         correlation     = excluded.correlation
   where i.execution_id = excluded.execution_id -- guard: own`);

interface Named {
  readonly interaction: Interaction;
  readonly name?: string;
  readonly concurrency_key?: string | undefined;
  /** When it was queued. */
  readonly since?: Instant | undefined;
}

function* saveInteractions(interactions: readonly Named[]): Script<void> {
  if (interactions.length === 0) return;
  const rows = interactions.map(({ interaction, ...named }) => {
    const row = fromInteraction(interaction);
    return { ...row, verified: Boolean(row.verified), ...named };
  });
  yield* all(SAVE_INTERACTIONS, { rows: JSON.stringify(rows) });
}

const CLOSE_OTHERS = sql(`
  update hf.interaction
     set status = ${CLOSED}
   where execution_id = :execution
     and call = :call
     and coalesce(status in (${OPEN}, ${QUEUED}), false) -- guard: open`);

// Every late answer is counted, but kept only while there is room (W-5).
const COUNT_LATE = sql('update hf.interaction set late = late + 1 where id = :id');

const KEEP_LATE = sqlPerDialect(
  IS_ERASED,
  (isErased) => `
  insert into hf.late_answer (interaction_id, n, answer, digest, answered_by, answered_at)
  select i.id, i.late, :value::text, :digest::text, :actor::text, :at::bigint
    from hf.interaction as i
   where i.id == :id
     and i.late <= ${LATE_ANSWERS_MAX} -- guard: room
     and not exists (select 1 from hf.execution as e where e.id == i.execution_id and ${isErased}) -- guard: erased`,
);

/** The caller has already counted the answer. */
function* keepLate({ id, answer }: LateAnswer): Script<void> {
  yield* all(KEEP_LATE, { id, ...answer });
}

/** Applies changes to a locked execution. Returns the execution after the messages that it got. */
function* applyAll(
  execution: ExecutionRecord,
  changes: readonly AwaitChange[],
  { now, isNew }: { readonly now: Instant; readonly isNew: boolean },
): Script<ExecutionRecord> {
  yield* saveUnits(changes.map(({ unit }) => unit));
  const named = changes.flatMap(({ unit: { name, concurrency }, interactions }) => {
    const of = { name, concurrency_key: concurrency?.key, since: concurrency && now };
    return interactions.map((interaction) => ({ interaction, ...of }));
  });
  yield* saveInteractions(named);
  let current = execution;
  for (const { unit, closesOthers, late = [], message } of changes) {
    for (const each of late) yield* keepLate(each);
    if (closesOthers) yield* all(CLOSE_OTHERS, unit);
    if (message === undefined) continue;
    const delivery = deliver(current, message, now);
    yield* deliverTo(current, delivery);
    current = delivery.execution;
  }
  yield* admitNext(
    changes.filter(mayAdmit).map(({ unit }) => unit),
    isNew,
  );
  return current;
}

/** Only new questions, answers and settlements change how many slots are free. */
function mayAdmit({ interactions, closesOthers }: AwaitChange): boolean {
  return interactions.length > 0 || closesOthers;
}

const KNOWN = sql(`
  select u.call
    from hf.await_unit as u
   where u.execution_id = :id
     and u.call = any (:calls)`);

const EARLY_OF = sql(`
  select ${INTERACTION_COLUMNS}
    from hf.interaction as i indexed by interaction_execution
   where i.execution_id = :id
     and i.call = any (:calls)
     and coalesce(i.status = ${EARLY}, false)`);

// An execution keeps its correlations until another question needs one after its end (W-15).
const FREE_CORRELATIONS = sql(`
  update hf.interaction
     set correlation = null
   where project = :project
     and correlation is not null
     and correlation = any (:correlations)
     and (select e.status from hf.execution as e where e.id = execution_id) >= ${TERMINAL_FROM} -- guard: ended`);

const TAKEN_CORRELATIONS = sql(`
  select i.correlation
    from hf.interaction as i
   where i.project = :project
     and i.correlation is not null
     and i.correlation = any (:correlations)`);

/** If another transaction takes one meanwhile, the unique index refuses this one, and it runs again. */
function* takenCorrelations(
  { project }: ExecutionRecord,
  awaits: readonly OpenAwait[],
): Script<Set<string>> {
  const correlations = awaits.flatMap(({ items }) =>
    items.flatMap(({ correlation }) => correlation ?? []),
  );
  if (correlations.length === 0) return new Set();
  yield* all(FREE_CORRELATIONS, { project, correlations });
  const taken = yield* all<{ readonly correlation: string }>(TAKEN_CORRELATIONS, {
    ...{ project, correlations },
  });
  return new Set(taken.map(({ correlation }) => correlation));
}

/**
 * Opens awaits for an open execution (W-1). Units that already exist stay as they are. Returns the
 * execution after the messages that it got.
 */
export function* openAwaits(
  execution: ExecutionRecord,
  awaits: readonly OpenAwait[],
  now: Instant,
): Script<ExecutionRecord> {
  const { id } = execution;
  const byCall = new Map(awaits.toReversed().map((open) => [open.call, open]));
  const calls = [...byCall.keys()];
  for (const { call } of yield* all<UnitPlace>(KNOWN, { id, calls })) byCall.delete(call);
  const rows = byCall.size === 0 ? [] : yield* all<InteractionRow>(EARLY_OF, { id, calls });
  const early = Map.groupBy(rows.map(toInteraction), ({ call }) => call);
  const opened = awaits.filter((open) => byCall.get(open.call) === open);
  const correlations = yield* takenCorrelations(execution, opened);
  const changes = opened.map((open) => {
    const view = { execution, early: early.get(open.call) ?? [], correlations };
    const change = decideOpenAwait(open, view, now);
    for (const { correlation } of change.interactions) {
      if (correlation !== undefined) correlations.add(correlation);
    }
    return change;
  });
  return yield* applyAll(execution, changes, { now, isNew: true });
}

const OPEN_UNITS = sql(`
  select ${UNIT_COLUMNS}
    from hf.await_unit as u
   where u.execution_id = :id
     and coalesce(u.status = ${AWAIT_CODES.open}, false) -- guard: open-unit
     for no key update of u`);

// An early answer whose unit never opened counts as late.
const KEEP_EARLY = sql(`
  insert into hf.late_answer (interaction_id, n, answer, digest, answered_by, answered_at)
  select i.id, i.late + 1, i.answer, i.digest, i.answered_by, i.answered_at
    from hf.interaction as i
   where i.execution_id = :id
     and coalesce(i.status = ${EARLY}, false) -- guard: early`);

const CLOSE_LEFT = sql(`
  update hf.interaction
     set status      = ${CLOSED},
         late        = late + case when status = ${EARLY} then 1 else 0 end,
         answer      = null,
         digest      = null,
         answered_by = null,
         answered_at = null,
         verified    = false
   where execution_id = :id
     and coalesce(status in (${OPEN}, ${EARLY}, ${QUEUED}), false) -- guard: left`);

/**
 * Closes all awaits of an execution that ends, with its row locked (W-9). The execution gets no
 * message.
 */
export function* closeAwaits(id: ExecutionId, now: Instant): Script<void> {
  const units = yield* every(OPEN_UNITS, { id }, toAwaitUnit);
  yield* saveUnits(units.map((unit) => closedUnit(unit, now)));
  yield* all(KEEP_EARLY, { id });
  yield* all(CLOSE_LEFT, { id });
  yield* admitNext(units, false);
}

interface UnitPlace {
  readonly execution: ExecutionId;
  readonly call: CallKey;
}

// The execution and call of an interaction never change.
const PLACE_OF = sql(
  'select i.execution_id as execution, i.call from hf.interaction as i where i.id = :id',
);

// The caller has locked the execution. A separate statement sees everything committed before that
// lock. The lock on the unit stops writers that forget to lock the execution.
const LOAD = sql(`
  with u as materialized (
    select ${UNIT_COLUMNS}
      from hf.await_unit as u
     where u.execution_id = :execution
       and u.call = :call
       for no key update of u
  )
  select hf_now() as now, ${INTERACTION_COLUMNS}, ${OF_UNIT}
    from (select 1) as always
    left join hf.interaction as i on i.id = :id
    left join u on true`);

interface Loaded {
  readonly now: Instant;
  readonly unit: AwaitUnit | undefined;
  readonly interaction: Interaction | undefined;
}

export function* loadUnit(place: UnitPlace, id?: InteractionId): Script<Loaded> {
  const { execution, call } = place;
  const row = yield* one<FoundRow & { readonly now: Instant }>(LOAD, { execution, call, id });
  assert(row !== undefined, 'W-1: a look at a unit has one row');
  const interaction = row.id === null ? undefined : toInteraction(row);
  return { now: row.now, unit: unitIn(row), interaction };
}

const ANSWERED = sql(`
  select ${INTERACTION_COLUMNS}
    from hf.interaction as i indexed by interaction_execution
   where i.execution_id = :execution
     and i.call = :call
     and coalesce(i.status = ${INTERACTION_CODES.answered}, false)
   order by i.execution_id, i.call, i.item`);

export function* answeredOf({ execution, call }: UnitPlace): Script<readonly Interaction[]> {
  return yield* every(ANSWERED, { execution, call }, toInteraction);
}

interface LockedAwait extends AwaitCommandView, Loaded {
  readonly execution: ExecutionRecord | undefined;
}

interface LockAwait {
  readonly id?: InteractionId;
  /** The unit, for an interaction that may not exist yet. */
  readonly place?: UnitPlace | undefined;
  /** True if the decision about an open unit may settle it. Settling needs all answers. */
  maySettle(unit: AwaitUnit, now: Instant): boolean;
}

const NOTHING: LockedAwait = {
  now: 0 as Instant,
  execution: undefined,
  unit: undefined,
  interaction: undefined,
  answered: () => [],
};

function* lockAwait({ id, place, maySettle }: LockAwait): Script<LockedAwait> {
  const found = id === undefined ? undefined : yield* one<UnitPlace>(PLACE_OF, { id });
  const at = found ?? place;
  if (at === undefined) return NOTHING;
  const row = yield* lockExecution(at.execution);
  const execution = row === undefined ? undefined : toExecution(row);
  const loaded = yield* loadUnit(at, id);
  const { unit, now } = loaded;
  const isLast = unit !== undefined && !isSettled(unit) && maySettle(unit, now);
  const answers = isLast ? yield* answeredOf(at) : undefined;
  const answered = (): readonly Interaction[] => {
    assert(answers !== undefined, 'W-3: what settles a unit is known before it is decided');
    return answers;
  };
  return { ...loaded, execution, answered };
}

function* applyTo({ execution, now }: LockedAwait, change: AwaitChange): Script<void> {
  assert(execution !== undefined, 'W-1: a unit is of an execution that exists');
  yield* applyAll(execution, [change], { now, isNew: false });
}

export function awaitsOf({ read, repeat }: Gateway, natives: Natives): AwaitStore {
  const command =
    <Request extends AwaitCommand>(decide: Decide<Request>, settles: boolean) =>
    (request: Request): Promise<AwaitResult> =>
      repeat(() => runAwaitCommand(request, decide, settles), {
        notifies: ({ kind }) => kind === 'done',
      });
  return {
    answer: (request) => repeat(() => answer(request), { notifies: hasSettled }),
    answerAll: (requests) =>
      repeat(() => answerAll(requests), { notifies: (taken) => taken.some(hasSettled) }),
    expireAwaits: (request) => expireAwaits({ read, repeat }, natives, request),
    extendAwait: command(decideExtend, false),
    assignAwait: command(decideAssign, false),
    cancelAwait: command(decideCancelAwait, true),
    ...interactionsOf({ read }),
  };
}

type Decide<Request> = (
  view: AwaitCommandView,
  request: Request,
  now: Instant,
) => AwaitCommandDecision;

/** Applies an outsider's command to an interaction (W-8). */
function* runAwaitCommand<Request extends AwaitCommand>(
  request: Request,
  decide: Decide<Request>,
  settles: boolean,
): Script<AwaitResult> {
  const view = yield* lockAwait({ id: request.id, maySettle: () => settles });
  const decision = decide(view, request, view.now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  yield* writeAudit(request, changedByAwaitCommand(view, decision), view.now);
  yield* applyTo(view, decision.change);
  return { kind: 'done' };
}

// Marks the execution, so that its end looks for early answers (W-9).
const NOTE_EARLY = sql(`
  update hf.execution
     set early = true
   where id = :execution
     and not early`);

function* answer(request: AnswerRequest & Audited): Script<AnswerTaken> {
  const { id, place } = request;
  const view = yield* lockAwait({
    id,
    place,
    maySettle: (unit, now) =>
      unit.answered + 1 >= unit.needed || (unit.dueAt !== undefined && unit.dueAt <= now),
  });
  const decision = decideAnswer(view, request, view.now);
  yield* writeAudit(request, changedByAnswer(view, decision), view.now);
  switch (decision.kind) {
    case 'refuse':
      return { kind: 'refused', ...decision.refusal };
    case 'existing':
      return { kind: 'existing', settled: false };
    case 'keep-early':
      yield* saveInteractions([decision]);
      yield* all(NOTE_EARLY, decision.interaction);
      return { kind: 'kept', settled: false };
    case 'apply':
      yield* applyTo(view, decision.change);
      return { kind: 'answered', settled: decision.change.unit.status !== 'open' };
    case 'late':
      if (decision.change !== undefined) yield* applyTo(view, decision.change);
      yield* all(COUNT_LATE, { id });
      yield* keepLate({ id, answer: decision.answer });
      return { kind: 'refused', ...decision.refusal };
  }
}

/** Locks in the order of the ids, which is that of their executions. */
function* answerAll(
  requests: readonly (AnswerRequest & Audited)[],
): Script<readonly AnswerTaken[]> {
  const taken: AnswerTaken[] = [];
  const inOrder = [...requests.entries()].sort(([, a], [, b]) => (a.id < b.id ? -1 : 1));
  for (const [index, request] of inOrder) taken[index] = yield* answer(request);
  return taken;
}

/** A late answer may have timed out its unit. */
function hasSettled(taken: AnswerTaken): boolean {
  return taken.kind === 'refused' ? taken.why === 'answer-late' : taken.settled;
}

// This list may be stale, so each unit is checked again under the lock.
const NEXT = sql(`
  select u.execution_id as execution, u.call, u.next_at - hf_now() as in_ms
    from hf.await_unit as u indexed by await_unit_next
   where u.next_at is not null
   order by u.next_at
   limit :limit`);

const DUE_IN_TURN = dueInTurn({
  ...{ name: 'hf.await_unit', at: 'next_at', index: 'await_unit_turn' },
  where: 'x.next_at is not null',
  columns: 'x.execution_id as execution, x.call, 0 as in_ms',
});

// On PostgreSQL only the primary key fits this statement.
const DUE_OF = sql(`
  select u.execution_id as execution, u.call, 0 as in_ms
    from hf.await_unit as u
   where u.execution_id = :execution
     and coalesce(u.next_at <= hf_now(), false)
   order by u.next_at
   limit :limit`);

type DueRow = UnitPlace & { readonly in_ms: number };

/**
 * Expires each unit in its own transaction (W-6). It lists one more than the limit: a unit that is
 * not due yet shows when the next one is.
 */
async function expireAwaits(
  { read, repeat }: Pick<Gateway, 'read' | 'repeat'>,
  natives: Natives,
  { execution, limit }: ExpireAwaits,
): Promise<AwaitsExpired> {
  const list = execution === undefined ? NEXT : DUE_OF;
  const found = await read(() => all<DueRow>(list, { execution, limit: limit + 1 }));
  const due = found.filter((row) => row.in_ms <= 0);
  const taken =
    execution === undefined
      ? await read(() => takeDue(due, DUE_IN_TURN, limit))
      : due.slice(0, limit);
  let [settled, started] = [0, 0];
  for (const place of taken) {
    const done = await repeat(() => expire(natives, place), {
      notifies: ({ settled, started }) => settled + started > 0,
    });
    settled += done.settled;
    started += done.started;
  }
  const isAsIs = execution === undefined && due.length === 0;
  const [next] = isAsIs ? found : await read(() => all<DueRow>(NEXT, { limit: 1 }));
  return {
    settled,
    started,
    more: due.length > limit,
    ...(next === undefined ? {} : { nextInMs: Math.max(0, next.in_ms) }),
  };
}

function* expire(natives: Natives, place: UnitPlace) {
  const view = yield* lockAwait({ place, maySettle: () => true });
  const { unit, now, answered } = view;
  const due = unit === undefined ? undefined : decideDue({ unit, answered }, now);
  if (due === undefined) return { settled: 0, started: 0 };
  yield* applyTo(view, due.change);
  let started = 0;
  // If the id or key is taken, an earlier call started this execution, or it belongs to another
  // caller.
  for (const start of due.starts) if (yield* natives.submit(start)) started += 1;
  return { settled: due.change.unit.status === 'open' ? 0 : 1, started };
}
