// Pipelines with one way each to be open, in words that both builds know. An earlier build begins
// them; this build ends them.

import type { pipeline as definePipeline } from '../../src/index.ts';

type Define = typeof definePipeline;

/** Ends only under the present build. */
const RETRY = { attempts: 1_000, initialMs: 200, maxMs: 200 } as const;

export interface Builds {
  readonly pipeline: Define;
  /** In the earlier build: steps that must be open at its kill do not end. */
  readonly isEarlier: boolean;
  readonly onRunning?: () => void;
}

export function openWork({ pipeline, isEarlier, onRunning }: Builds) {
  const child = pipeline({ name: 'child', run: (ctx) => ctx.receive<string>('go') });
  return [
    pipeline({ name: 'queued', run: async () => 'queued' }),
    pipeline({
      name: 'sleeping',
      async run(ctx) {
        const kept = await ctx.step(
          'before',
          () => `step of ${isEarlier ? 'the earlier' : 'this'}`,
        );
        await ctx.sleep(4_000);
        return kept;
      },
    }),
    pipeline({ name: 'receiving', run: (ctx) => ctx.receive<string>('go') }),
    pipeline({
      name: 'asking',
      async run(ctx) {
        const outcome = await ctx.await<string>('approval', { request: 'may I?' });
        return outcome.kind === 'answered' ? outcome.value : outcome.kind;
      },
    }),
    pipeline({
      name: 'parent',
      async run(ctx) {
        return (await ctx.spawn(child, undefined, { name: 'only' })).result();
      },
    }),
    child,
    pipeline({
      name: 'retrying',
      retry: RETRY,
      run: (ctx) =>
        ctx.step('call', () => {
          if (isEarlier) throw new Error('not yet');
          return 'retried';
        }),
    }),
    pipeline({
      name: 'running',
      run: (ctx) =>
        ctx.step('work', async () => {
          if (!isEarlier) return 'taken over';
          onRunning?.();
          return new Promise<string>(() => undefined);
        }),
    }),
    pipeline({ name: 'paused', run: (ctx) => ctx.receive<string>('go') }),
    pipeline({
      name: 'undoing',
      async run(ctx) {
        await ctx.step('reserve', () => 'reserved', {
          compensate: {
            retry: RETRY,
            run: () => {
              if (isEarlier) throw new Error('not yet');
            },
          },
        });
        throw new Error('out of stock');
      },
    }),
  ] as const;
}

/** Names of the pipelines that callers submit, with the key of the same name. */
export const SUBMITTED: readonly string[] = [
  'queued',
  'sleeping',
  'receiving',
  'asking',
  'parent',
  'retrying',
  'running',
  'paused',
  'undoing',
];
