// Gauges of what waits in a store, and of its workers. Coordinators and embedded engines register
// the same ones.

import type { Gauge, Registry } from 'prom-client';
import { labelOf } from '../execution/names.ts';
import type { WorkerRecord } from '../features/releases/model.ts';
import { workerPages } from '../features/releases/port.ts';
import type { Backlog, ReadBacklog } from '../store/contract/census-store.ts';
import type { ExecutionStore } from '../store/contract/execution-store.ts';
import type { Clock } from '../support/clock.ts';
import { SharedRead } from '../support/turns.ts';

/** The part of a worker that is counted. Its names stay out of memory. */
type Counted = Pick<WorkerRecord, 'ended' | 'overdue' | 'state' | 'room'>;

export interface StoreReading {
  readonly backlog: Backlog;
  readonly workers: readonly Counted[];
}

export type ReadStore = () => Promise<StoreReading | undefined>;

const WORKERS_MAX = 1_000;
/** Reading costs the store a few queries, and a scrape may come at any rate. */
const AGE_MS = 5_000;

/** The gauges of one scrape share one reading. */
export function readingsOf(
  executions: Pick<ExecutionStore, 'backlog' | 'workers'>,
  clock: Pick<Clock, 'monotonicMs'>,
  of: ReadBacklog = {},
): ReadStore {
  const read = async (): Promise<StoreReading> => {
    const backlog = await executions.backlog(of);
    const workers: Counted[] = [];
    for await (const page of workerPages(executions, of.project)) {
      for (const { ended, overdue, state, room } of page) {
        workers.push({ ended, overdue, state, room });
      }
      if (workers.length >= WORKERS_MAX) break;
    }
    return { backlog, workers: workers.slice(0, WORKERS_MAX) };
  };
  const shared = new SharedRead({ read, clock, ageMs: AGE_MS });
  return () => shared.found();
}

interface Value {
  readonly label: string;
  readonly value: number;
}

interface GaugeOptions {
  readonly registry: Registry;
  readonly read: ReadStore;
  /** Pipelines that become labels. The others share one. */
  readonly pipelinesMax: number;
}

const OTHER = '(other)';

export function registerBacklog(
  { Gauge: Made }: { readonly Gauge: typeof Gauge },
  { registry, read, pipelinesMax }: GaugeOptions,
): void {
  const gauge = (
    [name, help, label]: readonly [string, string, 'pipeline' | 'state'],
    of: (reading: StoreReading) => readonly Value[],
  ): Gauge =>
    new Made({
      ...{ name: `holdfast_${name}`, help, labelNames: [label], registers: [registry] },
      async collect() {
        this.reset();
        // Without a reading, the gauge is missing. Other metrics report a store outage.
        const reading = await read().catch(() => undefined);
        for (const { label: text, value } of reading === undefined ? [] : of(reading)) {
          this.set({ [label]: text }, value);
        }
      },
    });
  const labelled = (
    waiting: readonly { readonly pipeline: string; readonly value: number }[],
    join: (one: number, other: number) => number,
  ): readonly Value[] => {
    const found = new Map<string, number>();
    for (const { pipeline, value } of waiting) {
      const own = labelOf(pipeline);
      const label = found.has(own) || found.size < pipelinesMax ? own : OTHER;
      found.set(label, join(found.get(label) ?? 0, value));
    }
    return [...found].map(([label, value]) => ({ label, value }));
  };
  type Waiting = { readonly pipeline: string; readonly oldestMs: number };
  const ages = (waiting: readonly Waiting[]): readonly Value[] =>
    labelled(
      waiting.map(({ pipeline, oldestMs }) => ({ pipeline, value: oldestMs / 1_000 })),
      Math.max,
    );
  const counts = (waiting: Backlog['awaits']): readonly Value[] =>
    labelled(
      waiting.map(({ pipeline, count }) => ({ pipeline, value: count })),
      (one, other) => one + other,
    );
  const age = 'The time for which the oldest';
  gauge(['queue_age_seconds', `${age} ready execution has waited.`, 'pipeline'], ({ backlog }) =>
    ages(backlog.queues),
  );
  gauge(['awaits_open', 'Questions without an answer; at most 10000.', 'pipeline'], ({ backlog }) =>
    counts(backlog.awaits),
  );
  gauge(['await_age_seconds', `${age} open question has waited.`, 'pipeline'], ({ backlog }) =>
    ages(backlog.awaits),
  );
  gauge(
    ['dead_letters_open', 'Dead letters without a re-drive; at most 10000.', 'pipeline'],
    ({ backlog }) => counts(backlog.deadLetters),
  );
  gauge(['workers', 'Live workers; at most 1000.', 'state'], ({ workers }) =>
    byState(workers, () => 1),
  );
  gauge(
    ['worker_slots_free', 'Executions that live workers could take now.', 'state'],
    ({ workers }) => byState(workers, ({ room }) => room),
  );
}

const STATES = ['starting', 'ready', 'draining'] as const;

/** Zero workers are a value, so that an alert can find it. */
function byState(workers: readonly Counted[], of: (worker: Counted) => number): readonly Value[] {
  const live = workers.filter(({ ended, overdue }) => !ended && !overdue);
  return STATES.map((label) => ({
    label,
    value: live.filter(({ state }) => state === label).reduce((sum, each) => sum + of(each), 0),
  }));
}
