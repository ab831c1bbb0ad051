// holdfast/testing: time that tests move, and the contract that every store keeps.

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
