// Every verb of an owner, so that a rule for one is tested for all.

import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { finishing, type Held, parking, step, transacting, writing } from '../worker.ts';

export interface OwnerVerb {
  readonly verb: string;
  readonly done: string;
  operation(store: CoordinatorStore, held: Held): Promise<{ readonly kind: string }>;
}

/** All verbs with replay. `transact` has none. */
export const REPEATABLE: readonly OwnerVerb[] = [
  {
    verb: 'record',
    done: 'recorded',
    operation: (store, held) => store.executions.record(writing(held, step('ship'), step('bill'))),
  },
  {
    verb: 'finish',
    done: 'finished',
    operation: (store, held) => store.executions.finish(finishing(held)),
  },
  {
    verb: 'park',
    done: 'parked',
    operation: (store, held) => store.executions.park(parking(held, { inboxSeen: 100 })),
  },
  {
    verb: 'giveBack',
    done: 'given-back',
    operation: (store, held) => store.executions.giveBack(writing(held, { kind: 'given-back' })),
  },
];

export const OWNER_VERBS: readonly OwnerVerb[] = [
  ...REPEATABLE,
  {
    verb: 'transact',
    done: 'recorded',
    operation: (store, held) => {
      const work = (): never => {
        throw new Error('the work of a refused transact must not run');
      };
      return store.executions.transact(transacting(held, work));
    },
  },
];
