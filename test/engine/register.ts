import { test } from 'node:test';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { CANCELLING } from './behaviours/cancelling.ts';
import { CHILDREN } from './behaviours/children.ts';
import { CODE } from './behaviours/code.ts';
import { DRIFT } from './behaviours/drift.ts';
import { PAUSING } from './behaviours/pausing.ts';
import { PAYLOADS } from './behaviours/payloads.ts';
import { QUEUEING } from './behaviours/queueing.ts';
import { RECOVERY } from './behaviours/recovery.ts';
import { RETRIES } from './behaviours/retries.ts';
import { SCHEDULING } from './behaviours/scheduling.ts';
import { STEPS } from './behaviours/steps.ts';
import { WAITING } from './behaviours/waiting.ts';
import { type Behaviour, Stage } from './stage.ts';

export const BEHAVIOURS: readonly Behaviour[] = [
  ...STEPS,
  ...RETRIES,
  ...WAITING,
  ...CHILDREN,
  ...CANCELLING,
  ...PAUSING,
  ...RECOVERY,
  ...DRIFT,
  ...CODE,
  ...PAYLOADS,
  ...QUEUEING,
  ...SCHEDULING,
];

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
      } finally {
        await stage.close();
        await close();
      }
    });
  }
}
