// The recipes: ready-made solutions for common uses of leases. Explicit exports only.

export { type Election, type ElectionState, type ElectOptions, elect } from './elect.ts';
export { type OnceOptions, type OnceResult, once } from './once.ts';
export type { PoolOptions } from './pool.ts';
export { type Pool, type PoolState, type PoolTerm, pool } from './pool.ts';
export {
  type Member,
  type MemberChange,
  type MemberState,
  type Registry,
  type RegistryOptions,
  registry,
} from './registry.ts';
export { type RevokePrefixOptions, type RevokeProgress, revokePrefix } from './revoke-prefix.ts';
export type { Overrun, Term, TermOptions } from './run-term.ts';
export {
  type PermitsOptions,
  type PermitsTerm,
  type ReadWriteOptions,
  withPermits,
  withReadLock,
  withWriteLock,
} from './semaphore.ts';
export type { StandingOptions } from './standing-session.ts';
export {
  openWatchdogSession,
  type WatchdogSession,
  type WatchdogSessionOptions,
} from './watchdog-session.ts';
export { type WithLeaseOptions, type WithLeaseOutcome, withLease } from './with-lease.ts';
