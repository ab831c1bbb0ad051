import { test } from 'node:test';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { checkInvariants } from '../../src/testing/execution-contract/check-invariants.ts';
import { BEHAVIOURS } from './behaviours/index.ts';
import { Stage } from './stage.ts';

export interface EngineBackend {
  readonly kind: string;
  open(): Promise<{ readonly store: CoordinatorStore; close(): Promise<void> }>;
}

export function registerBehaviours(backend: EngineBackend): void {
  for (const behaviour of BEHAVIOURS) {
    const reason = behaviour.without?.[backend.kind];
    const title = `${backend.kind}: ${behaviour.name}`;
    test(title, { skip: reason ?? false, timeout: 20_000 }, async () => {
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
