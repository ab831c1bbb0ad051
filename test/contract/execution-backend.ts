import type { ContractBackend, ExecutionBackend } from '../../contract/index.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';

/** The fixtures for leases, on a store that also keeps executions. */
export function executionBackend(backend: ContractBackend): ExecutionBackend {
  return {
    offers: backend.offers,
    async open(policy) {
      const harness = await backend.open(policy);
      try {
        return {
          ...harness,
          store: coordinator(harness.store),
          another: async () => coordinator(await harness.another()),
          reopen: async () => coordinator(await harness.reopen()),
        };
      } catch (fault) {
        await harness.close();
        throw fault;
      }
    },
  };
}

function coordinator(store: KernelStore): CoordinatorStore {
  if ('executions' in store) return store as CoordinatorStore;
  throw new Error(`the ${store.kind} store keeps no executions`);
}
