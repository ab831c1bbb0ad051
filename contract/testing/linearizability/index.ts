// holdfast/testing/linearizability: checks whether an order of concurrent calls explains all replies.

export {
  checkLinearizability,
  type LinearizabilityResult,
  type LinearizabilityViolation,
} from './check.ts';
export { drawViolation } from './draw.ts';
export type { RecordedOperation, SequentialModel } from './history.ts';
export {
  type LeaseCall,
  type LeaseCallEvent,
  leaseHistory,
  recordLeaseCalls,
} from './lease-calls.ts';
export { type LeaseModelOptions, type LeaseModelState, leaseModel } from './lease-model.ts';
