// holdfast/testing: time that tests move, a store that misbehaves on request, and the contracts that
// every store keeps.

export { type AccessCase, accessContract, runAccessCase } from './access-contract/index.ts';
export {
  type ExecutionBackend,
  type ExecutionCase,
  type ExecutionHarness,
  executionContract,
  type OpenExecutionHarness,
  runExecutionCase,
} from './execution-contract/index.ts';
export { type CarrierFault, type FaultyCarrier, faultyCarrier } from './faulty-carrier.ts';
export { type FaultyStore, faultyStore, type StoreFault } from './faulty-store.ts';
export {
  type ContractBackend,
  type ContractCase,
  type KernelHarness,
  leaseContract,
  type Need,
  type OpenHarness,
  runCase,
  skipReason,
} from './lease-contract/index.ts';
export { ManualClock } from './manual-clock.ts';
export {
  openTestHoldfast,
  type TestHoldfast,
  type TestHoldfastOptions,
} from './test-holdfast.ts';
export {
  CallDesk,
  type DeskKeys,
  type Employed,
  type ForgedAnswer,
  type Forgery,
  type OpenCall,
  type OpenTransportHarness,
  runTransportCase,
  type Speaker,
  type TransportBackend,
  type TransportCase,
  type TransportHabit,
  type TransportHarness,
  type TransportNeed,
  type TransportOffer,
  transportContract,
  transportPipelines,
  transportSkipReason,
} from './transport-contract/index.ts';
