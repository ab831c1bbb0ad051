// A process that takes permits, or begins the work of a key, and does not stop by itself.

import { openSession } from '../../../src/index.ts';
import { once, type PermitsTerm, withPermits } from '../../../src/recipes/index.ts';
import { emit, serveCalls } from '../../processes/children/serve-calls.ts';
import { openStoreAt, type StoreAddress } from '../../processes/stage/store-address.ts';

export interface Hold {
  readonly store: StoreAddress;
  readonly name: string;
  readonly permits: number;
  readonly weight: number;
  readonly ttlMs: number;
}

export interface PermitHolderApi {
  /** Returns the fences of the permits by key, while it holds them. */
  hold(input: Hold): Promise<ReadonlyMap<string, number>>;
  /** Begins the work of a key, and returns while it is under way. */
  begin(input: Pick<Hold, 'store' | 'name' | 'ttlMs'>): Promise<void>;
  /** Whether the permits still have authority. */
  isHeld(input: null): Promise<boolean>;
}

let held: PermitsTerm | undefined;

serveCalls<PermitHolderApi>({
  async hold({ store: address, ttlMs, ...semaphore }) {
    const store = await openStoreAt(address);
    const session = await openSession({ store, owner: 'the child', ttlMs });
    const begun = Promise.withResolvers<PermitsTerm>();
    void withPermits({ session, ...semaphore, settleMs: 0 }, (term) => {
      begun.resolve(term);
      return new Promise(() => undefined);
    }).then(({ kind }) => emit('ended', kind));
    held = await begun.promise;
    return new Map(held.permits.map(({ key, fence }) => [key as string, fence as number]));
  },
  async begin({ store: address, name, ttlMs }) {
    const store = await openStoreAt(address);
    const session = await openSession({ store, owner: 'the child', ttlMs });
    const begun = Promise.withResolvers<void>();
    void once({ session, key: name }, () => {
      begun.resolve();
      return new Promise(() => undefined);
    });
    await begun.promise;
  },
  isHeld() {
    try {
      held?.assertHeld(0);
      return true;
    } catch {
      return false;
    }
  },
});
