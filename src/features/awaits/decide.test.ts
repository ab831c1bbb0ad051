import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecutionRecord, Submission } from '../../execution/execution.ts';
import type {
  CallKey,
  ExecutionId,
  InteractionId,
  Payload,
  ProjectName,
} from '../../execution/names.ts';
import { type Instant, toInstant } from '../../support/clock.ts';
import {
  type AnswerRequest,
  type AwaitChange,
  decideAnswer,
  decideAssign,
  decideCancelAwait,
  decideDue,
  decideExtend,
  decideOpenAwait,
} from './decide.ts';
import type { AwaitUnit, Interaction, OpenAwait, Reminder } from './model.ts';

const project = 'default' as ProjectName;
const execution = {
  id: 'e' as ExecutionId,
  project,
  pipeline: 'orders',
  status: 'running',
} as ExecutionRecord;

function idOf(item: number): InteractionId {
  return `e:${item}` as InteractionId;
}

function opening(items: number, options: Partial<OpenAwait> = {}): OpenAwait {
  return {
    call: 'await:a#1' as CallKey,
    name: 'a',
    needed: items,
    items: Array.from({ length: items }, (_, item) => ({ id: idOf(item) })),
    reminders: [],
    signed: false,
    checked: false,
    ...options,
  };
}

function answering(item: number, value: string = 'yes', verified: boolean = false): AnswerRequest {
  const place = { execution: execution.id, call: 'await:a#1' as CallKey, item };
  const text = JSON.stringify(value) as Payload;
  return { project, id: idOf(item), place, value: text, digest: text, verified };
}

/** The rows of one unit, changed as a store changes them. */
class Rows {
  unit: AwaitUnit | undefined;
  readonly interactions: Map<InteractionId, Interaction> = new Map();
  readonly messages: string[] = [];
  readonly late: string[] = [];

  apply(change: AwaitChange | undefined): void {
    if (change === undefined) return;
    this.unit = change.unit;
    for (const each of change.interactions) this.interactions.set(each.id, each);
    for (const each of [...this.interactions.values()]) {
      if (!change.closesOthers || each.status !== 'open') continue;
      this.interactions.set(each.id, { ...each, status: 'closed' });
    }
    for (const { answer } of change.late ?? []) this.late.push(answer.value);
    if (change.message !== undefined) this.messages.push(change.message.body ?? '');
  }

  open(open: OpenAwait, now: Instant): void {
    this.apply(
      decideOpenAwait(
        open,
        { execution, correlations: new Set(), early: [...this.interactions.values()] },
        now,
      ),
    );
  }

  answer(request: AnswerRequest, now: Instant): string {
    const interaction = this.interactions.get(request.id);
    const view = { execution, unit: this.unit, interaction, answered: () => this.answered() };
    const decision = decideAnswer(view, request, now);
    if (decision.kind === 'refuse') return decision.refusal.why;
    if (decision.kind === 'keep-early') {
      this.interactions.set(request.id, decision.interaction);
    } else if (decision.kind !== 'existing') {
      this.apply(decision.change);
    }
    if (decision.kind === 'late') this.late.push(decision.answer.value);
    return decision.kind;
  }

  expire(now: Instant): readonly Submission[] {
    const { unit } = this;
    if (unit === undefined) return [];
    const due = decideDue({ unit, answered: () => this.answered() }, now);
    this.apply(due?.change);
    return due?.starts ?? [];
  }

  cancel(now: Instant): string {
    const view = {
      unit: this.unit,
      interaction: this.interactions.get(idOf(0)),
      answered: () => this.answered(),
    };
    const decision = decideCancelAwait(view, { project, id: idOf(0) }, now);
    if (decision.kind === 'apply') this.apply(decision.change);
    return decision.kind;
  }

  answered(): readonly Interaction[] {
    return [...this.interactions.values()].filter(({ status }) => status === 'answered');
  }

  states(): string {
    const each = [...this.interactions.values()].toSorted((a, b) => a.item - b.item);
    return [this.unit?.status ?? 'none', ...each.map(({ status }) => status)].join(' ');
  }
}

/** Every permutation of the things. */
function orders<Thing>(things: readonly Thing[]): readonly (readonly Thing[])[] {
  if (things.length <= 1) return [things];
  return things.flatMap((first, nth) =>
    orders(things.toSpliced(nth, 1)).map((rest) => [first, ...rest]),
  );
}

test('W-3, W-6, W-8: in every order of opening, answers, timeout and cancel the unit settles once', () => {
  const operations: readonly ((rows: Rows, now: Instant) => void)[] = [
    (rows, now) => rows.open(opening(2, { timeoutMs: 2 }), now),
    (rows, now) => rows.answer(answering(0), now),
    (rows, now) => rows.answer(answering(1), now),
    (rows, now) => rows.expire(now),
    (rows, now) => rows.cancel(now),
  ];
  for (const order of orders(operations)) {
    const rows = new Rows();
    for (const [nth, operation] of order.entries()) operation(rows, toInstant(nth + 1));
    rows.expire(toInstant(100));
    assert.equal(rows.messages.length, 1, rows.states());
    assert.notEqual(rows.unit?.status, 'open');
    const isOpen = [...rows.interactions.values()].some(({ status }) => status === 'open');
    assert.equal(isOpen, false, rows.states());
    const message = JSON.parse(rows.messages[0] ?? '{}');
    assert.equal(message.status, rows.unit?.status);
    assert.equal(message.answers.length + rows.late.length, 2, 'no answer is lost');
  }
});

test('W-2: early answers count in the order in which they came, and no more than are needed', () => {
  const rows = new Rows();
  for (const [nth, item] of [2, 0, 1].entries()) {
    assert.equal(rows.answer(answering(item, `${item}`), toInstant(nth)), 'keep-early');
  }
  rows.open(opening(3, { needed: 2 }), toInstant(10));
  assert.equal(rows.states(), 'answered answered closed answered');
  assert.deepEqual(rows.late, ['"1"']);
  assert.equal(rows.interactions.get(idOf(1))?.late, 1);
});

test('W-2: an early answer to an item that is not opened stays as it is', () => {
  const rows = new Rows();
  rows.answer(answering(5), toInstant(1));
  rows.open(opening(1), toInstant(2));
  assert.equal(rows.states(), 'open open early');
  rows.answer(answering(0), toInstant(3));
  assert.equal(rows.states(), 'answered answered early');
});

test('W-7, W-2: a signed unit uses only early answers by link, and keeps the link', () => {
  const rows = new Rows();
  rows.answer(answering(0, 'forged'), toInstant(1));
  rows.answer(answering(1, 'true', true), toInstant(2));
  rows.open(opening(2, { signed: true }), toInstant(3));
  assert.equal(rows.states(), 'open open answered');
  assert.deepEqual(rows.late, []);
  assert.equal(rows.interactions.get(idOf(1))?.verified, true);
  assert.equal(rows.answer(answering(0, 'forged'), toInstant(4)), 'link-required');
  assert.equal(rows.answer(answering(0, 'yes', true), toInstant(4)), 'apply');
  assert.equal(rows.interactions.get(idOf(0))?.verified, true);
});

test('W-3: an empty list is settled as it opens, without an answer', () => {
  const rows = new Rows();
  rows.open(opening(0), toInstant(1));
  assert.deepEqual(rows.messages, ['{"status":"answered","answers":[]}']);
});

function reminding(...times: readonly number[]): readonly Reminder[] {
  return times.map((afterMs) => ({ afterMs, start: { id: `r${afterMs}` } as Submission }));
}

test('W-6: if several reminders are due, the last one starts, and the next time is set', () => {
  const rows = new Rows();
  rows.open(opening(1, { timeoutMs: 90, reminders: reminding(10, 20, 50) }), toInstant(100));
  assert.equal(rows.unit?.nextAt, 110);
  assert.deepEqual(rows.expire(toInstant(109)), []);
  assert.deepEqual(
    rows.expire(toInstant(125)).map(({ id }) => id),
    ['r20'],
  );
  assert.equal(rows.unit?.nextAt, 150);
  // Timeout and reminder fall due together: a settled await sends no reminder.
  assert.deepEqual(rows.expire(toInstant(190)), []);
  assert.deepEqual([rows.unit?.status, rows.unit?.nextAt], ['timed-out', undefined]);
});

test('W-6: a settlement by default has the answers that came in time', () => {
  const rows = new Rows();
  rows.open(opening(2, { timeoutMs: 5, defaultAnswer: '{"ok":false}' as Payload }), toInstant(0));
  rows.answer(answering(1), toInstant(1));
  rows.expire(toInstant(5));
  assert.deepEqual(JSON.parse(rows.messages[0] ?? '{}'), {
    status: 'answered',
    answers: [{ item: 1, at: 1, out: 'yes' }],
    default: { ok: false },
  });
});

test('W-8: a unit past its timeout is refused as settled before the sweep', () => {
  const rows = new Rows();
  rows.open(opening(1, { timeoutMs: 5, defaultAnswer: '1' as Payload }), toInstant(0));
  const view = { unit: rows.unit, interaction: rows.interactions.get(idOf(0)), answered: () => [] };
  const request = { project, id: idOf(0) };
  const now = toInstant(5);
  const refusal = { why: 'await-settled', id: idOf(0), status: 'answered' };
  for (const decision of [
    decideExtend(view, { ...request, dueInMs: 9 }, now),
    decideAssign(view, { ...request, assignee: 'olga' }, now),
    decideCancelAwait(view, request, now),
  ]) {
    assert.deepEqual(decision, { kind: 'refuse', refusal });
  }
});
