// What a coordinator says to an endpoint that it calls, and what comes back. Both are signed (signing.ts).

import { type Static, Type } from 'typebox';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { HistoryEvent, InboxMessage } from '../../execution/history.ts';
import type { ProjectName } from '../../execution/names.ts';
import { announcedRelease } from '../../features/releases/messages.ts';
import type { Fence } from '../../lease/fence.ts';
import type { Instant } from '../../support/clock.ts';
import type { SignedClaims } from './signing.ts';
import { closed, executionId, fence, name } from './words.ts';
import { writeMessage } from './work.ts';

export interface PushCommand extends SignedClaims {
  readonly to: 'worker';
  readonly v: number;
  /** `probe`: which pipelines are there, and of which release? Nothing is to be done. */
  readonly kind: 'drive' | 'probe';
  readonly drive?: Driven;
  /** Which endpoint is called: its URL without a query. What it is given is good for no other. */
  readonly audience: string;
  readonly project: ProjectName;
  /** Of a probe: what answers it says it too. */
  readonly nonce?: string;
}

/** One claim, with all that its owner has to know. */
export interface Driven {
  readonly claimed: {
    readonly execution: ExecutionRecord;
    readonly fence: Fence;
    readonly previous: 'none' | 'parked' | 'given-back' | 'lost';
    readonly claimedAt: Instant;
  };
  readonly session: string;
  /** Of that session: who has a way back hears by its heartbeats what outsiders want of it. */
  readonly owner?: string;
  readonly history: readonly HistoryEvent[];
  readonly inbox: readonly InboxMessage[];
  /** After so long nobody waits for the result. */
  readonly deadlineInMs: number;
}

/** Bytes in JSON are base64. */
const blob = closed({ digest: Type.String({ pattern: '^[0-9a-f]{64}$' }), bytes: Type.String() });

export const pushResult = closed({
  to: Type.Literal('coordinator'),
  at: Type.Integer(),
  until: Type.Integer(),
  v: Type.Integer({ minimum: 1 }),
  /** Of the claim that it is about. Absent for a probe. */
  id: Type.Optional(executionId),
  fence: Type.Optional(fence),
  /** Of the probe that it answers. */
  nonce: Type.Optional(Type.String({ maxLength: 64 })),
  /** Nothing was tried: there is no such pipeline, no room, or it is for another endpoint. */
  denied: Type.Optional(Type.String({ maxLength: 1_024 })),
  /** In order; what went through the callback is not among them. */
  writes: Type.Optional(Type.Array(writeMessage, { maxItems: 20_000 })),
  blobs: Type.Optional(Type.Array(blob, { maxItems: 10_000 })),
  /** What is there, of a probe: all that it is given unless said. */
  pipelines: Type.Optional(Type.Array(name, { maxItems: 2_000 })),
  release: Type.Optional(announcedRelease),
});

export type PushResult = Static<typeof pushResult>;
