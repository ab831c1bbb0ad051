// Some orders of each scenario, on a slow store.

import { test } from 'node:test';
import { parseExecutionId } from '../../../src/execution/names.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { seededRandom } from '../../../src/support/random.ts';
import { sample } from '../../services/tier.ts';
import { pause } from '../stage.ts';
import { play, SCENARIOS, type Scenario } from './scenarios.ts';

const ROUNDS_IN_FULL = 40;
const ROUNDS = 4;
const SPREAD_MS = 30;
const JITTER_MS = 4;
const LOST_AFTER_MS = 5_000;

export function registerSamples(
  kind: string,
  open: () => Promise<{ readonly store: CoordinatorStore; close(): Promise<void> }>,
): void {
  const all = Array.from({ length: ROUNDS_IN_FULL }, (_, index) => index + 1);
  const rounds = sample(`orders around a park, ${kind}`, all, ROUNDS);
  for (const scenario of SCENARIOS) {
    test(`${kind}: ${scenario.name}, in some orders`, { timeout: 60_000 }, async () => {
      const { store, close } = await open();
      try {
        for (const seed of rounds) await playOnce(scenario, store, seed);
      } finally {
        await close();
      }
    });
  }
}

async function playOnce(scenario: Scenario, store: CoordinatorStore, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const { spreadMs = SPREAD_MS } = scenario;
  const place = {
    store,
    options: { parkAfterMs: 20 },
    turns: {
      pass: (label: string) =>
        pause(random.next() * (label.includes('outsider') ? spreadMs : JITTER_MS)),
    },
    now: () => Number.POSITIVE_INFINITY,
    passes: pause,
  };
  await play(scenario, place, async (id) => {
    const lostAt = Date.now() + LOST_AFTER_MS;
    const isOpen = async (): Promise<boolean> =>
      (await store.executions.read(parseExecutionId(id)))?.endedAt === undefined;
    while (Date.now() < lostAt && (await isOpen())) await pause(5);
  }).catch((cause: unknown) => {
    throw new Error(`in round ${seed}`, { cause });
  });
}
