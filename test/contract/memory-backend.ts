import { type ContractBackend, ManualClock } from '../../contract/index.ts';
import { toInstant } from '../../src/support/clock.ts';
import { freshMemoryStore } from '../services/memory-store.ts';

/** Clients of a memory store share one object, so there is nothing to open again. */
export const memoryBackend: ContractBackend = {
  offers: ['two-clients', 'host-clock', 'projects'],
  async open(policy) {
    const clock = new ManualClock();
    const { store } = freshMemoryStore({ clock, policy });
    return {
      store,
      another: async () => store,
      reopen: () => Promise.reject(new Error('a memory store cannot be opened again')),
      advance: async (ms) => clock.jumpWall(ms),
      now: () => toInstant(clock.wallMs()),
      close: () => store.close(),
    };
  },
};
