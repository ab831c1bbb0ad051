// Who comes in by HTTP, before anything of the request's body is read: by the gate, and not too often.

import rateLimit from '@fastify/rate-limit';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { type Caller, type Coordinator, ProblemReply, type Route } from '../protocol/rest/route.ts';
import type { Clock } from '../support/clock.ts';
import { AddressLimit, networkOf, Pipelining } from './connections.ts';
import { authorizationOf, type Gate, KeyGate, type Knock, openGate } from './gate.ts';
import type { ServerMetrics } from './metrics.ts';
import { DEFAULT_HTTP_LIMITS, type HttpLimits, type ServerOptions } from './server-options.ts';

interface Admitted {
  readonly caller: Caller;
  readonly visit: Visit;
}

export interface Door {
  readonly limiter: Limiter;
}

export class Admission {
  readonly #door: Door;
  readonly #admitted: WeakMap<FastifyRequest, Admitted> = new WeakMap();

  constructor(door: Door) {
    this.#door = door;
  }

  async admit(route: Route, request: FastifyRequest): Promise<void> {
    const { limiter } = this.#door;
    const header = (name: string): string | undefined => oneOf(request.headers[name]);
    const { allows } = route;
    const knock = {
      authorization: allows === 'public' ? undefined : authorizationOf(route, header),
      project: header('holdfast-project'),
    };
    const visit = { route, knock, ip: request.ip };
    this.#admitted.set(request, { caller: await limiter.admit(visit), visit });
  }

  /** Whether it would be admitted now as it was. */
  async stillOpens(request: FastifyRequest): Promise<boolean> {
    const admitted = this.#admitted.get(request);
    return admitted !== undefined && this.#door.limiter.stillOpens(admitted.visit);
  }

  /** Who it turned out to be, if it came in. */
  known(request: FastifyRequest): Caller | undefined {
    return this.#admitted.get(request)?.caller;
  }

  /** Of a request that was admitted. */
  caller(request: FastifyRequest): Caller {
    const caller = this.known(request);
    if (caller === undefined) throw new Error('A request is handled that nobody has admitted.');
    return caller;
  }
}

export function oneOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value[0] : value;
}

// What all ways into a coordinator share: who may come in, how often, and how much is held open for whom.

export interface Entrance {
  readonly gate: Gate;
  readonly limiter: Limiter;
  readonly held: Held;
  readonly limits: HttpLimits;
  readonly addresses: AddressLimit;
  readonly pipelining: Pipelining;
}

export async function entranceOf(
  { store, auth, limits: given }: ServerOptions,
  { clock }: Coordinator,
  metrics: ServerMetrics | undefined,
): Promise<Entrance> {
  const gate = auth === 'off' ? openGate() : new KeyGate(store.access, clock);
  const limits = { ...DEFAULT_HTTP_LIMITS, ...given };
  const limiter = await Limiter.open({ gate, clock, limits });
  const addresses = new AddressLimit(limits.connectionsPerAddressMax);
  const held = new Held(limits.openMax, (count) => metrics?.held(count));
  return { gate, limiter, limits, addresses, pipelining: new Pipelining(), held };
}

// Who comes in how often, whichever way: HTTP and gRPC count together. Wrong keys are counted by the network that
// they come from: one that guesses is not looked up any more, while whoever is known comes in from there as before.

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

// How many long polls and streams are held open, over HTTP and gRPC together, and by whom: neither a key nor a
// project has more than its share, so that one does not take all.

const KEY_SHARES = 4;
/** Admins of a project make as many keys as they like. */
const PROJECT_SHARES = 2;

export class Held {
  readonly #max: number;
  readonly #onChange: (count: number) => void;
  readonly #byHolder: Map<string, number> = new Map();
  #count = 0;

  constructor(max: number, onChange: (count: number) => void) {
    this.#max = max;
    this.#onChange = onChange;
  }

  /** Throws where there are too many. What it returns lets go, once. */
  hold({ key, project, isOfAll }: Caller): () => void {
    if (this.#count >= this.#max) {
      throw tooMany(
        `This coordinator holds ${this.#max} requests open, which is its limit. Ask again later, or without waitMs.`,
      );
    }
    // Without keys there is one user; keys of all projects are the operator's.
    const holders: string[] = [];
    if (key !== undefined) holders.push(this.#withinShare(`Key ${key}`, 'key', KEY_SHARES));
    if (key !== undefined && !isOfAll) {
      holders.push(this.#withinShare(`Project "${project}"`, 'project', PROJECT_SHARES));
    }
    this.#change(holders, 1);
    let isHeld = true;
    return () => {
      if (isHeld) this.#change(holders, -1);
      isHeld = false;
    };
  }

  #withinShare(holder: string, kind: string, shares: number): string {
    const share = Math.ceil(this.#max / shares);
    if ((this.#byHolder.get(holder) ?? 0) < share) return holder;
    throw tooMany(
      `${holder} holds ${share} requests open here, which is the share of one ${kind}. Ask again later, or without waitMs.`,
    );
  }

  #change(holders: readonly string[], by: number): void {
    for (const holder of holders) {
      const now = (this.#byHolder.get(holder) ?? 0) + by;
      if (now === 0) this.#byHolder.delete(holder);
      else this.#byHolder.set(holder, now);
    }
    this.#count += by;
    this.#onChange(this.#count);
  }
}

function tooMany(detail: string): ProblemReply {
  const reply = new ProblemReply(429, 'too-many-open', detail);
  reply.retryAfterS = 1;
  return reply;
}
