// Turns an envelope into its reply, for every transport with envelopes. Never throws: an error
// becomes a problem in the reply, as over HTTP.

import { type TObject, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { WriteTransport } from '../../features/audit/model.ts';
import type { Code } from '../../support/codes/catalogue.ts';
import { nearestName, shown } from '../../support/options.ts';
import { LARGE_BYTES, weightOfBytes } from '../../support/turns.ts';
import {
  envelopeOf,
  OLDEST_WORK_VERSION,
  type ReplyEnvelope,
  type RequestEnvelope,
  resultIn,
  type Transport,
  type TransportRequest,
  WORK_VERSION,
} from '../messages/envelope.ts';
import { closed, NAME_MAX } from '../messages/words.ts';
import {
  isWorkKind,
  rolesFor,
  WORK_KINDS,
  type WorkKind,
  workMessage,
} from '../messages/work-messages.ts';
import { problemFrom } from '../rest/problems.ts';
import {
  type Caller,
  type Coordinator,
  ProblemReply,
  projectShare,
  type Route,
  shareNameOf,
  tooMuchUnread,
  weightOf,
} from '../rest/route.ts';
import { bodyCheckOf, callCheckOf } from '../rest/validators.ts';
import { type WorkResult, workHandlers } from '../rest/work-handlers.ts';

export interface DispatchParts {
  readonly coordinator: Coordinator;
  readonly transport: WriteTransport;
  /** Operations of the API that may come in an envelope too. Default none. */
  readonly operations?: readonly Route[];
  readonly onFault?: (code: Code, error: unknown) => void;
}

/** The transport identifies the sender. */
interface Delivery {
  readonly envelope: unknown;
  /** Its length in bytes, as far as the transport knows it. */
  readonly length?: number;
  readonly admit: (kind: string) => Promise<Caller>;
  readonly signal: AbortSignal;
  /** Gets the function that frees the room of a value. Without it, the room ends with the reply. */
  readonly keep?: (free: () => void) => void;
}

export type Dispatch = (delivery: Delivery) => Promise<ReplyEnvelope>;

export function dispatchOf(parts: DispatchParts): Dispatch {
  const { coordinator, transport, operations = [], onFault } = parts;
  const performers = new Map(operations.map((route) => [route.name, performerOf(route)]));
  return async ({ envelope, length = 0, admit, signal, keep }) => {
    const id = idOf(envelope);
    let free: (() => void) | undefined;
    try {
      // A refused message takes a share too.
      const name = messageKind(envelope);
      const performer = performers.get(name);
      const caller = await admit(name);
      const weight = (performer?.weight ?? weightOfMessage(name)) + weightOfBytes(length);
      await coordinator.shares.begin(shareNameOf(name, caller.project), weight);
      requireRole(caller, name, performer?.allows);
      const request = checkedEnvelope(envelope);
      if (performer !== undefined) {
        const { body = {} } = request;
        const reply = await performer.perform(coordinator, { body, caller, signal });
        return { v: WORK_VERSION, id, ...reply };
      }
      const { kind, body, bytes } = requireKind(request);
      const handle = workHandlers[kind] as (
        coordinator: Coordinator,
        call: object,
      ) => Promise<WorkResult>;
      const checkedBody = CHECKS[kind](body);
      if (workMessage(kind).bytes === 'answered') {
        const { unread, downloadBytesMax } = coordinator;
        free = await unread.take(projectShare(caller.project), downloadBytesMax);
        keep?.(free);
      }
      const sent = { body: checkedBody, caller, transport, signal };
      const call = { ...sent, ...(bytes === undefined ? {} : { bytes }) };
      return { v: WORK_VERSION, id, ...contentOf(await handle(coordinator, call)) };
    } catch (error) {
      const { isFault, ...problem } = problemFrom(error);
      if (isFault) onFault?.(problem.code, error);
      return { v: WORK_VERSION, id, problem };
    } finally {
      if (keep === undefined) free?.();
    }
  };
}

/** Messages without an effect. */
const READS: ReadonlySet<string> = new Set([
  ...WORK_KINDS.filter((kind) => workMessage(kind).method === 'GET'),
  'readResult',
]);

const NONE = (): void => undefined;

/**
 * Keeps a reply of this many bytes in memory until its peer has read it. Returns the function that
 * frees its room, or undefined if the reply must be refused.
 */
export function roomFor(
  { unread }: Coordinator,
  { project }: Caller,
  { kind, bytes }: { readonly kind: string; readonly bytes: number },
): (() => void) | undefined {
  if (bytes <= LARGE_BYTES) return NONE;
  const free = unread.tryTake(projectShare(project), bytes);
  return free ?? (READS.has(kind) ? undefined : NONE);
}

/** The reply that replaces one without room. */
export function refusedReply({ id }: ReplyEnvelope): ReplyEnvelope {
  const { isFault: _, ...problem } = problemFrom(tooMuchUnread());
  return { v: WORK_VERSION, id, problem };
}

function weightOfMessage(name: string): number {
  return weightOf({ name, reply: isWorkKind(name) ? workMessage(name).reply : undefined });
}

/** Transports admit every caller that may send some message. An unknown kind is refused by name. */
function requireRole(
  { roles }: Caller,
  name: string,
  allows: Route['allows'] = isWorkKind(name) ? rolesFor(name) : 'public',
): void {
  if (allows === 'public' || allows.some((role) => roles.has(role))) return;
  throw new ProblemReply(
    'role-missing',
    `${name} needs a key with role ${allows.join(' or ')}. Nothing was done. Use another key.`,
  );
}

interface Performer extends Pick<Route, 'allows'> {
  readonly weight: number;
  perform(
    coordinator: Coordinator,
    call: { readonly body: unknown; readonly caller: Caller; readonly signal: AbortSignal },
  ): Promise<Pick<ReplyEnvelope, 'status' | 'body'>>;
}

/** In an envelope, the parameters of an operation are fields of its body, as its query is. */
function performerOf(route: Route): Performer {
  const check = callCheckOf(route);
  const namesIn = (part: 'params' | 'query'): readonly string[] =>
    Object.keys((route[part] as TObject | undefined)?.properties ?? {});
  const names = { params: namesIn('params'), query: namesIn('query') };
  return {
    allows: route.allows,
    weight: weightOf({ ...route, reply: route.responses[200]?.schema }),
    async perform(coordinator, { body, caller, signal }) {
      const rest = new Map(Object.entries(body as object));
      const taken = (part: 'params' | 'query'): object | undefined => {
        const pairs = names[part].flatMap((name) =>
          rest.has(name) ? [[name, rest.get(name)]] : [],
        );
        for (const name of names[part]) rest.delete(name);
        return names[part].length === 0 ? undefined : Object.fromEntries(pairs);
      };
      const call = check({
        params: taken('params'),
        query: taken('query'),
        body: rest.size === 0 ? undefined : Object.fromEntries(rest),
        ...{ caller, signal, header: () => undefined, isEncrypted: false },
      });
      const { status, body: replied } = await route.handle(coordinator, call);
      return { status, body: replied };
    },
  };
}

function contentOf(result: WorkResult): Pick<ReplyEnvelope, 'body' | 'bytes'> {
  if (result === undefined) return {};
  return result instanceof Uint8Array ? { bytes: result } : { body: result };
}

export function messageKind(envelope: unknown): string {
  const { kind } = (envelope ?? {}) as { readonly kind?: unknown };
  return typeof kind === 'string' ? kind : '';
}

function idOf(envelope: unknown): string {
  const { id } = (envelope ?? {}) as { readonly id?: unknown };
  return typeof id === 'string' ? id : '';
}

/** Strict: a field that this version does not know is refused by name. */
const requestEnvelope = closed({
  v: Type.Integer({ minimum: 1, description: 'The version that was agreed on at the greeting.' }),
  id: Type.String({ minLength: 1, maxLength: NAME_MAX, description: 'Its reply has it too.' }),
  kind: Type.String({ minLength: 1, maxLength: NAME_MAX }),
  body: Type.Optional(Type.Unknown()),
  bytes: Type.Optional(Type.Unsafe<Uint8Array>({ description: 'Base64 where it is JSON.' })),
});

const ENVELOPE = Compile(requestEnvelope);
const KNOWN: readonly string[] = Object.keys(requestEnvelope.properties);
const CHECKS = Object.fromEntries(
  WORK_KINDS.map((kind) => [kind, bodyCheckOf(workMessage(kind).body)]),
) as Readonly<Record<WorkKind, (body: unknown) => unknown>>;

function checkedEnvelope(envelope: unknown): RequestEnvelope {
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
  const { v } = envelope;
  if (v < OLDEST_WORK_VERSION || v > WORK_VERSION) {
    throw new ProblemReply(
      'version-unknown',
      `This coordinator supports versions ${OLDEST_WORK_VERSION} to ${WORK_VERSION} of the worker protocol, not ${v}. Nothing was done. Send greet first: its reply has the version to use.`,
    );
  }
  return envelope;
}

function requireKind(envelope: RequestEnvelope): RequestEnvelope & { readonly kind: WorkKind } {
  const { kind } = envelope;
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
