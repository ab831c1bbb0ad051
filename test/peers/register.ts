import { test } from 'node:test';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { Stage } from '../engine/stage.ts';
import { sample } from '../services/tier.ts';
import { SUITES } from './index.ts';

export interface PeersBackend {
  readonly kind: string;
  open(): Promise<{ readonly store: CoordinatorStore; close(): Promise<void> }>;
}

/** How many cases of each store `npm test` plays. */
const COUNT = 20;

const CASES = SUITES.flatMap(({ name, scenarios }) =>
  scenarios.flatMap((scenario) =>
    scenario.kind === 'played' ? [{ name: `${name}: ${scenario.peer}`, run: scenario.run }] : [],
  ),
);

export function registerScenarios({ kind, open }: PeersBackend): void {
  for (const { name, run } of sample(`scenarios of peers, ${kind}`, CASES, COUNT)) {
    test(`${kind}: ${name}`, { timeout: 60_000 }, async () => {
      const { store, close } = await open();
      const stage = new Stage(store);
      try {
        await run(stage);
      } finally {
        await stage.close();
        await close();
      }
    });
  }
}
