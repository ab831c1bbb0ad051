import { test } from 'node:test';
import { checkInvariants } from '../../contract/execution/check-invariants.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { sample } from '../services/tier.ts';
import { BEHAVIOURS } from './behaviours/index.ts';
import { type Behaviour, Stage } from './stage.ts';

export interface EngineBackend {
  readonly kind: string;
  /** How many behaviours `npm test` runs. Default: all. */
  readonly count?: number;
  open(): Promise<{ readonly store: CoordinatorStore; close(): Promise<void> }>;
}

/**
 * Whether a store of this kind can show the behaviour. `sqlite over REST` also counts as `over
 * REST`.
 */
function applies({ without = {} }: Behaviour, kind: string): boolean {
  return !Object.keys(without).some((name) => kind === name || kind.endsWith(` ${name}`));
}

export function registerBehaviours(backend: EngineBackend): void {
  const { kind, count = BEHAVIOURS.length } = backend;
  const possible = BEHAVIOURS.filter((behaviour) => applies(behaviour, kind));
  for (const behaviour of sample(`behaviours, ${kind}`, possible, count)) {
    test(`${kind}: ${behaviour.name}`, { timeout: 60_000 }, async () => {
      const { store, close } = await backend.open();
      const stage = new Stage(store);
      try {
        await behaviour.run(stage);
        // Z-3: the engine leaves no stale row.
        await checkInvariants(store);
      } finally {
        await stage.close();
        await close();
      }
    });
  }
}
