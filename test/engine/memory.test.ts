import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { registerBehaviours } from './register.ts';

registerBehaviours({
  kind: 'memory',
  async open() {
    const store = openMemoryStore();
    return { store, close: () => store.close() };
  },
});
