// The cost of a step heartbeat: the time of a call beside that of a step, and the writes of steps that
// send heartbeats all the time, beside those of silent ones.

import { median } from '../measure.ts';
import { type BenchCase, DURABLE, measureIn, reporterOf } from './bench-case.ts';

const NAME = 'step heartbeat';

export const HEARTBEAT_CASES: readonly BenchCase[] = [
  {
    name: NAME,
    stores: DURABLE,
    async *measure(bench) {
      const order = bench.plan.quick
        ? { rounds: 3, beats: 20_000, steps: 500 }
        : { rounds: 7, beats: 200_000, steps: 2_000 };
      const { beats, steps } = await measureIn(bench, 'heartbeatCost', order);
      const calls = reporterOf(bench, `${NAME} · call`, order);
      yield calls.value('median', median(beats), 'µs');
      const ofStep = beats.map((us, round) => us / (steps[round] ?? Number.NaN));
      yield* calls.spread('of a step', ofStep);
      yield reporterOf(bench, `${NAME} · a step`, order).value('median', median(steps), 'µs');

      const load = { executions: 20, everyMs: 100, forMs: bench.plan.quick ? 5_000 : 20_000 };
      const silent = await measureIn(bench, 'heartbeatWrites', { ...load, isSilent: true });
      const beating = await measureIn(bench, 'heartbeatWrites', { ...load, isSilent: false });
      const written = reporterOf(bench, `${NAME} · written per execution`, load);
      const perSecond = (metric: 'transactions' | 'rows'): number =>
        ((beating[metric] - silent[metric]) / load.executions / load.forMs) * 1_000;
      yield written.value('transactions', perSecond('transactions'), '/s');
      yield written.value('rows', perSecond('rows'), '/s');
    },
  },
];
