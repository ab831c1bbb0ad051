import { test } from 'node:test';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { checkInvariants } from '../../src/testing/execution-contract/check-invariants.ts';
import { isLongRun } from '../services/excluded.ts';
import { BEHAVIOURS } from './behaviours/index.ts';
import { Stage } from './stage.ts';

export interface EngineBackend {
  readonly kind: string;
  /** One of so many is tried, unless the run is a long one: for what is slow and made of parts that are tried in full. */
  readonly oneOf?: number;
  open(): Promise<{ readonly store: CoordinatorStore; close(): Promise<void> }>;
}

/** Of a kind, or of all that end in the same words: `sqlite over REST` is `over REST` too. */
function reasonAgainst(without: Readonly<Record<string, string>>, kind: string): string | false {
  const found = Object.entries(without).find(
    ([name]) => kind === name || kind.endsWith(` ${name}`),
  );
  return found?.[1] ?? false;
}

export function registerBehaviours(backend: EngineBackend): void {
  const { kind, oneOf = 1 } = backend;
  for (const [nth, behaviour] of BEHAVIOURS.entries()) {
    if (nth % oneOf !== 0 && !isLongRun()) continue;
    const skip = reasonAgainst(behaviour.without ?? {}, kind);
    test(`${kind}: ${behaviour.name}`, { skip, timeout: 20_000 }, async () => {
      const { store, close } = await backend.open();
      const stage = new Stage(store);
      try {
        await behaviour.run(stage);
        // Z-3: nothing that the engine leaves is stale.
        await checkInvariants(store);
      } finally {
        await stage.close();
        await close();
      }
    });
  }
}
