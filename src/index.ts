// The public map of the package. Explicit exports only, no logic. Stores have entry points of their
// own, so that nobody loads a driver they do not use.

export type { AcquireOptions, AcquireOutcome } from './lease/acquire-lease.ts';
export type { Alarm, EventKind, EventSeq, LeaseEvent } from './lease/event.ts';
export { type DeclaredExit, EXIT_ADVICE, type Exit } from './lease/exit.ts';
export { epochOf, type Fence, formatFence, parseFence } from './lease/fence.ts';
export type { HeldLease, NotHeld, RejoinOutcome } from './lease/held-lease.ts';
export type {
  Checkpoint,
  Drain,
  Intent,
  LeaseRecord,
  LeaseState,
  Predecessor,
} from './lease/lease.ts';
export { openSession, type Session, SessionRefused } from './lease/live-session.ts';
export {
  type LeaseKey,
  type Owner,
  parseLeaseKey,
  parseOwner,
  parseRequestId,
  parseSessionId,
  type RequestId,
  type SessionId,
} from './lease/names.ts';
export { LeaseNotHeld, type WithdrawnBy } from './lease/not-held.ts';
export type { LeaseObserver, LeaseReport } from './lease/observer.ts';
export {
  type DrainOptions,
  drainLease,
  type OperateOptions,
  revokeLease,
} from './lease/operate.ts';
export { DEFAULT_POLICY, type LeasePolicy } from './lease/policy.ts';
export type { KernelStore, LeaseStore, SessionStore } from './lease/port.ts';
export { describeRefusal, type Holder, type Refusal } from './lease/refusal.ts';
export type { SessionMetadata, SessionRecord, SessionState } from './lease/session.ts';
export type { SessionOptions } from './lease/session-options.ts';
export type { Unanswered } from './lease/store-call.ts';
export { type Sweeper, type SweeperOptions, startSweeper } from './lease/sweeper.ts';
export { type Watched, type WatchOptions, watchLeases } from './lease/watch.ts';
export { formatInstant, type Instant } from './support/clock.ts';
export {
  Fault,
  InvalidInput,
  OutcomeUnknown,
  StoreCorrupt,
  StoreUnavailable,
} from './support/fault.ts';
