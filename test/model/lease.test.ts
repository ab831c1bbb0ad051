// The model that explains the stores upholds the rules of the contract itself.

import { type ContractBackend, ManualClock } from '../../contract/index.ts';
import { toInstant } from '../../src/support/clock.ts';
import { registerLeaseContract } from '../contract/register.ts';
import { openLeaseModel } from './lease/open.ts';

const modelBackend: ContractBackend = {
  offers: ['two-clients', 'host-clock'],
  async open(policy = {}) {
    const clock = new ManualClock();
    const store = openLeaseModel(clock, policy);
    return {
      store,
      another: async () => store,
      reopen: () => Promise.reject(new Error('the model cannot be opened again')),
      advance: async (ms) => clock.jumpWall(ms),
      now: () => toInstant(clock.wallMs()),
      close: () => store.close(),
    };
  },
};

registerLeaseContract(modelBackend);
