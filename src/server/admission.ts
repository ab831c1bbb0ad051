// Admits HTTP requests before anything of their body is read. The gate checks the key, and the
// limiter the rate.

import rateLimit from '@fastify/rate-limit';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { type Caller, type Coordinator, ProblemReply, type Route } from '../protocol/rest/route.ts';
import type { Clock } from '../support/clock.ts';
import { AddressLimit, networkOf, Pipelining } from './connections.ts';
import { type AccessRequest, authorizationOf, type Gate, KeyGate, openGate } from './gate.ts';
import type { ServerMetrics } from './metrics.ts';
import { DEFAULT_HTTP_LIMITS, type HttpLimits, type ServerOptions } from './server-options.ts';

interface Admitted {
  readonly caller: Caller;
  readonly info: RequestInfo;
}

export interface AdmissionParts {
  readonly limiter: Limiter;
}

export class Admission {
  readonly #parts: AdmissionParts;
  readonly #admitted: WeakMap<FastifyRequest, Admitted> = new WeakMap();

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  async admit(route: Route, request: FastifyRequest): Promise<void> {
    const { limiter } = this.#parts;
    const header = (name: string): string | undefined => oneOf(request.headers[name]);
    const { allows } = route;
    const access = {
      authorization: allows === 'public' ? undefined : authorizationOf(route, header),
      project: header('holdfast-project'),
    };
    const info = { route, access, ip: request.ip };
    this.#admitted.set(request, { caller: await limiter.admit(info), info });
  }

  /** True if the request would still be admitted. */
  async stillOpens(request: FastifyRequest): Promise<boolean> {
    const admitted = this.#admitted.get(request);
    return admitted !== undefined && this.#parts.limiter.stillOpens(admitted.info);
  }

  /** The caller, if the request was admitted. */
  known(request: FastifyRequest): Caller | undefined {
    return this.#admitted.get(request)?.caller;
  }

  /** The caller of an admitted request. */
  caller(request: FastifyRequest): Caller {
    const caller = this.known(request);
    if (caller === undefined) throw new Error('A request was handled without being admitted.');
    return caller;
  }
}

export function oneOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value[0] : value;
}

// The checks that all transports of a coordinator share: access, rate, and requests held open.

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

// Limits the rate of callers, over HTTP and gRPC together. It counts wrong keys by network. A
// network that guesses gets 429 for further wrong keys, while valid keys from there keep working.

const MINUTE_MS = 60_000;
/** The most networks and keys counted at once; the limiter forgets the least recent one. */
const COUNTED_MAX = 20_000;

type Counter = ReturnType<FastifyInstance['createRateLimit']>;

/** The part of a request that the counter reads. */
interface Counted {
  readonly as: string;
  readonly routeOptions: object;
}

export interface RequestInfo {
  readonly route: Pick<Route, 'allows' | 'needs'>;
  readonly access: Omit<AccessRequest, 'opened'>;
  readonly ip: string;
}

export class Limiter {
  readonly #gate: Gate;
  readonly #clock: Clock;
  readonly #wrong: Counter;
  readonly #all: Counter;
  readonly #ofProject: Counter;
  /** Until this time a network may be suspect. */
  #wrongUntilMs = Number.NEGATIVE_INFINITY;

  private constructor(app: FastifyInstance, { gate, clock, limits }: LimiterParts) {
    this.#gate = gate;
    this.#clock = clock;
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

  async admit({ route, access, ip }: RequestInfo): Promise<Caller> {
    const { isSuspect, retryAfterS } = await this.#suspected(ip);
    let isCounted = false;
    // Also counts a request that is then denied for another reason, because its lookup cost too.
    const opened = async (key: string): Promise<void> => {
      isCounted = true;
      await this.count(ip, key);
    };
    const caller = await this.#gate
      .admit(route, { ...access, opened })
      .catch(async (refusal: unknown) => {
        if (!(refusal instanceof ProblemReply) || refusal.status !== 401) throw refusal;
        // No key is not a guess: it is a stale page or a probe. Count it as a request, not as a
        // wrong key.
        if (access.authorization === undefined) {
          await this.count(ip);
          throw refusal;
        }
        this.#wrongUntilMs = this.#clock.monotonicMs() + MINUTE_MS;
        await this.#wrong(counted(networkOf(ip)));
        throw isSuspect ? tooOften(WRONG_KEYS, retryAfterS) : refusal;
      });
    if (isCounted) await this.#countProject(caller);
    else await this.countMessage(caller, ip);
    return caller;
  }

  /** Counts a message of an admitted caller like a request. Throws above a limit. */
  async countMessage(caller: Caller, ip: string): Promise<void> {
    await this.count(ip, caller.key);
    await this.#countProject(caller);
  }

  /** False if an admitted caller would be refused now. A failed lookup does not end access. */
  async stillOpens({ route, access }: RequestInfo): Promise<boolean> {
    return this.#gate.admit(route, access).then(
      () => true,
      (refusal: unknown) => !(refusal instanceof ProblemReply),
    );
  }

  /**
   * Counts a key only after it proved valid, so that knowing its id does not use up its limit.
   * Throws above the limit.
   */
  async count(ip: string, key?: string): Promise<void> {
    requireWithin(await this.#all(counted(key ?? networkOf(ip))), 'Too many requests');
  }

  /**
   * A project's admins can create any number of keys, so limit the project too. Keys for all
   * projects belong to the operator.
   */
  async #countProject({ key, project, isOfAll }: Caller): Promise<void> {
    if (key === undefined || isOfAll) return;
    requireWithin(
      await this.#ofProject(counted(project)),
      `Too many requests of project "${project}"`,
    );
  }

  async #suspected(
    ip: string,
  ): Promise<{ readonly isSuspect: boolean; readonly retryAfterS: number }> {
    // The usual case: no network guesses, so the check costs nothing.
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

const WRONG_KEYS = 'Too many wrong keys came from this address, and this one is wrong too';

function requireWithin(found: Awaited<ReturnType<Counter>>, what: string): void {
  if (!found.isAllowed && found.isExceeded) throw tooOften(what, found.ttlInSeconds);
}

function tooOften(what: string, retryAfterS: number): ProblemReply {
  const reply = new ProblemReply(
    'over-rate',
    `${what}. Nothing was done. Try again in ${retryAfterS} s.`,
  );
  reply.retryAfterS = retryAfterS;
  return reply;
}

// Limits the long polls and streams held open, over HTTP and gRPC together. No key and no project
// can take more than its share.

const KEY_SHARES = 4;
/** A project's admins can create any number of keys. */
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

  /** Throws if too many are open. The returned function releases once. */
  hold({ key, project, isOfAll }: Caller): () => void {
    if (this.#count >= this.#max) {
      throw tooMany(
        `This coordinator holds ${this.#max} requests and streams open, which is its limit (limits.openMax). Nothing was done. ${INSTEAD}`,
      );
    }
    // Without keys there is one user; keys for all projects belong to the operator.
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
      `${holder} holds ${share} requests and streams open here, the limit of one ${kind} (a part of limits.openMax). Nothing was done. ${INSTEAD}`,
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

const INSTEAD = 'Try again later, or send a request without waitMs.';

export function tooMany(detail: string): ProblemReply {
  const reply = new ProblemReply('too-many-open', detail);
  reply.retryAfterS = 1;
  return reply;
}
