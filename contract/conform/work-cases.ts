// Cases in which nothing fails: each kind of call once.

import type { ConformanceCase } from './conformance-case.ts';
import { requireSame, requireThat, type Stage, type StageEvent } from './stage.ts';

/** Events of calls, without those of claims. */
export function callsIn(history: readonly StageEvent[]): readonly string[] {
  const ofClaims = ['submitted', 'claimed', 'parked', 'given-back', 'progressed', 'resumed'];
  return history
    .filter(({ kind }) => !ofClaims.includes(kind))
    .map(({ kind, body: { key } }) => (key === undefined ? kind : `${kind} ${key}`));
}

export function stepsOutput(id: string, one: number): object {
  return { one, two: one * 2, key: `${id}/0/step:two#1` };
}

const SLEEP_MS = 1_200;
const LARGE_CHARS = 150_000;

/** The changes of attributes in the history. */
export async function changesOf(stage: Stage, id: string): Promise<readonly unknown[]> {
  return (await stage.history(id)).flatMap(({ body }) => body['attributes'] ?? []);
}

async function sleepsLongEnough(stage: Stage): Promise<void> {
  const id = await stage.submit('conform-sleep', { ms: SLEEP_MS });
  await stage.completes(id, 'slept');
  const { items } = await stage.client.call<{
    readonly items: readonly { readonly kind: string; readonly at: number }[];
  }>(`/v1/work/executions/${id}/history`);
  const [set, fired] = ['timer-set', 'timer-fired'].map(
    (kind) => items.find((each) => each.kind === kind)?.at,
  );
  requireThat(
    set !== undefined && fired !== undefined,
    `The history has no timer-set and timer-fired: ${items.map(({ kind }) => kind).join(', ')}.`,
  );
  // The time of the event may be a little after the time from which the worker counts.
  requireThat(fired - set >= SLEEP_MS - 200, `The timer fired ${fired - set} ms after it was set.`);
}

export const workCases: readonly ConformanceCase[] = [
  {
    name: 'echo',
    upholds: 'M-6, M-12',
    section: 'remote-steps',
    expects:
      'The worker claims an execution and finishes it as completed, with the value as given.',
    hosts: ['conform-echo'],
    async run(stage) {
      const input = {
        text: 'tea, thé, お茶 🍵',
        list: [1, -2.5, null, true, []],
        nested: { a: {} },
      };
      await stage.completes(await stage.submit('conform-echo', input), input);
      await stage.completes(await stage.submit('conform-echo', null), null);
    },
  },
  {
    name: 'steps',
    upholds: 'M-12, M-31',
    section: 'steps-and-attempts',
    expects:
      'Each step is recorded once under its key, and its idempotency key is <lineage>/<era>/<key>.',
    hosts: ['conform-steps'],
    async run(stage) {
      const id = await stage.submit('conform-steps', { n: 1 });
      await stage.completes(id, stepsOutput(id, 2));
      requireSame('The history of calls', callsIn(await stage.history(id)), [
        'step-completed step:one#1',
        'step-completed step:two#1',
        'completed',
      ]);
    },
  },
  {
    name: 'retry',
    upholds: 'M-31',
    section: 'steps-and-attempts',
    expects:
      'Each failed attempt is recorded as step-failed with its attempt and retryInMs before the next begins.',
    hosts: ['conform-retry'],
    async run(stage) {
      const id = await stage.submit('conform-retry', { failures: 2 });
      await stage.completes(id, 3);
      const history = await stage.history(id);
      const failed = history.filter(({ kind }) => kind === 'step-failed');
      requireSame(
        'The attempts of the step-failed events',
        failed.map(({ body }) => [body['attempt'], typeof body['retryInMs']]),
        [1, 2].map((attempt) => [attempt, 'number']),
      );
    },
  },
  {
    name: 'failure',
    upholds: 'M-31',
    section: 'steps-and-attempts',
    expects:
      'After the last attempt the worker records step-failed without retryInMs, and finishes as failed with a dead letter.',
    hosts: ['conform-retry'],
    async run(stage) {
      const id = await stage.submit('conform-retry', { failures: 9 });
      const { status, failure } = await stage.ended(id);
      requireSame('The status', status, 'failed');
      requireThat(failure !== undefined, 'The failed event has no failure.');
      const failed = (await stage.history(id)).filter(({ kind }) => kind === 'step-failed');
      requireSame(
        'The retryInMs of the three attempts',
        failed.map(({ body }) => typeof body['retryInMs']),
        ['number', 'number', 'undefined'],
      );
      const { items } = await stage.client.deadLetters.list({ pipeline: 'conform-retry' });
      requireThat(
        items.some(({ execution }) => execution === id),
        'The finish had no deadLetter, so operators cannot find the execution.',
      );
    },
  },
  {
    name: 'attributes',
    upholds: 'X-132',
    section: 'attributes',
    expects:
      'Each change of attributes is an event, and its write has all attributes of the execution.',
    hosts: ['conform-attributes'],
    async run(stage) {
      const id = await stage.submit('conform-attributes', null, {
        attributes: { customer: 'c-1' },
      });
      const after = { customer: 'c-1', stage: 'packed' };
      await stage.completes(id, after);
      const { attributes } = await stage.client.executions.read(id);
      requireSame('The attributes of the execution', attributes, after);
      requireSame('The changes in the history', await changesOf(stage, id), [
        {
          key: 'attributes:set#1',
          set: { stage: 'packing', hold: true },
          before: { customer: 'c-1' },
        },
        { key: 'attributes:set#2', set: { stage: 'packed', hold: null } },
      ]);
    },
  },
  {
    name: 'parallel',
    upholds: 'M-12',
    section: 'replay',
    expects: 'Steps that run at the same time are each recorded once.',
    hosts: ['conform-parallel'],
    async run(stage) {
      const id = await stage.submit('conform-parallel', null);
      await stage.completes(id, [1, 2, 3]);
      const calls = [...callsIn(await stage.history(id))].sort();
      const steps = ['a', 'b', 'c'].map((name) => `step-completed step:${name}#1`);
      requireSame('The history of calls', calls, ['completed', ...steps]);
    },
  },
  {
    name: 'sleep',
    upholds: 'M-12, M-31',
    section: 'sleeps-signals-and-questions',
    expects: 'A sleep is recorded as timer-set, and as timer-fired once its time is over.',
    hosts: ['conform-sleep'],
    run: sleepsLongEnough,
  },
  {
    name: 'signal',
    upholds: 'M-9, M-12',
    section: 'sleeps-signals-and-questions',
    expects:
      'The worker parks until a signal arrives, records signal-received, and continues with its value.',
    hosts: ['conform-signal'],
    async run(stage) {
      const id = await stage.submit('conform-signal', null);
      await stage.event(id, 'parked');
      await stage.client.executions.signal(id, 'other', 'not for this call');
      await stage.client.executions.signal(id, 'go', { paid: 42 });
      await stage.completes(id, { paid: 42 });
      const calls = callsIn(await stage.history(id));
      requireSame('The history of calls', calls, ['signal-received signal:go#1', 'completed']);
    },
  },
  {
    name: 'signal-early',
    upholds: 'M-9, M-12',
    section: 'sleeps-signals-and-questions',
    expects: 'A signal that arrived before the code asks for it reaches the code.',
    hosts: ['conform-signal'],
    async run(stage) {
      const id = await stage.withoutClaims(async () => {
        const begun = await stage.submit('conform-signal', null);
        await stage.client.executions.signal(begun, 'go', 7);
        return begun;
      });
      await stage.completes(id, 7);
    },
  },
  {
    name: 'question',
    upholds: 'M-12, M-18',
    section: 'ask-a-question',
    expects:
      'The worker opens the question with its request, parks, and continues with the answer.',
    hosts: ['conform-question'],
    async run(stage) {
      const id = await stage.submit('conform-question', { amount: 4200 });
      await stage.event(id, 'await-opened');
      const { items } = await stage.client.awaits.list({ execution: id });
      const [question] = items;
      requireThat(question !== undefined, 'The write with await-opened had no row in awaits.');
      const { request } = await stage.client.awaits.read(question.id);
      requireSame('The request of the question', request, { amount: 4200 });
      await stage.client.awaits.answer(question.id, 'yes');
      await stage.completes(id, { status: 'answered', value: 'yes' });
    },
  },
  {
    name: 'question-timeout',
    upholds: 'M-12',
    section: 'ask-a-question',
    expects: 'A question whose timeout passes settles as timed-out, and the code continues.',
    hosts: ['conform-question'],
    async run(stage) {
      const id = await stage.submit('conform-question', { amount: 1, timeoutMs: 1_000 });
      await stage.completes(id, { status: 'timed-out', value: null });
    },
  },
  {
    name: 'child',
    upholds: 'M-12, M-18',
    section: 'start-children',
    expects:
      'The worker submits the child with child-spawned, records child-ended, and continues with its output.',
    hosts: ['conform-child', 'conform-steps'],
    async run(stage) {
      const id = await stage.submit('conform-child', { n: 4 });
      const spawned = await stage.event(id, 'child-spawned');
      const [child] = (spawned.body['ids'] ?? []) as readonly string[];
      await stage.completes(id, stepsOutput(child ?? '', 5));
      const kinds = callsIn(await stage.history(id)).map((each) => each.split(' ')[0]);
      requireSame('The kinds of events', kinds, ['child-spawned', 'child-ended', 'completed']);
    },
  },
  {
    name: 'large',
    upholds: 'M-7, M-17, M-23',
    section: 'values',
    expects: 'The worker reads a large input by its reference, and puts large values as blobs.',
    hosts: ['conform-large'],
    async run(stage) {
      const text = 'é'.repeat(LARGE_CHARS);
      const id = await stage.submit('conform-large', { text });
      await stage.completes(id, { length: 2 * LARGE_CHARS, text: `${text}${text}` });
      requireThat(
        stage.exchanges.some(({ kind }) => kind === 'putBlob'),
        'The worker sent no putBlob.',
      );
    },
  },
];
