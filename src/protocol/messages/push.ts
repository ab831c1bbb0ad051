// The coordinator's commands to a push endpoint, and the endpoint's results. Both are signed
// (signing.ts).

import { type Static, Type } from 'typebox';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { HistoryEvent, InboxMessage } from '../../execution/history.ts';
import type { ProjectName } from '../../execution/names.ts';
import { announcedRelease } from '../../features/releases/messages.ts';
import type { Fence } from '../../lease/fence.ts';
import type { Instant } from '../../support/clock.ts';
import type { SignedClaims } from './signing.ts';
import { closed, executionId, fence, name, optional } from './words.ts';
import { writeMessage } from './work.ts';

export interface PushCommand extends SignedClaims {
  readonly to: 'worker';
  readonly v: number;
  /** `probe` asks for the endpoint's pipelines and release. It starts no work. */
  readonly kind: 'drive' | 'probe';
  readonly drive?: Driven;
  /**
   * The URL of the called endpoint, without a query. The command is valid for no other endpoint.
   */
  readonly audience: string;
  readonly project: ProjectName;
  /** For a probe: the reply repeats it. */
  readonly nonce?: string;
}

/** One claim, with everything that its owner needs. */
export interface Driven {
  readonly claimed: {
    readonly execution: ExecutionRecord;
    readonly fence: Fence;
    readonly previous: 'none' | 'parked' | 'given-back' | 'lost';
    readonly claimedAt: Instant;
  };
  readonly session: string;
  /**
   * The owner of that session. A handler with a coordinator connection learns of commands through
   * its heartbeats.
   */
  readonly owner?: string;
  readonly history: readonly HistoryEvent[];
  readonly inbox: readonly InboxMessage[];
  /** After this time the coordinator does not wait for the result. */
  readonly deadlineInMs: number;
}

/** Bytes in JSON are base64. */
const blob = closed({ digest: Type.String({ pattern: '^[0-9a-f]{64}$' }), bytes: Type.String() });

export const pushResult = closed({
  to: Type.Literal('coordinator'),
  at: Type.Integer(),
  until: Type.Integer(),
  v: Type.Integer({ minimum: 1 }),
  /** The claim that it concerns. Absent for a probe. */
  id: optional(executionId),
  fence: optional(fence),
  /** The nonce of the probe that it replies to. */
  nonce: optional(Type.String({ maxLength: 64 })),
  /**
   * Nothing was tried: the pipeline is unknown, no slot is free, or the command is for another
   * endpoint.
   */
  denied: optional(Type.String({ maxLength: 1_024 })),
  /** In order, without the writes that went through the coordinator connection. */
  writes: optional(Type.Array(writeMessage, { maxItems: 20_000 })),
  blobs: optional(Type.Array(blob, { maxItems: 10_000 })),
  /** For a probe: the endpoint's pipelines. Default: all that it is configured for. */
  pipelines: optional(Type.Array(name, { maxItems: 2_000 })),
  release: optional(announcedRelease),
});

export type PushResult = Static<typeof pushResult>;
