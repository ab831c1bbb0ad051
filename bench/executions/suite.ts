// The suite of executions: through the API that people use, with an observer and validation on, beside
// the unmodified spikes in alternating rounds. Every round of every contestant is a process of its own.

import type { Result } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Plan, StoreKind, Suite } from '../suite.ts';
import { type BenchCase, ON_ALL } from './bench-case.ts';
import { CLAIM_CASES } from './claim-cost.ts';
import { openGround } from './ground.ts';
import { IDLE_CASES } from './idle.ts';
import { MEMORY_CASES } from './memory.ts';
import { ONE_AT_A_TIME_CASES } from './one-at-a-time.ts';
import type { Place } from './place.ts';
import { referenceFor } from './reference.ts';
import { THROUGHPUT_CASES } from './throughput.ts';
import { WRITTEN_CASES } from './written.ts';

const CASES: readonly BenchCase[] = [
  ...THROUGHPUT_CASES,
  ...ONE_AT_A_TIME_CASES,
  ...WRITTEN_CASES,
  ...IDLE_CASES,
  ...CLAIM_CASES,
  ...MEMORY_CASES,
];

export const executionsSuite: Suite = {
  name: 'executions',
  summary: 'executions per second, latency, writes, idling, claims and memory, beside the spikes',
  legend: [
    'of spike: rates, ours to those of the unmodified spike (a floor: no validation, no user code, no retries).',
    'of floor: the same to our own floor, where the spikes are not there; “beside” says what was run.',
    'p50 of spike: latencies; the spike prints tenths of milliseconds. Both from the claim to the end.',
    'lowest, highest: of the ratio to its left, each taken within one round. Rates are medians of rounds.',
    'written: rows inserted, updated and deleted, and transactions with reads, as the store counts them.',
    'of limit: what was measured to what is promised.',
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
    const ground = await openGround(kind, folder);
    try {
      for (const each of cases) {
        plan.progress(`${kind}: ${each.name}`);
        yield* each.measure({ plan, ground, reference });
      }
    } finally {
      await ground.close();
    }
  }
}

/** Some stores keep leases only. */
function keepsExecutions(kind: StoreKind): kind is Place['kind'] {
  return ON_ALL.includes(kind);
}
