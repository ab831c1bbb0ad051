// `pushHandler`: a worker that the coordinator calls. It maps a Request to a Response, so it works
// wherever those exist: Next, Deno, serverless functions. Hono needs one line, Express and Fastify
// a few.

import {
  type HoldfastOptions,
  limitsOf,
  remoteLimitsOf,
  resolveWorkerConfig,
} from '../engine/config.ts';
import { type AnyPipeline, type Pipelines, pipelinesByName } from '../engine/pipeline.ts';
import { contractsOf } from '../engine/worker/announcer.ts';
import { addedFor } from '../engine/worker/own-pipelines.ts';
import { LiveWorker } from '../engine/worker/worker.ts';
import { resolveWorkerOptions, type WorkerRelease } from '../engine/worker/worker-options.ts';
import type { ExecutionRecord } from '../execution/execution.ts';
import { type ProjectName, parseProject } from '../execution/names.ts';
import { openSession, type Session } from '../lease/live-session.ts';
import type { LeaseService } from '../lease/port.ts';
import { type Transport, WORK_VERSION } from '../protocol/messages/envelope.ts';
import type { Driven, PushCommand, PushResult } from '../protocol/messages/push.ts';
import { Signer, type SigningOptions, SKEW_MS } from '../protocol/messages/signing.ts';
import type { WorkerStore } from '../store/contract/execution-store.ts';
import { systemClock } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import { shownUrl } from '../support/hidden-options.ts';
import {
  boundedText,
  readOptions,
  requireMethods,
  requireUrl,
  wordsIn,
} from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { greet } from './greet.ts';
import { httpTransport } from './http-transport.ts';
import { pushedStore } from './pushed-store.ts';
import { remoteLeases } from './remote-leases.ts';
import { remoteStore } from './remote-store.ts';

/** Options of `pushHandler`. */
export interface PushHandlerOptions
  extends Pick<HoldfastOptions, 'codec' | 'observer' | 'payloads'> {
  /** The pipelines that it runs, at least one. */
  readonly pipelines: Pipelines;
  /** The keys of the coordinator's `push.signing`, or of this endpoint's `signing`. */
  readonly signing: SigningOptions;
  /** The release that is deployed here. */
  readonly release?: WorkerRelease;
  /**
   * A connection to the coordinator, to record each step at once. Without it all steps are in the
   * response, and run again if that is lost.
   */
  readonly coordinator?: CoordinatorConnection;
  /** The URL of this endpoint as the coordinator calls it. Calls for another URL are refused. */
  readonly audience: string;
  /** Calls for another project are refused. By default all projects are accepted. */
  readonly project?: string;
}

/** Handles calls from a coordinator: takes a `Request` and returns a `Response`. */
export type PushHandler = (request: Request) => Promise<Response>;

const NAMES: readonly (keyof PushHandlerOptions)[] = wordsIn(
  'pipelines signing coordinator release codec observer payloads audience project',
);
/** The handler gives the execution back this long before the coordinator stops waiting. */
const EARLY_MS = 500;

/**
 * Makes a request handler that runs pipelines when a coordinator calls it, for serverless functions
 * and web servers.
 *
 * Responses are signed. Calls without a valid signature get status 401, repeated ones 409. Throws
 * `InvalidInput` for invalid options.
 *
 * @example
 * import { pipeline } from 'holdfast';
 *
 * const order = pipeline({ name: 'order', run: (_ctx, item: string) => `ordered ${item}` });
 * export const POST = pushHandler({
 *   pipelines: [order],
 *   signing: { keys: { k1: process.env['PUSH_SECRET'] ?? '' }, current: 'k1' },
 *   audience: 'https://shop.example.org/holdfast',
 * });
 */
export function pushHandler(given: PushHandlerOptions): PushHandler {
  const options = readOptions('pushHandler', given, NAMES);
  const pipelines = pipelinesByName('pushHandler', options.pipelines);
  if (pipelines.size === 0) {
    throw new InvalidInput('pushHandler: pipelines must have at least one pipeline.');
  }
  const signer = new Signer('pushHandler: signing', options.signing);
  const { codec, observer, coordinator } = options;
  if (codec !== undefined) requireMethods('pushHandler: codec', codec, ['encode', 'decode']);
  if (observer !== undefined) requireMethods('pushHandler: observer', observer, ['report']);
  limitsOf(options.payloads);
  const { release } = resolveWorkerOptions({
    pipelines: options.pipelines,
    ...(options.release !== undefined && { release: options.release }),
  });
  const connection = coordinator === undefined ? undefined : connectionOf(coordinator);
  const offered = offeredBy(pipelines.values(), release, connection !== undefined);
  const address = addressOf(options);
  const inHand = new InHand();
  return async (request) => {
    const call = callIn(signer, await request.text());
    if (call === undefined)
      return new Response('The call is not signed with a known key.', { status: 401 });
    const { claims } = call;
    const respond = (result: Partial<PushResult>): Response => responseTo(call, signer, result);
    const { drive, nonce } = claims;
    const misdirected = misdirectionOf(address, claims);
    if (drive === undefined) {
      const result = misdirected === undefined ? offered : { denied: misdirected };
      return respond({ ...result, ...(nonce === undefined ? {} : { nonce }) });
    }
    const { execution, fence } = drive.claimed;
    const about = { id: execution.id, fence };
    const denied = misdirected ?? denialOf(execution, offered);
    if (denied !== undefined) return respond({ ...about, denied });
    const isNew = inHand.take(`${execution.id} ${fence}`, claims.until);
    if (!isNew)
      return new Response('in-hand: this process already handles this call.', { status: 409 });
    const done = await driven(drive, options, await connection?.());
    return respond({ ...about, ...done });
  };
}

async function driven(
  drive: Driven,
  { pipelines, release, codec, observer, payloads }: PushHandlerOptions,
  connection: Connection | undefined,
): Promise<Pick<PushResult, 'writes' | 'blobs'>> {
  const { store, left, result } = pushedStore(drive, connection?.store);
  const leases = connection?.leases && new CallLeases(connection.leases, drive);
  const config = resolveWorkerConfig(
    {
      store,
      ...(codec && { codec }),
      ...(observer && { observer }),
      payloads: remoteLimitsOf(payloads),
    },
    {
      ...{ ended: () => undefined, awaitDueIn: () => undefined },
      leaseSession: leases && (() => leases.open()),
    },
  );
  const options = { pipelines, concurrency: 1, stopGraceMs: 0, ...(release && { release }) };
  const worker = await LiveWorker.open(config, options);
  const over = new AbortController();
  const waitMs = Math.max(0, drive.deadlineInMs - EARLY_MS);
  await Promise.race([left, systemTimers.pause(waitMs, over.signal)]);
  over.abort();
  // Gives back an execution that has not left by then; its recorded steps do not run again.
  await worker.stop();
  await leases?.close();
  return result;
}

/**
 * The leases of one call. The call's own session is at the coordinator, so its authority is not
 * known here. A session of this process, opened when the code first needs it, holds the leases.
 */
class CallLeases {
  readonly #store: LeaseService;
  readonly #owner: string;
  #session: Promise<Session> | undefined;

  constructor(store: LeaseService, { owner, claimed }: Driven) {
    this.#store = store;
    this.#owner = owner ?? `push of ${claimed.execution.id}`;
  }

  open(): Promise<Session> {
    this.#session ??= openSession({ store: this.#store, owner: this.#owner });
    return this.#session;
  }

  /** Waits for releases that are under way. */
  async close(): Promise<void> {
    const session = await this.#session?.catch(() => undefined);
    await session?.close('yielded');
  }
}

// Checks the address of a call: a handler must not run calls for another endpoint or project.

interface Address {
  /** The URL that the coordinator calls. */
  readonly audience: URL;
  /** Undefined: any project. */
  readonly project: ProjectName | undefined;
}

function addressOf(given: { readonly audience: string; readonly project?: string }): Address {
  const { audience, project } = given;
  // The caller chooses the content of the request: a call for another endpoint could be replayed here (M-28).
  if (audience === undefined) {
    throw new InvalidInput(
      'pushHandler: audience is required: pass the URL of this endpoint, as the coordinator calls it.',
    );
  }
  requireUrl('pushHandler: audience', audience);
  return {
    audience: new URL(audience),
    project: project === undefined ? undefined : parseProject(project),
  };
}

const WHY_MAX = 1_024;

/** Undefined if the call is for this endpoint. */
function misdirectionOf(
  { audience, project }: Address,
  { audience: called, project: of, drive }: PushCommand,
): string | undefined {
  const isOfProject = of === (drive?.claimed.execution.project ?? of);
  if (!isOfProject || (project !== undefined && of !== project)) {
    return `This endpoint does not serve project "${of}". Nothing was run.`.slice(0, WHY_MAX);
  }
  // Ignores the scheme, because a handler behind a proxy does not know it.
  const isHere = URL.canParse(called) && placeOf(new URL(called)) === placeOf(audience);
  if (isHere) return undefined;
  const why = `The call is for ${called}, and this endpoint is ${shownUrl(audience)}. Pass the URL that the coordinator calls as pushHandler({ audience }).`;
  return why.slice(0, WHY_MAX);
}

function placeOf({ host, pathname }: URL): string {
  return `${host}${pathname}`;
}

// Reads calls and builds their responses.

interface SignedCall {
  readonly claims: PushCommand;
  readonly kid: string;
}

/** Undefined if no known key signed it, or if it has expired. */
function callIn(signer: Signer, text: string): SignedCall | undefined {
  try {
    const nowMs = systemClock.wallMs();
    const verified = signer.verify<PushCommand>(text, { to: 'worker', nowMs });
    return verified.kind === 'verified' ? verified : undefined;
  } catch {
    return undefined;
  }
}

/** A result is useful only while the coordinator waits for it. */
const RESULT_MS = 60_000;

/** Signed with the key of the call. */
function responseTo({ kid }: SignedCall, signer: Signer, result: Partial<PushResult>): Response {
  const at = systemClock.wallMs();
  const until = at + RESULT_MS;
  const signed = { to: 'coordinator', at, until, v: WORK_VERSION, ...result } as const;
  return new Response(signer.sign(signed, kid), { headers: { 'content-type': 'text/plain' } });
}

/**
 * Remembers the calls of this process until they expire, so that a replayed call does not run its
 * steps again. Another process does not know them, but fence and seq refuse its writes (M-1).
 */
class InHand {
  readonly #until: Map<string, number> = new Map();

  /** False if this call was taken before. */
  take(call: string, untilMs: number): boolean {
    const nowMs = systemClock.wallMs();
    for (const [each, until] of this.#until) if (until < nowMs) this.#until.delete(each);
    if (this.#until.has(call)) return false;
    this.#until.set(call, untilMs + SKEW_MS);
    return true;
  }
}

// The pipelines that a handler offers, and its denials.

type Offered = Pick<PushResult, 'pipelines' | 'release'>;

/**
 * The pipelines that the engine adds read other executions too, so they need a coordinator
 * connection.
 */
function offeredBy(
  given: Iterable<AnyPipeline>,
  release: WorkerRelease | undefined,
  hasConnection: boolean,
): Offered {
  const own = [...given];
  const added = hasConnection ? addedFor(own, release) : [];
  return {
    pipelines: [...own.map(({ name }) => name), ...added],
    ...(release === undefined ? {} : { release: { ...release, ...contractsOf(own) } }),
  };
}

/** Undefined if this handler can run it. */
function denialOf(
  { pipeline, release }: ExecutionRecord,
  { pipelines, release: own }: Offered,
): string | undefined {
  if (pipelines?.includes(pipeline) !== true)
    return `This endpoint has no pipeline "${pipeline}". Nothing was run.`;
  if (release === undefined || release === own?.name) return undefined;
  return `The execution is pinned to release "${release}", and this endpoint has ${own === undefined ? 'none' : `"${own.name}"`}. Nothing was run.`;
}

// The handler's connection to the coordinator. With it, each write is recorded at once.

/**
 * A connection to the coordinator: HTTP with `url` and an access `key` of role `work`, or a
 * `transport`, which you close.
 */
export type CoordinatorConnection =
  | { readonly url: string; readonly key?: string }
  | { readonly transport: Transport };

const KEY_MAX = 256;

interface Connection {
  readonly store: WorkerStore;
  /** For `ctx.lease`. Undefined: the coordinator does not offer it. */
  readonly leases: LeaseService | undefined;
}

/** Connects on first use, with one greeting. */
function connectionOf(given: CoordinatorConnection): () => Promise<Connection> {
  const timers = systemTimers;
  const transport = transportOf(given);
  let opened: Promise<Connection> | undefined;
  return () => {
    opened ??= greet(transport, { timers, observer: undefined, connectMs: 0 }).then(
      (hello) => ({
        store: remoteStore({ transport, hello, clock: systemClock, timers, pipelines: [] }),
        leases: hello.leaseBlocks === true ? remoteLeases({ transport, hello, timers }) : undefined,
      }),
      (fault: unknown) => {
        opened = undefined;
        throw fault;
      },
    );
    return opened;
  };
}

function transportOf(given: CoordinatorConnection): Transport {
  const what = 'pushHandler: coordinator';
  const names = ['url', 'key', 'transport'] as const;
  const options = readOptions<{ url?: string; key?: string; transport?: Transport }>(
    what,
    given,
    names,
  );
  const { url, key, transport } = options;
  if (transport !== undefined) {
    if ((url ?? key) !== undefined) {
      throw new InvalidInput(
        `${what}: url and key are for HTTP. With a transport, pass them to the transport.`,
      );
    }
    requireMethods(`${what}.transport`, transport, ['request', 'close']);
    return transport;
  }
  requireUrl(what, url);
  if (key !== undefined) boundedText(`${what}.key`, key, KEY_MAX);
  return httpTransport({
    url: url ?? '',
    timers: systemTimers,
    ...(key === undefined ? {} : { key }),
  });
}
