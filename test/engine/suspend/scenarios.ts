// Races around a park. The test plays each scenario under many orders of its calls. In every order
// no execution is forgotten, and nothing is done twice.

import assert from 'node:assert/strict';
import { type Pipeline, pipeline } from '../../../src/engine/pipeline.ts';
import type { ExecutionRecord } from '../../../src/execution/execution.ts';
import type { Answered } from '../../../src/features/awaits/api.ts';
import type { AwaitOptions, AwaitOutcome } from '../../../src/features/awaits/question-api.ts';
import { checkWaking, type Place, World } from './world.ts';

export interface Played {
  readonly execution: ExecutionRecord;
  /** The output of a completed execution. */
  readonly output: unknown;
  /** The answers that the outsiders got. */
  readonly results: readonly unknown[];
  readonly world: World;
}

export interface Scenario {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: pipelines of any input and output
  readonly pipelines: readonly Pipeline<any, any>[];
  /** In real time: the latest moment at which outsiders act. */
  readonly spreadMs?: number;
  /** The operations of outsiders, all at once. */
  outsiders(world: World, id: string): readonly Promise<unknown>[];
  check(played: Played): void | Promise<void>;
}

const TIMEOUT_MS = 200;

/** `end` lets everything happen that is still due. */
export async function play(
  scenario: Scenario,
  place: Place,
  end: (id: string) => Promise<void>,
): Promise<void> {
  const world = new World(place, scenario.pipelines);
  const { executions } = place.store;
  try {
    await world.work();
    const { id } = await world.outside.submit(scenario.pipelines[0] as never, undefined);
    const outsiders = Promise.all(scenario.outsiders(world, id));
    await end(id);
    const execution = await executions.read(id);
    assert.ok(execution?.endedAt !== undefined, `it is ${execution?.status}: a wake was lost`);
    const history = await executions.history({ id, after: 0, limit: 1_000 });
    checkWaking(history);
    const { out = {} } = JSON.parse(history.at(-1)?.body ?? '{}') as { readonly out?: object };
    const output = await world.worker.decode(out);
    await scenario.check({ execution, output, results: await outsiders, world });
    const open = await executions.interactions({
      ...{ project: execution.project, execution: execution.id },
      open: true,
      limit: 9,
    });
    assert.equal(open.length, 0, 'nothing is left open');
  } finally {
    await world.close();
  }
}

function asking(options: AwaitOptions = {}): Pipeline<undefined, unknown> {
  return pipeline<undefined, unknown>({ name: 'asking', run: (ctx) => ctx.await('it', options) });
}

function answer(world: World, id: string, value: string): Promise<Answered> {
  return world.outside.awaits.answer({ execution: id, name: 'it' }, value, { actor: value });
}

function resultIn(output: unknown): unknown {
  const outcome = output as AwaitOutcome<unknown>;
  return outcome.kind === 'answered' ? outcome.value : outcome.kind;
}

/** An early answer counts as taken, since the await uses it when it opens. */
function isTaken(results: unknown): boolean {
  return ['answered', 'kept'].includes((results as Answered).kind);
}

/** The fate of an answer at the timeout, whichever process notices the timeout. */
const TIME_OUT: Pick<Scenario, 'pipelines' | 'check' | 'spreadMs'> = {
  spreadMs: 2 * TIMEOUT_MS,
  pipelines: [asking({ timeoutMs: TIMEOUT_MS })],
  async check({ execution, output, results, world }) {
    const [answered] = results as readonly Answered[];
    assert.equal(resultIn(output), isTaken(answered) ? 'yes' : 'timed-out');
    const late = await world.outside.awaits.lateAnswers({ execution: execution.id, name: 'it' });
    assert.equal(late.length, isTaken(answered) ? 0 : 1, 'a late answer is kept');
  },
};

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'an answer before, during and after the park',
    pipelines: [asking()],
    outsiders: (world, id) => [answer(world, id, 'yes')],
    check: ({ output, results }) => {
      assert.equal(resultIn(output), 'yes');
      assert.ok(isTaken(results[0]));
    },
  },
  {
    name: 'an answer between the opening and the park',
    pipelines: [
      pipeline({
        name: 'asking',
        async run(ctx) {
          const asked = ctx.await('it');
          await ctx.step('beside', () => undefined);
          return asked;
        },
      }),
    ],
    outsiders: (world, id) => [answer(world, id, 'yes')],
    check: ({ output, results }) => {
      assert.equal(resultIn(output), 'yes');
      assert.ok(isTaken(results[0]));
    },
  },
  {
    name: 'two answerers',
    pipelines: [asking()],
    outsiders: (world, id) => [answer(world, id, 'yes'), answer(world, id, 'no')],
    check: ({ output, results }) => {
      const winners = ['yes', 'no'].filter((_, index) => isTaken(results[index]));
      assert.deepEqual(winners, [resultIn(output)]);
      const loser = results.find((each) => !isTaken(each)) as Answered;
      assert.ok(loser.kind === 'refused' && loser.why === 'answer-conflict');
      assert.equal(loser.actor, winners[0]);
    },
  },
  {
    name: 'two answers to two items',
    pipelines: [pipeline({ name: 'asking', run: (ctx) => ctx.await('it', { items: ['a', 'b'] }) })],
    outsiders: (world, id) =>
      [0, 1].map((item) =>
        world.outside.awaits.answer({ execution: id, name: 'it', item }, `${item}`),
      ),
    check: ({ output, results }) => {
      assert.ok(results.every(isTaken));
      assert.deepEqual((output as { readonly values: unknown }).values, ['0', '1']);
    },
  },
  {
    name: 'the timeout against the park',
    pipelines: [asking({ timeoutMs: TIMEOUT_MS, default: 'nobody' })],
    outsiders: (world) => [world.place.passes(TIMEOUT_MS)],
    check: ({ output }) => assert.equal(resultIn(output), 'nobody'),
  },
  {
    ...TIME_OUT,
    name: 'the timeout, found by its execution, against an answer',
    outsiders: (world, id) => [answer(world, id, 'yes'), world.place.passes(TIMEOUT_MS)],
  },
  {
    ...TIME_OUT,
    name: 'the timeout, found by a sweep, against an answer',
    outsiders: (world, id) => {
      const { passes, store } = world.place;
      const noticed = passes(TIMEOUT_MS).then(() => store.executions.expireAwaits({ limit: 9 }));
      return [answer(world, id, 'yes'), noticed];
    },
  },
  {
    name: 'the death of the worker against an answer',
    pipelines: [asking()],
    outsiders: (world, id) => [answer(world, id, 'yes'), world.replaceWorker()],
    check: ({ output, results }) => {
      assert.equal(resultIn(output), 'yes');
      assert.ok(isTaken(results[0]));
    },
  },
  {
    name: 'a cancel of the execution against an answer',
    pipelines: [asking()],
    outsiders: (world, id) => [answer(world, id, 'yes'), world.outside.cancel(id)],
    check: ({ execution, output, results }) => {
      const [answered] = results as readonly Answered[];
      if (execution.status === 'completed') assert.equal(resultIn(output), 'yes');
      else assert.equal(execution.status, 'cancelled');
      if (execution.status === 'completed') assert.ok(isTaken(answered));
    },
  },
  {
    name: 'a cancel of the await against an answer',
    pipelines: [asking()],
    outsiders: (world, id) => [
      answer(world, id, 'yes'),
      world.outside.awaits.cancel({ execution: id, name: 'it' }),
    ],
    check: ({ output, results }) => {
      const [answered] = results as readonly Answered[];
      assert.equal(resultIn(output), isTaken(answered) ? 'yes' : 'cancelled');
    },
  },
  {
    name: 'the end of the last child against its parent',
    pipelines: [
      pipeline({
        name: 'parent',
        async run(ctx) {
          const children = await ctx.fanOut('child', [1, 2]);
          return children.results();
        },
      }),
      pipeline<number, number>({ name: 'child', run: (_ctx, n) => n }),
    ],
    outsiders: () => [],
    check: ({ output }) => assert.deepEqual(output, [1, 2]),
  },
];
