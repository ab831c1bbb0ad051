// The transactions of one process whose worker has no work.

import { type BenchCase, DURABLE, measureIn, reporterOf } from './bench-case.ts';

const LIMIT_PER_SECOND = 1;

const NAME = 'idle worker';

/** The full time covers all periodic work of a worker at least once. */
const QUICK_MS = 20_000;
const FULL_MS = 60_000;

/** A short run counts opening, one execution and closing, to subtract them from the long run. */
const SHORT_MS = 1_000;

export const IDLE_CASES: readonly BenchCase[] = [
  {
    name: NAME,
    stores: DURABLE,
    async *measure(bench) {
      const quietMs = bench.plan.quick ? QUICK_MS : FULL_MS;
      const counted = async (hasWorker: boolean) => {
        const short = await measureIn(bench, 'idle', { quietMs: SHORT_MS, hasWorker });
        const long = await measureIn(bench, 'idle', { quietMs: SHORT_MS + quietMs, hasWorker });
        const perSecond = (count: number): number => (count / quietMs) * 1_000;
        return {
          transactions: perSecond(long.transactions - short.transactions),
          rows: perSecond(long.rows - short.rows),
        };
      };
      const [worker, empty] = [await counted(true), await counted(false)];
      const transactions = worker.transactions - empty.transactions;
      const idle = reporterOf(bench, NAME, { quietMs, limitPerSecond: LIMIT_PER_SECOND });
      yield idle.value('transactions', transactions, '/s');
      yield idle.value('of limit', transactions / LIMIT_PER_SECOND, '×');
      yield idle.value('rows', worker.rows - empty.rows, '/s');
      yield idle.value('without a worker', empty.transactions, '/s');
    },
  },
];
