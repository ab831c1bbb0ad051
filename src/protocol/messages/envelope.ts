// The envelope of a message, for transports without a place for its fields. The envelope is strict,
// and both sides agree on its version in the greeting. A field that this version does not know is
// refused by name. Payloads inside are not checked here.

import type { Code } from '../../support/codes/catalogue.ts';
import { AccessDenied, Fault, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import type { WorkKind } from './work-messages.ts';

/**
 * The versions of the worker protocol that this build supports. Version 2 renamed fields and
 * messages.
 */
export const WORK_VERSION = 2;
export const OLDEST_WORK_VERSION = 2;

export interface RequestEnvelope {
  readonly v: number;
  readonly id: string;
  readonly kind: string;
  readonly body?: unknown;
  readonly bytes?: Uint8Array;
}

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
  /** The HTTP status, for an operation of the API. */
  readonly status?: number;
}

// Converts a worker's request into an envelope, and a reply into its result.

export function envelopeOf(
  { kind, body, bytes }: Omit<RequestEnvelope, 'v' | 'id'>,
  id: string,
): RequestEnvelope {
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

// Converts a coordinator's problem into the fault that a store would have thrown.

/**
 * Nothing was done, and a later attempt may pass. An expired signature means slow queues or a wrong
 * clock, not a refused key.
 */
const RETRIED: ReadonlySet<string> = new Set(['store-unavailable', 'signature-expired']);

/** The code comes from the coordinator's store, or from a proxy in between. */
export function faultOf(code: string, message: string, status: number = 500): Fault {
  if (RETRIED.has(code) || status === 429) return new StoreUnavailable(message);
  // A newer coordinator may send codes that this build does not know.
  const sent = code as Code;
  if (status === 401 || status === 403) return new AccessDenied(sent, message);
  if (status < 500) return new Fault(sent, message);
  return new OutcomeUnknown(message);
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
  /** Calls the listener when an execution may have become ready. Absent: workers poll. */
  onWakeup?(listener: () => void): () => void;
  /** The name that operators see, such as `REST` or `gRPC`. */
  readonly name: string;
  /** True if it may deliver a message twice. Default false. */
  readonly doubles?: boolean;
  /** True if it holds a claim open while other messages pass. Default false: workers wait for wakeups. */
  readonly claimsWait?: boolean;
  /** Sends a message and returns the response. */
  request<Result>(message: TransportRequest): Promise<Result>;
  /** Closes its connections. */
  close(): Promise<void>;
}

/** After this time without a reply, the outcome is unknown. */
export const REPLY_TIMEOUT_MS = 15_000;
