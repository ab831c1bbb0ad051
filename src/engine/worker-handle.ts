// What whoever started a worker has of it.

import type { SessionId } from '../lease/names.ts';
import type { WorkerEnd } from './denial.ts';

export interface Worker {
  /** The session that carries its claims now. */
  readonly session: SessionId;
  /** How many executions it has now. */
  readonly running: number;
  /** How it ended, once it has: stopped, or not let in any more. Never rejects. */
  readonly ended: Promise<WorkerEnd>;
  /** Yields its executions, ends its session; resolves when nothing of it is left. */
  stop(): Promise<void>;
  /** For tests: as if the process had died. Nothing is written, nothing is given back. */
  crash(): void;
  [Symbol.asyncDispose](): Promise<void>;
}
