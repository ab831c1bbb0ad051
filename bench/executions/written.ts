// The writes of a step and of an execution. The cost of a step is the difference between executions with
// many steps and with one. A process without executions gives the cost of opening and closing, which is
// subtracted.

import { type Bench, type BenchCase, DURABLE, measureIn, reporterOf } from './bench-case.ts';

const FEW_STEPS = 1;
const MANY_STEPS = 5;

export const WRITTEN_CASES: readonly BenchCase[] = [
  writtenCase('one at a time', { inFlight: 1, quick: 100, full: 500 }),
  writtenCase('1,000 in flight', { inFlight: 1_000, quick: 2_000, full: 10_000 }),
];

interface Amount {
  readonly inFlight: number;
  readonly quick: number;
  readonly full: number;
}

function writtenCase(title: string, { inFlight, quick, full }: Amount): BenchCase {
  const name = `written · ${title}`;
  return {
    name,
    stores: DURABLE,
    async *measure(bench) {
      const executions = bench.plan.quick ? quick : full;
      const load = { inFlight, executions };
      const nothing = await measureIn(bench, 'written', { ...load, executions: 0, steps: 1 });
      const few = await measureIn(bench, 'written', { ...load, steps: FEW_STEPS });
      const many = await measureIn(bench, 'written', { ...load, steps: MANY_STEPS });
      for (const metric of ['transactions', 'rows'] as const) {
        const ofSteps = (many[metric] - few[metric]) / (MANY_STEPS - FEW_STEPS);
        const ofExecutions = few[metric] - nothing[metric] - ofSteps * FEW_STEPS;
        yield perOne(bench, `${name} · per step`, load).value(metric, ofSteps / executions, '');
        yield perOne(bench, `${name} · per execution without its steps`, load).value(
          metric,
          ofExecutions / executions,
          '',
        );
      }
    },
  };
}

function perOne(bench: Bench, name: string, load: { inFlight: number; executions: number }) {
  return reporterOf(bench, name, { ...load, how: 'counted by the store, including reads' });
}
