// Who comes in how often, whichever way: HTTP and gRPC count together. Wrong keys are counted by the network that
// they come from: one that guesses is not looked up any more, while whoever is known comes in from there as before.

import rateLimit from '@fastify/rate-limit';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { type Caller, ProblemReply, type Route } from '../protocol/rest/route.ts';
import type { Clock } from '../support/clock.ts';
import type { Gate, Knock } from './gate.ts';
import type { HttpLimits } from './server-options.ts';

const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;
/** From where too many wrong keys came, one of so many of them is looked up in each second. */
const UNSEEN_PART = 10;
/** Networks and keys that are counted at once; the one that was not seen for longest is forgotten. */
const COUNTED_MAX = 20_000;

type Counter = ReturnType<FastifyInstance['createRateLimit']>;

/** As much of a request as is counted. */
interface Counted {
  readonly as: string;
  readonly routeOptions: object;
}

export interface Visit {
  readonly route: Pick<Route, 'allows' | 'needs'>;
  readonly knock: Omit<Knock, 'mayLookUp' | 'opened'>;
  /** The address that it comes from. */
  readonly ip: string;
}

export class Limiter {
  readonly #gate: Gate;
  readonly #clock: Clock;
  readonly #wrong: Counter;
  readonly #all: Counter;
  readonly #ofProject: Counter;
  readonly #unseenPerSecond: number;
  /** Of networks that are suspected. */
  readonly #unseen: Map<string, { readonly sinceMs: number; looks: number }> = new Map();
  /** Until then there may be somebody to suspect. */
  #wrongUntilMs = Number.NEGATIVE_INFINITY;

  private constructor(app: FastifyInstance, { gate, clock, limits }: LimiterParts) {
    this.#gate = gate;
    this.#clock = clock;
    this.#unseenPerSecond = Math.ceil(limits.wrongKeysPerMinute / UNSEEN_PART);
    const keyGenerator = (request: unknown): string => (request as Counted).as;
    this.#wrong = app.createRateLimit({ max: limits.wrongKeysPerMinute, keyGenerator });
    this.#all = app.createRateLimit({ max: limits.requestsPerMinute, keyGenerator });
    const max = limits.projectRequestsPerMinute;
    this.#ofProject = app.createRateLimit({ max, keyGenerator });
  }

  static async open(parts: LimiterParts): Promise<Limiter> {
    const app = fastify();
    await app.register(rateLimit, { global: false, timeWindow: MINUTE_MS, cache: COUNTED_MAX });
    return new Limiter(app, parts);
  }

  async admit({ route, knock, ip }: Visit): Promise<Caller> {
    const { isSuspect, retryAfterS } = await this.#suspected(ip);
    const mayLookUp = (): boolean => !isSuspect || this.#mayLookUpUnseen(networkOf(ip));
    let isCounted = false;
    // Also when it is refused for something else: what it may not do costs a look, too.
    const opened = async (key: string): Promise<void> => {
      isCounted = true;
      await this.count(ip, key);
    };
    const caller = await this.#gate
      .admit(route, { ...knock, mayLookUp, opened })
      .catch(async (refusal: unknown) => {
        if (!(refusal instanceof ProblemReply) || refusal.status !== 401) throw refusal;
        // Who has none guesses nothing: a page that was left open, a probe.
        if (knock.authorization === undefined) {
          await this.count(ip);
          throw refusal;
        }
        this.#wrongUntilMs = this.#clock.monotonicMs() + MINUTE_MS;
        await this.#wrong(counted(networkOf(ip)));
        throw isSuspect ? tooOften(WRONG_KEYS, retryAfterS) : refusal;
      });
    if (!isCounted) await this.count(ip, caller.key);
    await this.#countProject(caller);
    return caller;
  }

  /** False for who was let in and would not be now. Who cannot be looked up stays. */
  async stillOpens({ route, knock }: Visit): Promise<boolean> {
    return this.#gate.admit(route, { ...knock, mayLookUp: () => true }).then(
      () => true,
      (refusal: unknown) => !(refusal instanceof ProblemReply),
    );
  }

  /** Of a key that has opened: whoever only knows its id does not use up what it may. Throws when it is too often. */
  async count(ip: string, key?: string): Promise<void> {
    requireWithin(await this.#all(counted(key ?? networkOf(ip))), 'Too many requests');
  }

  /** Admins of a project make as many keys as they like; keys of all projects are the operator's. */
  async #countProject({ key, project, isOfAll }: Caller): Promise<void> {
    if (key === undefined || isOfAll) return;
    requireWithin(
      await this.#ofProject(counted(project)),
      `Too many requests of project "${project}"`,
    );
  }

  /** So that whoever shares an address with one that guesses comes in for the first time, sooner or later. */
  #mayLookUpUnseen(network: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const last = this.#unseen.get(network);
    const isSame = last !== undefined && nowMs - last.sinceMs < SECOND_MS;
    const now = isSame ? last : { sinceMs: nowMs, looks: 0 };
    if (now.looks >= this.#unseenPerSecond) return false;
    now.looks += 1;
    if (this.#unseen.size >= COUNTED_MAX) this.#unseen.clear();
    this.#unseen.set(network, now);
    return true;
  }

  async #suspected(
    ip: string,
  ): Promise<{ readonly isSuspect: boolean; readonly retryAfterS: number }> {
    // Nearly always: it costs nothing where nobody guesses.
    if (this.#clock.monotonicMs() > this.#wrongUntilMs) return { isSuspect: false, retryAfterS: 0 };
    const found = await this.#wrong(counted(networkOf(ip)), { increment: false });
    if (found.isAllowed) return { isSuspect: false, retryAfterS: 0 };
    return { isSuspect: found.remaining === 0, retryAfterS: found.ttlInSeconds };
  }
}

export interface LimiterParts {
  readonly gate: Gate;
  readonly clock: Clock;
  readonly limits: HttpLimits;
}

function counted(as: string): FastifyRequest {
  const request: Counted = { as, routeOptions: {} };
  return request as unknown as FastifyRequest;
}

const WRONG_KEYS =
  'Too many wrong keys came from this address, so that few are looked at which were not used here before';

function requireWithin(found: Awaited<ReturnType<Counter>>, what: string): void {
  if (!found.isAllowed && found.isExceeded) throw tooOften(what, found.ttlInSeconds);
}

function tooOften(what: string, retryAfterS: number): ProblemReply {
  const reply = new ProblemReply(429, 'over-rate', `${what}; try again in ${retryAfterS} s.`);
  reply.retryAfterS = retryAfterS;
  return reply;
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
