// A plan is data: which operations happen when, and which faults. The seed writes it; the shrinker
// removes parts of it and runs the rest again.

import type { Random } from '../../src/support/random.ts';
import type { World } from './world.ts';

/** An operation that a workload performs. */
export interface PlannedOperation {
  /** Milliseconds from the start of the run. */
  readonly atMs: number;
  /** The name of the workload. */
  readonly of: string;
  /** A description for the trace: `submits order 3`. */
  readonly what: string;
  /** Arguments, as its workload reads them. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** A fault of a process or of the store. */
export interface PlannedFault {
  /** Milliseconds from the start of the run. */
  readonly atMs: number;
  /** The name of its kind, such as `crash`. */
  readonly kind: string;
  /** From 0 to 1: chooses among the living processes, if it concerns one. */
  readonly lot: number;
  /** Milliseconds until it ends, or until a crashed process starts again. */
  readonly forMs: number;
  /** Numbers that its kind reads, such as the share of lost messages. */
  readonly details: Readonly<Record<string, number>>;
}

/** The operations and the faults of one run. */
export interface Plan {
  /** Decides everything that the plan leaves open, such as the delay of each message. */
  readonly seed: number;
  /** The operations, by time. */
  readonly operations: readonly PlannedOperation[];
  /** The faults. */
  readonly faults: readonly PlannedFault[];
}

/** A workload: what it plans, which actors it needs, and how it acts. */
export interface Workload {
  readonly name: string;
  plan(random: Random): readonly PlannedOperation[];
  /** Prepares a run: adds actors and checkers. Returns how to perform an operation. */
  open(world: World): (operation: PlannedOperation) => void;
}
