// The options of a coordinator in code. `holdfast serve` reads the same from a file, the
// environment and flags (config.ts).

import { SEQ_MAX } from '../execution/history.ts';
import { QUOTAS, type Quotas } from '../features/access/model.ts';
import type { LinkOptions } from '../features/awaits/links-api.ts';
import type { RetentionOptions } from '../features/retention/api.ts';
import { type PushOptions, pushSettingsOf } from '../protocol/push/push-options.ts';
import type { Demo } from '../protocol/rest/route.ts';
import { readSqsOptions, type SqsOptions } from '../protocol/sqs/sqs-options.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import type { Clock } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  readOptions,
  requireMethods,
  shown,
} from '../support/options.ts';
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
  /** The console, at /console. Default true. */
  readonly console?: boolean;
  /** Where workers are heard over gRPC: nowhere unless said. Host as above, `tls` too. Needs @grpc/grpc-js. */
  readonly grpc?: { readonly host?: string; readonly port: number };
  /** Queues by which workers are heard: none unless said. Needs @aws-sdk/client-sqs. */
  readonly sqs?: SqsOptions;
  /** Endpoints that are called with what there is to do. */
  readonly push?: PushOptions;
  /** Run schedules, deadlines, awaits and bulk jobs here. Default true; false only serves requests. */
  readonly maintenance?: boolean;
  /** Keys that sign answer links; without them there are none. */
  readonly links?: LinkOptions;
  /** What goes once it has ended, and where; nothing unless said. The same for all coordinators of a store. */
  readonly retention?: Omit<RetentionOptions, 'decode'>;
  readonly limits?: Partial<HttpLimits>;
  /** How much each project may have, where its own settings do not differ. The same for all coordinators of a store. */
  readonly quotas?: Partial<Quotas>;
  /** `/metrics` without a key, for a scraper that has none. Default false. */
  readonly publicMetrics?: boolean;
  /** Whose X-Forwarded-* is believed: addresses of proxies. `true`: anybody's, which is for a port that only proxies reach. */
  readonly trustProxy?: boolean | string;
  readonly tls?: {
    readonly key: string;
    readonly cert: string;
    /** Default TLSv1.2. */
    readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  };
  /** What `holdfast dev` plays. */
  readonly demo?: Demo;
  readonly log?: ServerLog;
  /** Tells `log.info` of each request that was answered. Default false. */
  readonly logRequests?: boolean;
  /** With `logRequests`: also heartbeats, and long polls and claims that found nothing. Default false. */
  readonly logIdle?: boolean;
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly random?: Random;
}

export interface HttpLimits {
  readonly bodyBytesMax: number;
  /** Of one key, or of one address without one. */
  readonly requestsPerMinute: number;
  /** Of all keys of one project together. */
  readonly projectRequestsPerMinute: number;
  /** Of one address, or of one network of IPv6; more are not looked up until the minute is over. */
  readonly wrongKeysPerMinute: number;
  /** More are closed as they come. */
  readonly connectionsMax: number;
  /** Of one address, or of one network of IPv6, on all listeners together. Raise it where all clients come through one proxy. */
  readonly connectionsPerAddressMax: number;
  /** Long polls and streams that are held open at once; one key has a quarter of them. */
  readonly openMax: number;
  /** How long a request may take to arrive, and somebody to go on taking an answer. */
  readonly requestMs: number;
  /** Of one execution, as far as workers elsewhere write it. */
  readonly historyEventsMax: number;
  readonly historyBytesMax: number;
  /** How long a worker has to check an answer that only it can check. */
  readonly relayAnswersMs: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = Object.freeze({
  bodyBytesMax: 32 * 1024 * 1024,
  requestsPerMinute: 600_000,
  projectRequestsPerMinute: 1_200_000,
  wrongKeysPerMinute: 100,
  connectionsMax: 20_000,
  connectionsPerAddressMax: 5_000,
  openMax: 10_000,
  requestMs: 30_000,
  historyEventsMax: 100_000,
  historyBytesMax: 128 * 1024 * 1024,
  relayAnswersMs: 10_000,
});

/** The allowed range of each. */
export const HTTP_LIMIT_RANGES: Readonly<
  Record<keyof HttpLimits, { readonly min: number; readonly max: number }>
> = {
  bodyBytesMax: { min: 1_024, max: 2 ** 30 },
  requestsPerMinute: { min: 1, max: 2 ** 31 },
  projectRequestsPerMinute: { min: 1, max: 2 ** 31 },
  wrongKeysPerMinute: { min: 1, max: 2 ** 31 },
  connectionsMax: { min: 1, max: 2 ** 20 },
  connectionsPerAddressMax: { min: 1, max: 2 ** 20 },
  openMax: { min: 1, max: 2 ** 20 },
  requestMs: { min: 100, max: 600_000 },
  historyEventsMax: { min: 100, max: SEQ_MAX },
  historyBytesMax: { min: 1024 * 1024, max: 2 ** 40 },
  relayAnswersMs: { min: 1, max: 600_000 },
};

/** What a server tells whoever runs it. Never a secret. */
export interface ServerLog {
  info(message: string, about?: object): void;
  fault(message: string, error: unknown): void;
}

const NAMES: readonly (keyof ServerOptions)[] = [
  ...([
    'store',
    'host',
    'port',
    'auth',
    'admin',
    'maintenance',
    'limits',
    'trustProxy',
    'tls',
  ] as const),
  ...(['console', 'demo', 'grpc', 'sqs', 'push', 'links', 'retention', 'publicMetrics'] as const),
  ...(['quotas'] as const),
  ...(['log', 'logRequests', 'logIdle', 'clock', 'timers', 'random'] as const),
];

const PORTS = { min: 0, max: 65_535 };
const TEXT_BYTES_MAX = 1_024;
const PEM_BYTES_MAX = 2 ** 20;

/** Checks the options; the engine checks the store. */
export function readServerOptions(given: ServerOptions): ServerOptions {
  const options = readOptions('openServer', given, NAMES);
  const { host, port, auth, trustProxy, tls, demo, log, clock, timers, random } = options;
  if (host !== undefined) boundedText('openServer: host', host, TEXT_BYTES_MAX);
  if (port !== undefined) integerOption('openServer: port', port, PORTS);
  if (auth !== undefined && auth !== 'keys' && auth !== 'off') {
    throw new InvalidInput(`openServer: auth must be "keys" or "off"; got ${shown(auth)}.`);
  }
  if (trustProxy !== undefined && typeof trustProxy !== 'boolean') {
    boundedText('openServer: trustProxy', trustProxy, TEXT_BYTES_MAX);
  }
  const { maintenance, publicMetrics, console, logRequests, logIdle } = options;
  optionalBooleans('openServer', { maintenance, publicMetrics, console, logRequests, logIdle });
  if (demo !== undefined) requireMethods('openServer: demo', demo, ['read', 'play']);
  if (log !== undefined) requireMethods('openServer: log', log, ['info', 'fault']);
  if (clock !== undefined) requireMethods('openServer: clock', clock, ['wallMs', 'monotonicMs']);
  if (timers !== undefined) requireMethods('openServer: timers', timers, ['after', 'pause']);
  if (random !== undefined) requireMethods('openServer: random', random, ['next', 'uuid']);
  if (options.push !== undefined) pushSettingsOf(options.push);
  return {
    ...options,
    ...(options.admin === undefined ? {} : { admin: readAdmin(options.admin) }),
    ...(options.grpc === undefined ? {} : { grpc: readListener('grpc', options.grpc) }),
    ...(options.sqs === undefined ? {} : { sqs: readSqsOptions(options.sqs) }),
    ...(options.limits === undefined
      ? {}
      : { limits: readNumbers('limits', options.limits, HTTP_LIMIT_RANGES) }),
    ...(options.quotas === undefined
      ? {}
      : { quotas: readNumbers('quotas', options.quotas, QUOTAS) }),
    ...(tls === undefined ? {} : { tls: readTls(tls) }),
  };
}

type Admin = NonNullable<ServerOptions['admin']>;

function readAdmin(given: Admin): Admin {
  return given === 'off' || given === 'main' ? given : readListener('admin', given);
}

interface Listening {
  readonly host?: string;
  readonly port: number;
}

function readListener(name: string, given: Listening): Listening {
  const at = readOptions(`openServer: ${name}`, given, ['host', 'port']);
  integerOption(`openServer: ${name}.port`, at.port, PORTS);
  if (at.host !== undefined) boundedText(`openServer: ${name}.host`, at.host, TEXT_BYTES_MAX);
  return at;
}

type Ranges<Names extends string> = Readonly<
  Record<Names, { readonly min?: number; readonly max: number }>
>;

function readNumbers<Names extends string>(
  what: string,
  given: Readonly<Partial<Record<Names, number>>>,
  ranges: Ranges<Names>,
): Readonly<Partial<Record<Names, number>>> {
  const names = Object.keys(ranges) as Names[];
  const read = readOptions(`openServer: ${what}`, given, names);
  for (const name of names) {
    const { min = 0, max } = ranges[name];
    if (read[name] !== undefined) {
      integerOption(`openServer: ${what}.${name}`, read[name], { min, max });
    }
  }
  return read;
}

function readTls(given: NonNullable<ServerOptions['tls']>): NonNullable<ServerOptions['tls']> {
  const options = readOptions('openServer: tls', given, ['key', 'cert', 'minVersion']);
  const { key, cert, minVersion } = options;
  boundedText('openServer: tls.cert', cert, PEM_BYTES_MAX);
  // Never show it, whatever it is.
  if (typeof key !== 'string' || key === '') {
    throw new InvalidInput('openServer: tls.key must be the private key as PEM text.');
  }
  if (minVersion !== undefined && minVersion !== 'TLSv1.2' && minVersion !== 'TLSv1.3') {
    throw new InvalidInput(
      `openServer: tls.minVersion must be "TLSv1.2" or "TLSv1.3"; got ${shown(minVersion)}.`,
    );
  }
  return options;
}
