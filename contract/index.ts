// holdfast/testing: a clock that tests move, a store that fails on request, and the contracts that
// every store keeps.

export { type AccessCase, runAccessCase } from './access/contract-case.ts';
export { accessContract } from './access/index.ts';
export {
  type ExecutionBackend,
  type ExecutionCase,
  type ExecutionHarness,
  type OpenExecutionHarness,
  runExecutionCase,
} from './execution/contract-case.ts';
export { executionContract } from './execution/index.ts';
export {
  type ContractBackend,
  type ContractCase,
  type KernelHarness,
  type Need,
  type OpenHarness,
  runCase,
  skipReason,
} from './lease/contract-case.ts';
export { leaseContract } from './lease/index.ts';
export type { Plan, PlannedFault, PlannedOperation } from './simulator/plan.ts';
export type { SimulationResult } from './simulator/run.ts';
export {
  planSimulation,
  type SimulateOptions,
  shrinkPlan,
  simulate,
} from './simulator/simulate.ts';
export type { Violation } from './simulator/world.ts';
export { type FaultyStore, faultyStore, type StoreFault } from './testing/faulty-store.ts';
export {
  type FaultyTransport,
  faultyTransport,
  type TransportFault,
} from './testing/faulty-transport.ts';
export { ManualClock } from './testing/manual-clock.ts';
export {
  type ReplayedHistory,
  type ReplayHistoryOptions,
  replayHistory,
} from './testing/replay-history.ts';
export {
  openTestHoldfast,
  type TestHoldfast,
  type TestHoldfastOptions,
} from './testing/test-holdfast.ts';
export {
  type CallerKind,
  type Forgery,
  type OpenTransportHarness,
  runTransportCase,
  type TransportBackend,
  type TransportCase,
  type TransportHabit,
  type TransportHarness,
  type TransportNeed,
  type TransportOffer,
  transportSkipReason,
} from './transport/contract-case.ts';
export {
  FakeEndpoint,
  type FakeEndpointKeys,
  type FakeHandler,
  type ForgedReply,
  type OpenCall,
} from './transport/fake-endpoint.ts';
export { transportContract } from './transport/index.ts';
export { transportPipelines } from './transport/workers.ts';
