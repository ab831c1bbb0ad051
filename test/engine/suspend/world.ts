// The scene of a scenario: a worker and outsiders on one store, whose calls wait for their turn.

import assert from 'node:assert/strict';
import type { HoldfastOptions } from '../../../src/engine/config.ts';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import type { Pipeline } from '../../../src/engine/pipeline.ts';
import type { Worker } from '../../../src/engine/worker/worker-options.ts';
import type { HistoryEvent } from '../../../src/execution/history.ts';
import { DEFAULT_PROJECT } from '../../../src/execution/names.ts';
import type {
  CoordinatorStore,
  ExecutionStore,
} from '../../../src/store/contract/execution-store.ts';

/** Decides when a call continues. */
export interface Turns {
  pass(label: string): Promise<void>;
}

type Verb = keyof ExecutionStore;

const OWN: readonly Verb[] = ['claim', 'record', 'park', 'inbox', 'finish', 'expireAwaits'];
const OUTSIDE: readonly Verb[] = ['answer', 'cancel', 'cancelAwait', 'extendAwait', 'expireAwaits'];

export interface Place {
  readonly store: CoordinatorStore;
  readonly turns: Turns;
  readonly options: Omit<HoldfastOptions, 'store'>;
  now(): number;
  /** Lets that much time pass. */
  passes(ms: number): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: pipelines of any input and output
type AnyPipelines = readonly Pipeline<any, any>[];

export class World {
  readonly worker: Holdfast;
  readonly outside: Holdfast;
  readonly place: Place;
  readonly #pipelines: AnyPipelines;
  #working: Worker | undefined;

  constructor(place: Place, pipelines: AnyPipelines) {
    const { options } = place;
    this.place = place;
    this.#pipelines = pipelines;
    this.worker = new Holdfast({ ...options, store: ownStore(place) });
    this.outside = new Holdfast({ ...options, store: outsideStore(place), pipelines });
  }

  async work(): Promise<void> {
    this.#working = await this.worker.worker({
      ...{ pipelines: this.#pipelines, pollMs: 10_000, ttlMs: 60_000 },
    });
  }

  /** The worker's process dies, the store finds out, and another one starts. */
  async replaceWorker(): Promise<void> {
    await this.place.turns.pass('crash');
    const dead = this.#working;
    if (dead === undefined) return;
    dead.crash();
    const by = { kind: 'operator', actor: 'test', reason: 'crash' } as const;
    await this.place.store.sessions.end({ id: dead.session, by });
    await this.work();
  }

  async close(): Promise<void> {
    await this.worker.close();
    await this.outside.close();
  }
}

function ownStore(place: Place): CoordinatorStore {
  const { store, turns } = place;
  return wrapped(store, OWN, async ({ verb, argument, call }) => {
    // A claim that finds nothing repeats when there is something. An outsider plays the worker's
    // duty for all awaits.
    const isIdle =
      (verb === 'claim' && !(await isSomethingReady(place))) ||
      (verb === 'expireAwaits' && !('execution' in argument));
    if (!isIdle) await turns.pass(verb);
    const answer = await call();
    // Between the park and its answer, more messages can reach the owner.
    if (verb === 'park') await turns.pass('told of park');
    return answer;
  });
}

async function isSomethingReady({ store, now }: Place): Promise<boolean> {
  const query = { project: DEFAULT_PROJECT, status: ['queued', 'waiting'], limit: 10 } as const;
  const { items } = await store.executions.list(query);
  return items.some(({ readyAt }) => readyAt !== undefined && readyAt <= now());
}

function outsideStore({ store, turns }: Place): CoordinatorStore {
  return wrapped(store, OUTSIDE, async ({ verb, call }) => {
    await turns.pass(`an outsider's ${verb}`);
    return call();
  });
}

function wrapped(
  store: CoordinatorStore,
  verbs: readonly Verb[],
  around: (held: {
    readonly verb: Verb;
    readonly argument: object;
    call(): Promise<unknown>;
  }) => Promise<unknown>,
): CoordinatorStore {
  const { executions } = store;
  const held = verbs.map((verb) => {
    const inner = executions[verb] as (argument: object) => Promise<unknown>;
    const call = (argument: object): Promise<unknown> =>
      around({ verb, argument, call: () => inner.call(executions, argument) });
    return [verb, call];
  });
  const bound = {
    onWakeup: (listener: () => void) => executions.onWakeup(listener),
    room: () => executions.room(),
  };
  return {
    ...store,
    executions: { ...executions, ...bound, ...Object.fromEntries(held) } as ExecutionStore,
  };
}

/** Woken once for each message, and never without one. */
export function checkWaking(history: readonly HistoryEvent[]): void {
  const kinds = history.map(({ kind }) => kind);
  const count = (kind: string): number => kinds.filter((each) => each === kind).length;
  // While it is queued or waiting, others may end it.
  const ended = history.at(-1)?.fence === undefined ? 0 : 1;
  const lost = history.filter(
    ({ kind, body }) => kind === 'claimed' && body?.includes('"previous":"lost"') === true,
  ).length;
  const claims = count('parked') + lost + ended;
  assert.equal(count('claimed'), claims, 'claimed once each time it was let go or lost');
  const settled = history.filter(({ kind }) => kind === 'await-settled' || kind === 'child-ended');
  const keys = settled.map(({ body }) => (JSON.parse(body ?? '{}') as { key: string }).key);
  assert.equal(new Set(keys).size, keys.length, 'each is reported once');
  const inVain = kinds.findIndex((kind, at) => kind === 'claimed' && kinds[at + 1] === 'parked');
  assert.equal(inVain, -1, `woken in vain: ${kinds.join(' ')}`);
}
