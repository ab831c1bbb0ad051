// Who comes in by HTTP, before anything of the request's body is read: by the gate, and not too often.

import type { FastifyRequest } from 'fastify';
import type { Caller, Coordinator, Route } from '../protocol/rest/route.ts';
import { AddressLimit, Pipelining } from './connection-limits.ts';
import { authorizationOf, type Gate, KeyGate, openGate } from './gate.ts';
import { Held } from './held.ts';
import { Limiter, type Visit } from './limiter.ts';
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
