// The pipelines that the simulated workers run. Each has an output that follows from its input alone,
// so a checker knows it without running anything.

import type {
  Context,
  ExecutionLease,
  RetryOptions,
  StepContext,
} from '../../../src/engine/context.ts';
import { type AnyPipeline, pipeline } from '../../../src/engine/pipeline.ts';
import type { Life } from '../actor.ts';
import type { Ledger } from '../ledger.ts';
import { between, type World } from '../world.ts';

export interface Input {
  /** The submission's number. */
  readonly nth: number;
  /** The amount of work. */
  readonly size: number;
}

/** The process in which the code of a pipeline runs. */
export interface Workplace {
  readonly world: World;
  readonly ledger: Ledger;
  readonly life: Life;
  /** Kills the process that runs the code. */
  die(): void;
}

const RETRY = { attempts: 1_000, initialMs: 20, maxMs: 200 } as const;

/** Every start of a process may bring a new build, whose steps are retried more slowly. */
function retryOf({ life }: Pick<Workplace, 'life'>): typeof RETRY | typeof SLOWER {
  return life.build === 'new' ? SLOWER : RETRY;
}

const SLOWER = { attempts: 1_000, initialMs: 40, maxMs: 600 } as const;

/** The possible ends of an execution, and its output if it completes. */
export interface Expected {
  readonly statuses: readonly string[];
  readonly output?: unknown;
}

interface Recipe {
  readonly run: (place: Workplace, ctx: Context, input: Input) => Promise<unknown>;
  readonly executionRetry?: RetryOptions;
  readonly expected: (input: Input) => Expected;
}

const COMPLETED = ['completed'] as const;

/** The concurrency of questions. The limit never changes, so more are never open. */
export const PANEL = { key: 'panel', limit: 2 } as const;

/** The resource of a lease that executions hold. */
export const VAULT = 'vault';

export const RECIPES: Readonly<Record<string, Recipe>> = {
  /** Steps one after the other, with short and long sleeps between them. */
  order: {
    async run(place, ctx, { nth, size }) {
      let sum = nth;
      for (let at = 1; at <= size; at += 1) {
        const added = await ctx.step(`add ${at}`, (step) => perform(place, { ctx, step }, at), {
          retry: retryOf(place),
        });
        sum += added;
        if (at % 2 === 0) await ctx.sleep(at * 60, `rest ${at}`);
      }
      return sum;
    },
    expected: ({ nth, size }) => ({ statuses: COMPLETED, output: nth + (size * (size + 1)) / 2 }),
  },

  /** Steps side by side. */
  batch: {
    async run(place, ctx, { nth, size }) {
      const items = Array.from({ length: size }, (_, at) => at + nth);
      const run = (item: number, step: StepContext): Promise<number> =>
        perform(place, { ctx, step }, item);
      const results = await ctx.map('item', items, { run, concurrency: 3, retry: retryOf(place) });
      return results.reduce((sum, each) => sum + each, 0);
    },
    expected: ({ nth, size }) => ({
      statuses: COMPLETED,
      output: nth * size + (size * (size - 1)) / 2,
    }),
  },

  /** Children, for which it waits. */
  family: {
    async run(_, ctx, { nth, size }) {
      const inputs = Array.from({ length: size }, (_, at) => ({ nth: nth + at, size: 1 }));
      const children = await ctx.fanOut<Input, number>('child', inputs);
      const results = await children.results();
      return results.reduce((sum, each) => sum + each, 0);
    },
    expected: ({ nth, size }) => ({
      statuses: COMPLETED,
      output: 10 * (nth * size + (size * (size - 1)) / 2),
    }),
  },

  /** Some children rest, so that they wait for a while. */
  child: {
    async run(place, ctx, { nth }) {
      if (nth % 3 === 0) await ctx.sleep(300);
      return ctx.step('work', (step) => perform(place, { ctx, step }, nth * 10), {
        retry: retryOf(place),
      });
    },
    expected: ({ nth }) => ({ statuses: COMPLETED, output: nth * 10 }),
  },

  /** Signals: it returns their values in the order in which it got them. */
  letters: {
    async run(_, ctx, { size }) {
      const values: number[] = [];
      while (values.length < size) values.push(await ctx.receive<number>('letter'));
      return values;
    },
    expected: () => ({ statuses: COMPLETED }),
  },

  /** A question, with a time limit for some. */
  question: {
    async run(_, ctx, { size }) {
      const outcome = await ctx.await<number>('approve', size > 2 ? { timeoutMs: size * 700 } : {});
      return outcome.kind === 'answered' ? outcome.value : outcome.kind;
    },
    expected: () => ({ statuses: COMPLETED }),
  },

  /** Questions of one panel, of which two are open at once (W-17). Some have a time limit. */
  panel: {
    async run(_, ctx, { size }) {
      const outcome = await ctx.await('approve', {
        ...{ items: Array.from({ length: size }, (_, at) => at), concurrency: PANEL },
        ...(size > 3 && { timeoutMs: size * 700 }),
      });
      return outcome.kind;
    },
    expected: () => ({ statuses: COMPLETED }),
  },

  /** Steps with compensations, and a failure after them. */
  saga: {
    async run(place, ctx, { size }) {
      for (let at = 1; at <= size; at += 1) {
        await ctx.step(`book ${at}`, (step) => perform(place, { ctx, step }, at), {
          retry: retryOf(place),
          compensate: {
            run: (_, undo) => performUndo(place, { ctx, step: undo }, at),
            retry: { attempts: 1_000, initialMs: 300, maxMs: 900 },
          },
        });
      }
      throw new Error('sold out');
    },
    expected: () => ({ statuses: ['compensated'] }),
  },

  /** Continues as a new execution until nothing is left. */
  chain: {
    async run(place, ctx, { nth, size }) {
      await ctx.step('link', (step) => perform(place, { ctx, step }, size), {
        retry: retryOf(place),
      });
      return size > 1 ? ctx.continueAsNew({ nth, size: size - 1 }) : 'end';
    },
    expected: ({ size }) => ({ statuses: COMPLETED, ...(size <= 1 && { output: 'end' }) }),
  },

  /** Fails for good, so it leaves a dead letter. */
  doomed: {
    async run(place, ctx, { nth }) {
      await ctx.step('prepare', (step) => perform(place, { ctx, step }, nth), {
        retry: retryOf(place),
      });
      return ctx.step('fail', () => Promise.reject(new Error('never works')), {
        retry: { attempts: 1 },
      });
    },
    expected: () => ({ statuses: ['failed'] }),
  },

  /** Runs again as a whole when a step fails, and counts its steps in an attribute. */
  stubborn: {
    executionRetry: RETRY,
    async run(place, ctx, { nth, size }) {
      for (let at = 1; at <= size; at += 1) {
        await ctx.step(`try ${at}`, (step) => perform(place, { ctx, step }, at), {
          retry: { attempts: 1 },
        });
        ctx.setAttributes({ done: Number(ctx.attributes['done'] ?? 0) + 1 });
      }
      return nth + Number(ctx.attributes['done']);
    },
    expected: ({ nth, size }) => ({ statuses: COMPLETED, output: nth + size }),
  },

  /** Works on what a lease protects. Only one execution holds it at a time. */
  locked: {
    run(place, ctx, { nth, size }) {
      return ctx.lease(VAULT, async (lease) => {
        for (let at = 1; at <= size; at += 1) {
          await ctx.step(`write ${at}`, (step) => write(place, { ctx, step, lease }), {
            retry: retryOf(place),
          });
          if (at % 3 === 0) await ctx.sleep(at * 40, `rest ${at}`);
        }
        return nth;
      });
    },
    expected: ({ nth }) => ({ statuses: COMPLETED, output: nth }),
  },

  /** Has too little time, perhaps. */
  hurry: {
    async run(place, ctx, { nth, size }) {
      await ctx.step('first', (step) => perform(place, { ctx, step }, nth), {
        retry: retryOf(place),
      });
      await ctx.sleep(size * 300);
      return nth;
    },
    expected: ({ nth }) => ({ statuses: ['completed', 'failed'], output: nth }),
  },

  /** Kills its worker whenever it runs. */
  killer: {
    run: (place, ctx) =>
      ctx.step('kill', () => {
        place.die();
        return new Promise(() => undefined);
      }),
    expected: () => ({ statuses: ['quarantined'] }),
  },
};

export function pipelinesAt(place: Workplace): readonly AnyPipeline[] {
  return Object.entries(RECIPES).map(
    ([name, { run, executionRetry }]) =>
      pipeline<Input, unknown>({
        ...{ name, ...(executionRetry && { executionRetry }) },
        run(ctx, input) {
          place.world.operations += 1;
          if (place.life.build === 'new') ctx.log('the new build runs this');
          return run(place, ctx, input);
        },
      }) as AnyPipeline,
  );
}

/** An effect on the resource of a lease, under the fence of the lease. */
async function write(
  { world, ledger, life: { process } }: Workplace,
  { ctx, step, lease }: { ctx: Context; step: StepContext; lease: ExecutionLease },
): Promise<void> {
  world.operations += 1;
  ledger.attempt(process, { execution: ctx.id, key: step.idempotencyKey, fence: step.fence });
  const forMs = between(process.random, 1, 40);
  lease.assertHeld(forMs);
  ledger.effect(process, { key: `default:${VAULT}`, fence: lease.fence, forMs });
  await process.timers.pause(forMs + between(process.random, 1, 150));
}

/** Often fails at first, so that the execution waits between two attempts of a compensation. */
async function performUndo(
  place: Workplace,
  given: { readonly ctx: Context; readonly step: StepContext },
  at: number,
): Promise<number> {
  if (place.life.process.random.next() < 0.2) throw new Error('not yet');
  return perform(place, given, -at);
}

/** An effect outside, of which the unfenced resource sees the time and the fenced one the fence. */
async function perform<Value>(
  { world, ledger, life: { process } }: Workplace,
  { ctx, step }: { readonly ctx: Context; readonly step: StepContext },
  value: Value,
): Promise<Value> {
  world.operations += 1;
  const { fence, idempotencyKey } = step;
  ledger.attempt(process, { execution: ctx.id, key: idempotencyKey, fence });
  for (
    let left = process.random.next() < 0.2 ? between(process.random, 2, 12) : 1;
    left > 0;
    left -= 1
  ) {
    const forMs = between(process.random, 1, 40);
    step.assertHeld(forMs);
    ledger.effect(process, { key: `execution ${ctx.id}`, fence, forMs });
    await process.timers.pause(forMs + between(process.random, 1, 150));
  }
  if (process.random.next() < 0.05) throw new Error('a hiccup');
  return value;
}
