// What the engine tells whoever watches it. No dependency.

import type { Fence } from '../lease/fence.ts';
import type { Status } from './execution.ts';
import type { Failure } from './failure.ts';
import type { Told } from './invariants.ts';
import type { ExecutionId, PipelineName } from './names.ts';

interface About {
  readonly execution: ExecutionId;
  readonly pipeline: PipelineName;
  readonly fence: Fence;
  /** As it was submitted with, if it was. */
  readonly traceparent?: string;
}

export type ExecutionReport =
  | (About & {
      readonly kind: 'claimed';
      readonly previous: 'none' | 'parked' | 'given-back' | 'lost';
      /** From ready to claimed. */
      readonly waitedMs: number;
    })
  | (About & {
      readonly kind: 'step';
      readonly step: string;
      readonly attempt: number;
      readonly tookMs: number;
      readonly failure?: Failure;
      /** It may have run before: an owner was lost while it could have been running. */
      readonly mayHaveRun: boolean;
    })
  | (About & { readonly kind: 'parked' | 'given-back' | 'blocked'; readonly why?: string })
  | (About & { readonly kind: 'ended'; readonly status: Status; readonly failure?: Failure })
  /** The claim is over without the engine having ended it; whatever it still does is refused. */
  | (About & { readonly kind: 'lost'; readonly why: string })
  | (About & { readonly kind: 'log'; readonly message: string; readonly data?: unknown })
  /** Something stored cannot be as it is, or nobody sees to it; repaired, when that was provable. */
  | ({ readonly kind: 'stale' } & Told)
  /** What has ended was let go of: so many, of which so many are in the archive. */
  | {
      readonly kind: 'removed';
      readonly removed: number;
      readonly archived: number;
      readonly failed: number;
    }
  | { readonly kind: 'trouble'; readonly what: string; readonly cause: string }
  /** The coordinator does not let this worker in: its key has ended or expired, or does not allow this. */
  | { readonly kind: 'denied'; readonly code: string; readonly why: string };

export interface ExecutionObserver {
  report(report: ExecutionReport): void;
}
