// What one process with a worker asks of the store when there is nothing to do.

import { type BenchCase, DURABLE, measureIn, reporterOf } from './bench-case.ts';

const LIMIT_PER_SECOND = 1;

const NAME = 'idle worker';

/** A round of what is done from time to time, and one of all that is. */
const QUICK_MS = 20_000;
const FULL_MS = 60_000;

/** What the short one counted is taken off: opening, one execution, closing. */
const SHORT_MS = 1_000;

export const IDLE_CASES: readonly BenchCase[] = [
  {
    name: NAME,
    stores: DURABLE,
    async *measure(bench) {
      const quietMs = bench.plan.quick ? QUICK_MS : FULL_MS;
      const short = await measureIn(bench, 'idle', { quietMs: SHORT_MS });
      const long = await measureIn(bench, 'idle', { quietMs: SHORT_MS + quietMs });
      const perSecond = ((long.transactions - short.transactions) / quietMs) * 1_000;
      const rows = ((long.rows - short.rows) / quietMs) * 1_000;
      const idle = reporterOf(bench, NAME, { quietMs, limitPerSecond: LIMIT_PER_SECOND });
      yield idle.value('transactions', perSecond, '/s');
      yield idle.value('of limit', perSecond / LIMIT_PER_SECOND, '×');
      yield idle.value('rows', rows, '/s');
    },
  },
];
