// The envelope of a message, for transports without a place for its fields. The envelope is strict,
// and both sides agree on its version in the greeting. A field that this version does not know is
// refused by name. Payloads inside are not checked here.

import { type Static, Type } from 'typebox';
import { faultOf } from './problem.ts';
import { closed, NAME_MAX } from './words.ts';
import type { WorkKind } from './work-messages.ts';

/**
 * The versions of the worker protocol that this build supports. Version 2 renamed fields and
 * messages.
 */
export const WORK_VERSION = 2;
export const OLDEST_WORK_VERSION = 2;

export const requestEnvelope = closed({
  v: Type.Integer({ minimum: 1, description: 'The version that was agreed on at the greeting.' }),
  id: Type.String({ minLength: 1, maxLength: NAME_MAX, description: 'Its reply has it too.' }),
  kind: Type.String({ minLength: 1, maxLength: NAME_MAX }),
  body: Type.Optional(Type.Unknown()),
  bytes: Type.Optional(Type.Unsafe<Uint8Array>({ description: 'Base64 where it is JSON.' })),
});

export type RequestEnvelope = Static<typeof requestEnvelope>;

export interface EnvelopeProblem {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
}

/** Has `body`, `bytes` or `problem`, or none of them for an empty reply. */
export interface ReplyEnvelope {
  readonly v: number;
  readonly id: string;
  readonly body?: unknown;
  readonly bytes?: Uint8Array;
  readonly problem?: EnvelopeProblem;
}

// Converts a worker's request into an envelope, and a reply into its result.

export function envelopeOf({ kind, body, bytes }: TransportRequest, id: string): RequestEnvelope {
  return {
    v: WORK_VERSION,
    id,
    kind,
    ...(body === undefined ? {} : { body }),
    ...(bytes === undefined ? {} : { bytes }),
  };
}

/** Throws if the reply is a problem. */
export function resultIn<Result>(
  { kind }: TransportRequest,
  { body, bytes, problem }: ReplyEnvelope,
): Result {
  if (problem !== undefined) {
    throw faultOf(problem.code, `${kind}: ${problem.detail}`, problem.status);
  }
  return (bytes ?? body) as Result;
}

// The port between a worker and the transport of its messages to a coordinator.

/** A message of a worker to its coordinator. */
export interface TransportRequest {
  /** The kind of message. */
  readonly kind: WorkKind;
  /** The fields of the message. */
  readonly body?: object;
  /** The binary content. */
  readonly bytes?: Uint8Array;
  /** Stops waiting for the response when it aborts. */
  readonly signal?: AbortSignal;
  /** Milliseconds to wait for the response. Default 15,000. */
  readonly timeoutMs?: number;
}

/**
 * Sends a worker's messages to a coordinator and returns the responses. Pass one to `openWorker`.
 *
 * `request` throws `StoreUnavailable` if the message was not handled, `OutcomeUnknown` if it may
 * have been, and a `Fault` with the coordinator's code if it was refused.
 *
 * @example
 * import { grpcTransport } from 'holdfast/worker/grpc';
 *
 * const transport: Transport = await grpcTransport({ address: '127.0.0.1:7435' });
 * await openWorker({ transport, pipelines: [order] });
 */
export interface Transport {
  /** Calls the listener when an execution may have become ready. Absent: workers ask. */
  onWakeup?(listener: () => void): () => void;
  /** The name that operators see, such as `REST` or `gRPC`. */
  readonly name: string;
  /** True if it may deliver a message twice. Default false. */
  readonly doubles?: boolean;
  /** Sends a message and returns the response. */
  request<Result>(message: TransportRequest): Promise<Result>;
  /** Closes its connections. */
  close(): Promise<void>;
}

/** After this time without a reply, the outcome is unknown. */
export const REPLY_TIMEOUT_MS = 15_000;
