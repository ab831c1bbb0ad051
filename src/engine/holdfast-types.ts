// What callers of Holdfast hand in and get back.

import type { Hold, Status } from '../execution/execution.ts';
import type { ExecutionId } from '../execution/names.ts';
import type { AttributeFilter } from '../store/contract/execution-store.ts';
import type { Waiting } from './results.ts';

/** An execution that was submitted. */
export interface Handle<Output> {
  readonly id: ExecutionId;
  /** It had been submitted before, with the same key and the same intent. */
  readonly existing: boolean;
  /** Its output, when it completes; throws ExecutionFailed when it ends otherwise. */
  result(options?: Waiting): Promise<Output>;
}

export interface Acting {
  readonly project?: string;
  readonly by?: string;
  readonly reason?: string;
}

export interface ListOptions {
  readonly project?: string;
  readonly status?: Status | readonly Status[];
  readonly pipeline?: string;
  readonly tag?: string;
  readonly attribute?: AttributeFilter;
  /** Those that are held for this reason, whatever else holds them. */
  readonly hold?: Hold;
  /** Goes on after this page. */
  readonly cursor?: string;
  readonly limit?: number;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** For the next page; absent on the last. */
  readonly cursor?: string;
}
