// Who comes in, before anything of the request's body is read: by the gate, and not too often. Wrong keys are
// counted by the network that they come from: one that guesses is not looked up any more, while whoever is
// known comes in from there as before.

import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Caller, ProblemReply, type Route } from '../protocol/rest/route.ts';
import type { Clock } from '../support/clock.ts';
import type { Gate } from './gate.ts';
import { authorizationOf } from './key-cookie.ts';
import { requireOwnHost } from './same-host.ts';
import type { HttpLimits } from './server-options.ts';

export interface Door {
  readonly gate: Gate;
  readonly limits: HttpLimits;
  /** Keys are not asked for: only the owner's own pages may be. */
  readonly ownHostOnly: boolean;
  readonly coordinator: { readonly clock: Clock };
}

const MINUTE_MS = 60_000;
/** Networks and keys that are counted at once; the one that was not seen for longest is forgotten. */
const COUNTED_MAX = 20_000;

type Counter = ReturnType<FastifyInstance['createRateLimit']>;

export class Admission {
  readonly #door: Door;
  readonly #callers: WeakMap<FastifyRequest, Caller> = new WeakMap();
  readonly #wrong: Counter;
  readonly #all: Counter;
  /** Until then there may be somebody to suspect. */
  #wrongUntilMs = Number.NEGATIVE_INFINITY;

  private constructor(app: FastifyInstance, door: Door) {
    this.#door = door;
    const { wrongKeysPerMinute, requestsPerMinute } = door.limits;
    this.#wrong = app.createRateLimit({
      max: wrongKeysPerMinute,
      keyGenerator: ({ ip }) => networkOf(ip),
    });
    this.#all = app.createRateLimit({
      max: requestsPerMinute,
      // Of a key that has opened: whoever only knows its id does not use up what it may.
      keyGenerator: (request) => this.#callers.get(request)?.key ?? networkOf(request.ip),
    });
  }

  static async on(app: FastifyInstance, door: Door): Promise<Admission> {
    await app.register(rateLimit, { global: false, timeWindow: MINUTE_MS, cache: COUNTED_MAX });
    return new Admission(app, door);
  }

  async admit(route: Route, request: FastifyRequest): Promise<void> {
    const header = (name: string): string | undefined => oneOf(request.headers[name]);
    if (this.#door.ownHostOnly) requireOwnHost(header('host'), header('origin'));
    const { isSuspect, retryAfterS } = await this.#suspected(request);
    const knock = {
      authorization: route.allows === 'public' ? undefined : authorizationOf(route, header),
      project: header('holdfast-project'),
      isSuspect,
    };
    const caller = await this.#door.gate.admit(route, knock).catch(async (refusal: unknown) => {
      if (!(refusal instanceof ProblemReply) || refusal.status !== 401) throw refusal;
      this.#wrongUntilMs = this.#nowMs() + MINUTE_MS;
      await this.#wrong(request);
      throw isSuspect ? tooOften(WRONG_KEYS, retryAfterS) : refusal;
    });
    this.#callers.set(request, caller);
    await this.count(request);
  }

  /** Throws for who asks too often. */
  async count(request: FastifyRequest): Promise<void> {
    const counted = await this.#all(request);
    if (!counted.isAllowed && counted.isExceeded) {
      throw tooOften('Too many requests', counted.ttlInSeconds);
    }
  }

  /** Who it turned out to be, if it came in. */
  known(request: FastifyRequest): Caller | undefined {
    return this.#callers.get(request);
  }

  /** Of a request that was admitted. */
  caller(request: FastifyRequest): Caller {
    const caller = this.known(request);
    if (caller === undefined) throw new Error('A request is handled that nobody has admitted.');
    return caller;
  }

  #nowMs(): number {
    return this.#door.coordinator.clock.monotonicMs();
  }

  async #suspected(
    request: FastifyRequest,
  ): Promise<{ readonly isSuspect: boolean; readonly retryAfterS: number }> {
    // Nearly always: it costs nothing where nobody guesses.
    if (this.#nowMs() > this.#wrongUntilMs) return { isSuspect: false, retryAfterS: 0 };
    const counted = await this.#wrong(request, { increment: false });
    if (counted.isAllowed) return { isSuspect: false, retryAfterS: 0 };
    return { isSuspect: counted.remaining === 0, retryAfterS: counted.ttlInSeconds };
  }
}

const WRONG_KEYS =
  'Too many wrong keys came from this address, so that only keys which were used here before are looked at';

function tooOften(what: string, retryAfterS: number): ProblemReply {
  const reply = new ProblemReply(429, 'over-rate', `${what}; try again in ${retryAfterS} s.`);
  reply.retryAfterS = retryAfterS;
  return reply;
}

export function oneOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value[0] : value;
}

const GROUPS = 8;
const GROUPS_OF_NETWORK = 4;

/** An address, or of an IPv6 one the 64 bits that its holder cannot choose. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [left = [], right = []] = address
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: GROUPS - left.length - right.length }, () => '0');
  const groups = address.includes('::') ? [...left, ...zeros, ...right] : left;
  return groups
    .slice(0, GROUPS_OF_NETWORK)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':');
}
