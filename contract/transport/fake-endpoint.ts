// A push endpoint for tests: it receives every call of the coordinator. A test replies by hand, or a handler that was
// added replies. Mount `handler` where the coordinator calls.

import type { SessionId } from '../../src/lease/names.ts';
import { WORK_VERSION } from '../../src/protocol/messages/envelope.ts';
import type { Driven, PushCommand, PushResult } from '../../src/protocol/messages/push.ts';
import {
  type SignedClaims,
  Signer,
  type SigningOptions,
} from '../../src/protocol/messages/signing.ts';
import { systemClock } from '../../src/support/clock.ts';
import {
  type PushHandler,
  type PushHandlerOptions,
  pushHandler,
} from '../../src/worker/push-handler.ts';
import type { TransportFault } from '../testing/faulty-transport.ts';

/**
 * A call of the coordinator that waits for its response.
 *
 * @example
 * declare const endpoint: FakeEndpoint;
 *
 * const call = await endpoint.next();
 * call.reply(new Response(endpoint.signed(call.about)));
 */
export interface OpenCall {
  /** The execution and its history. */
  readonly drive: Driven;
  /** The body of the request. */
  readonly text: string;
  /** The `id` and `fence` of the claim. */
  readonly about: Pick<PushResult, 'id' | 'fence'>;
  /** Sends the response. */
  reply(response: Response): void;
}

/** Chooses the fault of the nth call. */
export type CallPlan = (nth: number) => TransportFault | undefined;

/**
 * A handler that responds to the calls of a fake endpoint.
 *
 * @example
 * declare const endpoint: FakeEndpoint;
 * declare const handler: (request: Request) => Promise<Response>;
 *
 * const added = endpoint.addHandler(handler);
 * await added.stop();
 */
export interface FakeHandler {
  /** The session of its last call. */
  readonly session: SessionId;
  /** Removes the handler and waits for its calls to end. */
  stop(): Promise<void>;
}

/** The secrets of a fake endpoint. */
export interface FakeEndpointKeys {
  /** The keys that it signs with. */
  readonly signing: SigningOptions;
  /** The id of a key that the coordinator knows but does not sign with. */
  readonly older: string;
}

const HOUR_MS = 3_600_000;
const STRANGE = 'x'.repeat(32);

/** The way in which a response differs from a valid one. */
export type ForgedReply =
  | 'unsigned'
  | 'tampered'
  | 'of-another-key'
  | 'of-an-unknown-key'
  | 'of-an-older-key'
  | 'expired'
  | 'waited-long'
  | 'turned-around';

/** For tests that ignore the address: accepts each call as one for the address that was called. */
export function handlerAnywhere(
  options: Omit<PushHandlerOptions, 'audience'> & { readonly audience?: string },
): PushHandler {
  const made = new Map<string, PushHandler>();
  return (request) => {
    const { url } = request;
    const handler = made.get(url) ?? pushHandler({ audience: url, ...options });
    made.set(url, handler);
    return handler(request);
  };
}

/**
 * A push endpoint for tests. It receives every call of a coordinator; the test responds, or a
 * handler does.
 *
 * @example
 * const secret = 's'.repeat(32);
 * const endpoint = new FakeEndpoint({ signing: { keys: { k1: secret, k0: secret }, current: 'k1' }, older: 'k0' });
 * const call = await endpoint.next();
 * call.reply(new Response(endpoint.signed(call.about)));
 */
export class FakeEndpoint {
  readonly #signer: Signer;
  readonly #keys: FakeEndpointKeys;
  readonly #waiting: OpenCall[] = [];
  readonly #handlers: PushHandler[] = [];
  #arrived: () => void = () => undefined;
  #isClosed = false;

  constructor(keys: FakeEndpointKeys) {
    this.#keys = keys;
    this.#signer = new Signer('FakeEndpoint', keys.signing);
  }

  /** The request handler to mount at the endpoint's URL. */
  get handler(): PushHandler {
    return async (request) => {
      const text = await request.text();
      const worker = this.#handlers.at(-1);
      const command = this.#read(text);
      if (worker !== undefined) return worker(requestWith(text, command?.audience));
      if (command === undefined) return new Response('', { status: 401 });
      // It is asked for its pipelines: reply with none, so that it gets every call.
      if (command.drive === undefined) {
        const { nonce = '' } = command;
        return new Response(this.signed({ nonce }));
      }
      return this.#open(command.drive, text);
    };
  }

  /** The keys that it signs with. */
  get signing(): SigningOptions {
    return this.#keys.signing;
  }

  #read(text: string): PushCommand | undefined {
    const expected = { to: 'worker', nowMs: systemClock.wallMs() } as const;
    const verified = this.#signer.verify<PushCommand>(text, expected);
    return verified.kind === 'verified' ? verified.claims : undefined;
  }

  /** Waits for the next call that no handler has taken. */
  async next(): Promise<OpenCall> {
    for (;;) {
      const call = this.#waiting.shift();
      if (call !== undefined) return call;
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
  }

  /** Sends later calls to this handler. `plan` chooses the fault of the nth call. */
  addHandler(handler: PushHandler, plan: CallPlan = () => undefined): FakeHandler {
    const faulty = faulted(handler, plan);
    const underWay = new Set<Promise<unknown>>();
    let session = '';
    const called: PushHandler = async (request) => {
      const text = await request.text();
      session = this.#read(text)?.drive?.session ?? session;
      const answered = faulty(requestWith(text, request.url));
      underWay.add(answered);
      return answered.finally(() => underWay.delete(answered));
    };
    this.#handlers.push(called);
    for (const { text, reply } of this.#waiting.splice(0)) {
      called(requestWith(text, this.#read(text)?.audience)).then(reply, () => reply(failed()));
    }
    return {
      get session() {
        return session as SessionId;
      },
      stop: async () => {
        const at = this.#handlers.indexOf(called);
        if (at >= 0) this.#handlers.splice(at, 1);
        await Promise.allSettled(underWay);
      },
    };
  }

  /** Returns a signed response body, or a forged one. */
  signed(result: Partial<PushResult>, how?: ForgedReply): string {
    const at = systemClock.wallMs() - (how === 'waited-long' ? HOUR_MS : 0);
    const claims = {
      ...{ to: how === 'turned-around' ? 'worker' : 'coordinator', at },
      until: how === 'expired' ? at - HOUR_MS : at + 2 * HOUR_MS,
      v: WORK_VERSION,
      ...result,
    } as SignedClaims;
    const { current } = this.#keys.signing;
    switch (how) {
      case 'unsigned':
        return JSON.stringify(claims);
      case 'tampered':
        return this.#signer.sign(claims).replace('"v":', '"v": ');
      case 'of-another-key':
        return new Signer('FakeEndpoint', { keys: { [current]: STRANGE }, current }).sign(claims);
      case 'of-an-unknown-key':
        return new Signer('FakeEndpoint', { keys: { eve: STRANGE }, current: 'eve' }).sign(claims);
      case 'of-an-older-key':
        return this.#signer.sign(claims, this.#keys.older);
      default:
        return this.#signer.sign(claims);
    }
  }

  /** Responds with status 503 to all further calls. */
  close(): void {
    this.#isClosed = true;
    for (const { reply } of this.#waiting.splice(0)) reply(turnedAway());
  }

  #open(drive: Driven, text: string): Promise<Response> {
    if (this.#isClosed) return Promise.resolve(turnedAway());
    return new Promise((reply) => {
      const { execution, fence } = drive.claimed;
      this.#waiting.push({ drive, text, about: { id: execution.id, fence }, reply });
      this.#arrived();
    });
  }
}

function turnedAway(): Response {
  return new Response('', { status: 503 });
}

function failed(): Response {
  return new Response('', { status: 500 });
}

function faulted(handler: PushHandler, plan: CallPlan): PushHandler {
  let nth = 0;
  return async (request) => {
    nth += 1;
    const text = await request.text();
    const fault = plan(nth);
    if (fault === 'lost') return failed();
    const response = await handler(requestWith(text, request.url));
    if (fault === 'doubled') return handler(requestWith(text, request.url));
    return fault === 'reply-lost' ? failed() : response;
  };
}

/** Rebuilds the request as it was called, wherever the handler is mounted. */
function requestWith(body: string, url: string = 'http://endpoint/'): Request {
  return new Request(url, { method: 'POST', body });
}
