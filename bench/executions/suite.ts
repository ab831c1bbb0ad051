// The executions suite. It uses the public API, with an observer and validation. The unmodified spikes
// take turns with it. Every round of every contestant has its own process.

import type { Result } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Plan, StoreKind, Suite } from '../suite.ts';
import { type BenchCase, ON_ALL } from './bench-case.ts';
import { CLAIM_CASES } from './claim-cost.ts';
import { HEARTBEAT_CASES } from './heartbeats.ts';
import { IDLE_CASES } from './idle.ts';
import { MEMORY_CASES } from './memory.ts';
import { ONE_AT_A_TIME_CASES } from './one-at-a-time.ts';
import { referenceFor } from './reference.ts';
import { openStoreFactory } from './store-factory.ts';
import type { StoreLocation } from './store-location.ts';
import { THROUGHPUT_CASES } from './throughput.ts';
import { WRITTEN_CASES } from './written.ts';

const CASES: readonly BenchCase[] = [
  ...THROUGHPUT_CASES,
  ...ONE_AT_A_TIME_CASES,
  ...WRITTEN_CASES,
  ...HEARTBEAT_CASES,
  ...IDLE_CASES,
  ...CLAIM_CASES,
  ...MEMORY_CASES,
];

export const executionsSuite: Suite = {
  name: 'executions',
  summary:
    'Rate, latency, writes, idle load, heartbeats, claims and memory of executions, beside the spikes',
  legend: [
    'of spike: our rate divided by that of the unmodified spike, which has no validation, user code or retries.',
    'of floor: the same with our own floor, if there are no spikes. “beside” names the script.',
    'p50 of spike: our latency divided by that of the spike, both from claim to end. The spike prints 0.1 ms steps.',
    'lowest, highest: range of the ratio to the left, one value per round. Rates are medians of rounds.',
    'written: rows inserted, updated and deleted, and transactions including reads, counted by the store.',
    'of a step: time of one heartbeat call divided by that of one step, in the same round.',
    'of limit: measured value divided by the promised limit.',
  ],
  run: runExecutionsSuite,
};

async function* runExecutionsSuite(plan: Plan): AsyncGenerator<Result, void, void> {
  const folder = scratchFolder();
  for (const kind of plan.stores.filter(keepsExecutions)) {
    const cases = CASES.filter(
      ({ name, stores }) => name.includes(plan.only) && stores.includes(kind),
    );
    if (cases.length === 0) continue;
    const reference = referenceFor(kind, plan.spikes);
    plan.progress(`${kind}: opening`);
    const factory = await openStoreFactory(kind, folder);
    try {
      for (const each of cases) {
        plan.progress(`${kind}: ${each.name}`);
        yield* each.measure({ plan, factory, reference });
      }
    } finally {
      await factory.close();
    }
  }
}

/** Redis and etcd keep leases only. */
function keepsExecutions(kind: StoreKind): kind is StoreLocation['kind'] {
  return ON_ALL.includes(kind);
}
