// Executions per second with many in flight. The reference takes turns with the engine.

import { medianRound, ratios } from '../measure.ts';
import { type BenchCase, inTurns, measureIn, ON_ALL, reporterOf } from './bench-case.ts';

const IN_FLIGHT = 1_000;

export const THROUGHPUT_CASES: readonly BenchCase[] = [
  throughputCase('three steps', 3),
  throughputCase('one step', 1),
];

function throughputCase(title: string, steps: number): BenchCase {
  const name = `${title} · 1,000 in flight`;
  return {
    name,
    stores: ON_ALL,
    async *measure(bench) {
      const { plan, factory, reference } = bench;
      const [executions, warmUp, byDefault] = plan.quick ? [5_000, 3_000, 3] : [30_000, 10_000, 5];
      const { rounds = byDefault } = plan;
      const load = { executions, inFlight: IN_FLIGHT, steps };
      const found = await inTurns(
        rounds,
        () => measureIn(bench, 'throughput', { ...load, warmUp }),
        reference && (() => factory.with((location) => reference.run(location, load))),
      );
      const settings = { ...load, rounds };
      const ours = reporterOf(bench, `${name} · holdfast`, { ...settings, warmUp });
      yield ours.rate(found.ours);
      const submits = found.ours.map(({ submittedPerSecond: perSecond, ...of }) => ({
        ...of,
        perSecond,
      }));
      yield ours.value('submits', medianRound(submits).perSecond, '/s');
      if (reference === undefined) return;
      yield* ours.spread(`of ${reference.name}`, ratios(found.ours, found.theirs));
      yield reporterOf(bench, `${name} · ${reference.name}`, settings).rate(found.theirs);
    },
  };
}
