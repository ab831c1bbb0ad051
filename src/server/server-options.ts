// How a coordinator is opened from code. `holdfast serve` reads the same from a file, the environment and
// flags (config.ts).

import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import type { Clock } from '../support/clock.ts';
import type { Random } from '../support/random.ts';
import type { Timers } from '../support/timer.ts';

export interface ServerOptions {
  readonly store: CoordinatorStore;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0: any that is free. Default 7433. */
  readonly port?: number;
  /** `off` is for one machine: it must listen on loopback then. Default `keys`. */
  readonly auth?: 'keys' | 'off';
  /** Where projects and keys are managed: nowhere unless said. */
  readonly admin?: 'off' | 'main' | { readonly host?: string; readonly port: number };
  /** Sees to schedules, deadlines, awaits and bulk acts; one that only answers does not. Default true. */
  readonly tends?: boolean;
  readonly limits?: Partial<HttpLimits>;
  readonly trustProxy?: boolean | string;
  readonly tls?: { readonly key: string; readonly cert: string };
  readonly log?: ServerLog;
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly random?: Random;
}

export interface HttpLimits {
  readonly bodyBytesMax: number;
  /** Of one key, or of one address without one. */
  readonly requestsPerMinute: number;
  /** Long polls and streams that are held open at once. */
  readonly openMax: number;
  /** How long a request may take to arrive. */
  readonly requestMs: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = Object.freeze({
  bodyBytesMax: 32 * 1024 * 1024,
  requestsPerMinute: 600_000,
  openMax: 10_000,
  requestMs: 30_000,
});

/** What a server tells whoever runs it. Never a secret. */
export interface ServerLog {
  info(message: string, about?: object): void;
  fault(message: string, error: unknown): void;
}
