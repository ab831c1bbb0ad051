// Does a claim become slower with the size of the store? Executions that are not ready must not slow it
// down.

import { slowdowns } from '../measure.ts';
import { type BenchCase, DURABLE, measureIn, reporterOf } from './bench-case.ts';
import { CROWDS, type Crowd } from './subject/claim-cost.ts';

const BATCH = 100;

const NAME = `claim of ${BATCH}`;

const WORDS: Readonly<Record<Crowd, (many: string) => string>> = {
  empty: () => 'empty store',
  terminal: (many) => `${many} ended`,
  behind: (many) => `${many} waiting for one key`,
};

export const CLAIM_CASES: readonly BenchCase[] = [
  {
    name: NAME,
    stores: DURABLE,
    async *measure(bench) {
      const [many, rounds, warmUp] = bench.plan.quick ? [20_000, 25, 10] : [1_000_000, 101, 30];
      const order = { many, batch: BATCH, rounds, warmUp };
      const cost = await measureIn(bench, 'claimCost', order);
      for (const crowd of CROWDS) {
        const name = `${NAME} · ${WORDS[crowd](many.toLocaleString('en-GB'))}`;
        const reporter = reporterOf(bench, name, order);
        const latencies = cost[crowd].map(({ p50Ms }) => p50Ms);
        yield reporter.latency(latencies);
        if (crowd !== 'empty')
          yield* reporter.spread('of empty', slowdowns(cost[crowd], cost.empty));
      }
    },
  },
];
