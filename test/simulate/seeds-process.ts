// A process that runs the seeds it is sent, one after the other.

import { simulateWatched } from '../../contract/simulator/simulate.ts';
import { watchLeaseModel } from './lease-model.ts';

export interface SeedReport {
  readonly seed: number;
  readonly operations: number;
  readonly faults: number;
  readonly cpuMs: number;
  readonly violations: readonly { readonly rule: string; readonly text: string }[];
  readonly coverage: readonly (readonly [string, number])[];
}

// Traces of stacks cost more than the runs, and nobody reads them.
Error.stackTraceLimit = 0;

process.on('message', (seed: number) => {
  void report(seed).then((found) => process.send?.(found));
});

async function report(seed: number): Promise<SeedReport> {
  const before = process.cpuUsage();
  const { operations, faults, violations, coverage } = await simulateWatched(
    { seed },
    watchLeaseModel,
  );
  const { user, system } = process.cpuUsage(before);
  const cpuMs = (user + system) / 1_000;
  return { seed, operations, faults, cpuMs, violations, coverage: [...coverage] };
}
