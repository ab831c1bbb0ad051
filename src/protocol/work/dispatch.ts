// Turns an envelope into its reply, for every transport with envelopes. Never throws: an error
// becomes a problem in the reply, as over HTTP.

import { Compile } from 'typebox/compile';
import type { Code } from '../../support/codes/catalogue.ts';
import { nearestName, shown } from '../../support/options.ts';
import { weightOfBytes } from '../../support/turns.ts';
import {
  envelopeOf,
  OLDEST_WORK_VERSION,
  type ReplyEnvelope,
  type RequestEnvelope,
  requestEnvelope,
  resultIn,
  type Transport,
  type TransportRequest,
  WORK_VERSION,
} from '../messages/envelope.ts';
import { isWorkKind, WORK_KINDS, type WorkKind, workMessage } from '../messages/work-messages.ts';
import { problemFrom } from '../rest/problems.ts';
import {
  type Caller,
  type Coordinator,
  ProblemReply,
  shareNameOf,
  weightOf,
} from '../rest/route.ts';
import { bodyCheckOf } from '../rest/validators.ts';
import { type WorkResult, workHandlers } from '../rest/work-handlers.ts';

export interface DispatchParts {
  readonly coordinator: Coordinator;
  readonly onFault?: (code: Code, error: unknown) => void;
}

/** The transport identifies the sender. */
interface Delivery {
  readonly envelope: unknown;
  /** Its length in bytes, as far as the transport knows it. */
  readonly length?: number;
  readonly admit: () => Promise<Caller>;
  readonly signal: AbortSignal;
}

export type Dispatch = (delivery: Delivery) => Promise<ReplyEnvelope>;

export function dispatchOf({ coordinator, onFault }: DispatchParts): Dispatch {
  return async ({ envelope, length = 0, admit, signal }) => {
    const id = idOf(envelope);
    try {
      const caller = await admit();
      const { shares } = coordinator;
      // A refused message takes a share too.
      const name = kindOf(envelope);
      const reply = isWorkKind(name) ? workMessage(name).reply : undefined;
      const weight = weightOf({ name, reply }) + weightOfBytes(length);
      await shares.begin(shareNameOf(name, caller.project), weight);
      const { kind, body, bytes } = checked(envelope);
      const handle = workHandlers[kind] as (
        coordinator: Coordinator,
        call: object,
      ) => Promise<WorkResult>;
      const checkedBody = CHECKS[kind](body);
      const call = { body: checkedBody, caller, signal, ...(bytes === undefined ? {} : { bytes }) };
      return { v: WORK_VERSION, id, ...contentOf(await handle(coordinator, call)) };
    } catch (error) {
      const { status, code, detail, isFault } = problemFrom(error);
      if (isFault) onFault?.(code, error);
      return { v: WORK_VERSION, id, problem: { status, code, detail } };
    }
  };
}

function contentOf(result: WorkResult): Pick<ReplyEnvelope, 'body' | 'bytes'> {
  if (result === undefined) return {};
  return result instanceof Uint8Array ? { bytes: result } : { body: result };
}

function kindOf(envelope: unknown): string {
  const { kind } = (envelope ?? {}) as { readonly kind?: unknown };
  return typeof kind === 'string' ? kind : '';
}

function idOf(envelope: unknown): string {
  const { id } = (envelope ?? {}) as { readonly id?: unknown };
  return typeof id === 'string' ? id : '';
}

const ENVELOPE = Compile(requestEnvelope);
const KNOWN: readonly string[] = Object.keys(requestEnvelope.properties);
const CHECKS = Object.fromEntries(
  WORK_KINDS.map((kind) => [kind, bodyCheckOf(workMessage(kind).body)]),
) as Readonly<Record<WorkKind, (body: unknown) => unknown>>;

function checked(envelope: unknown): RequestEnvelope & { readonly kind: WorkKind } {
  const given = Object.keys((envelope ?? {}) as object);
  const unknown = given.filter((name) => !KNOWN.includes(name));
  if (unknown.length > 0) {
    throw new ProblemReply(
      'control-unknown',
      `Version ${WORK_VERSION} of the worker protocol has no field ${unknown.map((name) => `"${name}"`).join(', ')} in its envelope. Nothing was done. Remove it.`,
    );
  }
  if (!ENVELOPE.Check(envelope)) {
    throw new ProblemReply(
      'invalid-input',
      `The envelope is not valid. Nothing was done. Its fields are ${KNOWN.join(', ')}.`,
    );
  }
  const { v, kind } = envelope;
  if (v < OLDEST_WORK_VERSION || v > WORK_VERSION) {
    throw new ProblemReply(
      'version-unknown',
      `This coordinator supports versions ${OLDEST_WORK_VERSION} to ${WORK_VERSION} of the worker protocol, not ${v}. Nothing was done. Send greet first: its reply has the version to use.`,
    );
  }
  if (isWorkKind(kind)) return { ...envelope, kind };
  const nearest = nearestName(kind, WORK_KINDS);
  const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
  throw new ProblemReply(
    'kind-unknown',
    `The worker protocol has no message ${shown(kind)}. Nothing was done.${hint}`,
  );
}

// A worker in the process of its coordinator: the same messages, by a function call. They go
// through JSON, so neither side can change the other's objects.

export interface InProcessParts {
  readonly coordinator: Coordinator;
  readonly dispatch: Dispatch;
  readonly admit: () => Promise<Caller>;
  readonly stopping: AbortSignal;
}

export function inProcessTransport(parts: InProcessParts): Transport {
  const { coordinator, dispatch, admit, stopping } = parts;
  let count = 0;
  return {
    name: 'in-process',
    async request<Result>(message: TransportRequest): Promise<Result> {
      count += 1;
      const { signal = stopping } = message;
      const envelope = envelopeOf({ ...message, ...copied(message.body) }, String(count));
      const { body, ...reply } = await dispatch({ envelope, admit, signal });
      return resultIn(message, { ...reply, ...copied(body) });
    },
    onWakeup: (listener) => coordinator.store.executions.onWakeup(listener),
    close: async () => undefined,
  };
}

function copied(body: unknown): { readonly body?: object } {
  return body === undefined ? {} : { body: JSON.parse(JSON.stringify(body)) };
}
