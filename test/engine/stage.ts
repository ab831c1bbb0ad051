// The tools of a behaviour test: a Holdfast on some store, workers that can stop and crash, and
// conditions to wait for. Tests never sleep; they wait for what they need to see.

import type { HoldfastOptions } from '../../src/engine/config.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import type { Worker, WorkerOptions } from '../../src/engine/worker/worker-options.ts';
import type { ExecutionRecord } from '../../src/execution/execution.ts';
import type { HistoryEvent } from '../../src/execution/history.ts';
import type { ExecutionReport } from '../../src/execution/report.ts';
import type { CoordinatorStore, ExecutionStore } from '../../src/store/contract/execution-store.ts';

export interface Behaviour {
  readonly name: string;
  /** Left out for a kind of store, with the reason. */
  readonly without?: Readonly<Record<string, string>>;
  run(stage: Stage): Promise<void>;
}

export class Stage {
  readonly store: CoordinatorStore;
  readonly reports: ExecutionReport[] = [];
  readonly #options: Omit<HoldfastOptions, 'store'>;
  #holdfasts: Holdfast[] = [];

  constructor(store: CoordinatorStore, options: Omit<HoldfastOptions, 'store'> = {}) {
    this.store = store;
    this.#options = options;
  }

  get kind(): string {
    return this.store.kind;
  }

  holdfast(options: Omit<HoldfastOptions, 'store'> = {}): Holdfast {
    const holdfast = new Holdfast({
      store: this.store,
      observer: { report: (report) => this.reports.push(report) },
      ...this.#options,
      ...options,
    });
    this.#holdfasts.push(holdfast);
    return holdfast;
  }

  /** On the same store, with some of its verbs changed. */
  holdfastWith(
    change: (executions: ExecutionStore) => Partial<ExecutionStore>,
    changed: Partial<CoordinatorStore> = {},
    options: Omit<HoldfastOptions, 'store'> = {},
  ): Holdfast {
    const { executions } = this.store;
    const verbs = { ...executions, ...change(executions) };
    const store = { ...this.store, ...changed, executions: verbs };
    const observer = { report: (report: ExecutionReport) => this.reports.push(report) };
    const holdfast = new Holdfast({ store, observer, ...this.#options, ...options });
    this.#holdfasts.push(holdfast);
    return holdfast;
  }

  worker(
    holdfast: Holdfast,
    pipelines: WorkerOptions['pipelines'],
    options: Omit<WorkerOptions, 'pipelines'> = {},
  ): Promise<Worker> {
    return holdfast.worker({ pipelines, pollMs: 50, ttlMs: 3_000, ...options });
  }

  /** Ends the worker's process, and lets the store find out. */
  async crash(worker: Worker): Promise<void> {
    worker.crash();
    const by = { kind: 'operator', actor: 'test', reason: 'crash' } as const;
    await this.store.sessions.end({ id: worker.session, by });
  }

  async until(
    holdfast: Holdfast,
    id: string,
    isReached: (execution: ExecutionRecord) => boolean,
  ): Promise<ExecutionRecord> {
    for (;;) {
      const execution = await holdfast.read(id);
      if (execution !== undefined && isReached(execution)) return execution;
      await pause(5);
    }
  }

  async untilHistory(
    holdfast: Holdfast,
    id: string,
    isReached: (events: readonly HistoryEvent[]) => boolean,
  ): Promise<void> {
    while (!isReached(await holdfast.history(id))) await pause(5);
  }

  async close(): Promise<void> {
    await Promise.all(this.#holdfasts.map((each) => each.close()));
  }
}

/** A door that a step waits at until the case opens it. */
export function door(): { readonly passed: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: () => resolve() };
}

/** Waits until everything has happened that needs neither the store nor the clock. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
