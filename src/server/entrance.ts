// What all ways into a coordinator share: who may come in, how often, and how much is held open for whom.

import type { Coordinator } from '../protocol/rest/route.ts';
import { AddressLimit, Pipelining } from './connection-limits.ts';
import { type Gate, KeyGate, openGate } from './gate.ts';
import { Held } from './held.ts';
import { Limiter } from './limiter.ts';
import type { ServerMetrics } from './metrics.ts';
import { DEFAULT_HTTP_LIMITS, type HttpLimits, type ServerOptions } from './server-options.ts';

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
