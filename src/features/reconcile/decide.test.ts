import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import {
  CHILDREN_MAX,
  childMessage,
  judgeExecution,
  judgeWaiting,
  type WaitingFacts,
} from './decide.ts';
import { describeFinding, INVARIANTS } from './model.ts';

const ABOUT = {
  execution: '01900000-0000-7000-8000-000000000001' as ExecutionId,
  project: 'default' as ProjectName,
  pipeline: 'orders' as PipelineName,
};

/** An execution that waits for an answer, without an open await. */
function waiting(facts: Partial<WaitingFacts> = {}): WaitingFacts {
  return {
    ...ABOUT,
    readyAt: undefined,
    wakeAfter: 0,
    compensating: false,
    inboxCount: 0,
    parkedAt: 100 as Instant,
    parkedBody: '{"for":["await:it#1"]}',
    newest: undefined,
    isAsking: false,
    children: 0,
    openChildren: 0,
    undeliveredUnit: undefined,
    undeliveredChild: undefined,
    isLeftBehind: false,
    ...facts,
  };
}

function names(facts: Partial<WaitingFacts>): readonly string[] {
  return judgeWaiting(waiting(facts)).map(({ invariant }) => invariant);
}

test('Z-21: an execution that could still wake, or whose wait is unknown, is not a finding', () => {
  assert.deepEqual(names({}), ['waits-for-nothing']);
  const many = Array.from({ length: 10 }, (_, n) => `await:it#${n}`);
  for (const facts of [
    { readyAt: 5 as Instant },
    { isAsking: true },
    { children: 3, openChildren: 1 },
    { children: 3, openChildren: 2, wakeAfter: 2 },
    { children: CHILDREN_MAX + 1 },
    { parkedBody: '{"for":["await:it#1","signal:go#1"]}' },
    { parkedBody: JSON.stringify({ for: many }) },
    { parkedBody: '{}' },
    { parkedBody: undefined },
  ]) {
    assert.deepEqual(names(facts), [], JSON.stringify(facts));
  }
  assert.deepEqual(names({ children: 3, openChildren: 1, wakeAfter: 2 }), ['waits-for-nothing']);
});

test('Z-12: a message from the time of the park, or the end of a child, is not a finding', () => {
  const newest = { n: 1, at: 100 as Instant, kind: 'signal' };
  const parked = { inboxCount: 1, isAsking: true };
  assert.deepEqual(names({ ...parked, newest }), []);
  assert.deepEqual(names({ ...parked, newest: { ...newest, at: 101 as Instant } }), [
    'inbox-unread',
  ]);
  const child = { n: 1, at: 101 as Instant, kind: 'child-ended' };
  assert.deepEqual(names({ ...parked, newest: child }), []);
  assert.deepEqual(names({ isAsking: true, newest }), ['inbox-unread']);
});

test('Z-2, Z-13, Z-31: parents of very many children are skipped, and a compensating child outlives its parent', () => {
  const undeliveredChild = 'child:a#1';
  assert.deepEqual(names({ children: 1, undeliveredChild }), ['child-end-undelivered']);
  assert.deepEqual(names({ children: CHILDREN_MAX + 1, undeliveredChild }), []);
  assert.deepEqual(names({ isAsking: true, isLeftBehind: true }), ['child-of-the-ended']);
  assert.deepEqual(names({ isAsking: true, isLeftBehind: true, compensating: true }), []);
});

test('Z-23: the row of a running execution may be behind its history; an ended one has its end last', () => {
  const facts = { ...ABOUT, hasTime: true, hasLetter: true };
  const judged = (...[status, seq, last, kind]: readonly [string, number, number, string]) =>
    judgeExecution({
      ...facts,
      ...({ status, seq, last: { seq: last, kind } } as Pick<
        Parameters<typeof judgeExecution>[0],
        'status' | 'seq' | 'last'
      >),
    }).length;
  assert.equal(judged('running', 2, 9, 'step-completed'), 0);
  assert.equal(judged('running', 9, 2, 'step-completed'), 1);
  assert.equal(judged('queued', 2, 2, 'given-back'), 0);
  assert.equal(judged('queued', 2, 3, 'given-back'), 1);
  assert.equal(judged('failed', 3, 3, 'failed'), 0);
  assert.equal(judged('failed', 3, 3, 'completed'), 1);
});

test('Z-11: a repaired message has the owner’s outcome; an unknown outcome is not made up', () => {
  const child = { id: ABOUT.execution, call: 'child:a#1' };
  const message = (kind: string, body?: string) =>
    childMessage(child, { kind, ...(body && { body }) } as Parameters<typeof childMessage>[1])
      ?.body;
  const begin = `{"id":"${child.id}","status"`;
  assert.equal(message('completed', '{"out":{"v":1}}'), `${begin}:"completed","out":{"v":1}}`);
  assert.equal(message('cancelled'), `${begin}:"cancelled"}`);
  assert.equal(message('cancelled', '{}'), `${begin}:"cancelled"}`);
  assert.equal(message('completed', '{"continuedAs":"x"}'), undefined);
  assert.equal(message('step-completed', '{}'), undefined);
  assert.equal(childMessage(child, undefined), undefined);
});

test('Z-1: every invariant has a sentence, an advice and a description of its repair', () => {
  for (const { name, sentence, repair } of INVARIANTS) {
    assert.match(sentence, /^[A-Z].*\.$/, name);
    const described = describeFinding({
      invariant: name,
      repaired: repair !== undefined,
      about: 'x',
    });
    assert.match(described.sentence, / \(x\)\.$/, name);
    assert.match(described.advice, /^[A-Z].*\.$/, name);
    if (repair !== undefined) assert.equal(described.advice, repair);
  }
});
