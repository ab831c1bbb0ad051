// holdfast/testing: time that tests move, a store that misbehaves on request, and the contracts that
// every store keeps.

export { type AccessCase, runAccessCase } from './access-contract/contract-case.ts';
export { accessContract } from './access-contract/index.ts';
export {
  type ExecutionBackend,
  type ExecutionCase,
  type ExecutionHarness,
  type OpenExecutionHarness,
  runExecutionCase,
} from './execution-contract/contract-case.ts';
export { executionContract } from './execution-contract/index.ts';
export { type CarrierFault, type FaultyCarrier, faultyCarrier } from './faulty-carrier.ts';
export { type FaultyStore, faultyStore, type StoreFault } from './faulty-store.ts';
export {
  type ContractBackend,
  type ContractCase,
  type KernelHarness,
  type Need,
  type OpenHarness,
  runCase,
  skipReason,
} from './lease-contract/contract-case.ts';
export { leaseContract } from './lease-contract/index.ts';
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
  type OpenCall,
} from './transport-contract/call-desk.ts';
export {
  type Forgery,
  type OpenTransportHarness,
  runTransportCase,
  type Speaker,
  type TransportBackend,
  type TransportCase,
  type TransportHabit,
  type TransportHarness,
  type TransportNeed,
  type TransportOffer,
  transportSkipReason,
} from './transport-contract/contract-case.ts';
export { transportContract } from './transport-contract/index.ts';
export { transportPipelines } from './transport-contract/workers.ts';
