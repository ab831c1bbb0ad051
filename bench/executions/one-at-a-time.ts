// The latency of executions that run one after the other.

import { slowdowns } from '../measure.ts';
import { type BenchCase, inTurns, measureIn, ON_ALL, reporterOf } from './bench-case.ts';

const STEPS = 3;

/** The spikes insert this many in one batch, so they cannot run fewer. */
const SUBMITTED_TOGETHER = 500;

const NAME = 'one at a time · three steps';

export const ONE_AT_A_TIME_CASES: readonly BenchCase[] = [
  {
    name: NAME,
    stores: ON_ALL,
    async *measure(bench) {
      const { plan, factory, reference } = bench;
      const [executions, warmUp, rounds] = plan.quick
        ? [SUBMITTED_TOGETHER, 300, 3]
        : [4 * SUBMITTED_TOGETHER, 1_000, 5];
      const load = { executions, inFlight: 1, steps: STEPS };
      const found = await inTurns(
        rounds,
        () => measureIn(bench, 'oneAtATime', { ...load, warmUp }),
        reference && (() => factory.with((location) => reference.run(location, load))),
      );
      const settings = { ...load, rounds };
      const claimed = found.ours.map((each) => each.claimed);
      const ours = reporterOf(bench, `${NAME} · claim to end`, { ...settings, warmUp });
      yield ours.rate(claimed);
      if (reference !== undefined) {
        yield* ours.spread(`p50 of ${reference.name}`, slowdowns(claimed, found.theirs));
        yield reporterOf(bench, `${NAME} · ${reference.name}`, settings).rate(found.theirs);
      }
      const submitted = reporterOf(bench, `${NAME} · submit to result`, { ...settings, warmUp });
      yield submitted.rate(found.ours.map((each) => each.submitted));
    },
  },
];
