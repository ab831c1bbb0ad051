// The options of a coordinator in code. `holdfast serve` reads the same from a file, the
// environment and flags (config.ts).

import { SEQ_MAX } from '../execution/history.ts';
import { QUOTAS, type Quotas } from '../features/access/model.ts';
import type { LinkOptions } from '../features/awaits/links-api.ts';
import { type ChannelOptions, channelSettingsOf } from '../features/channels/signing-api.ts';
import type { RetentionOptions } from '../features/retention/api.ts';
import { type PushOptions, pushSettingsOf } from '../protocol/push/push-options.ts';
import type { Demo } from '../protocol/rest/route.ts';
import { readSqsOptions, type SqsOptions } from '../protocol/sqs/sqs-options.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import type { Clock } from '../support/clock.ts';
import { type Code, entryOf } from '../support/codes/catalogue.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  readOptions,
  requireMethods,
  shown,
  wordsIn,
} from '../support/options.ts';
import type { Random } from '../support/random.ts';
import type { Timers } from '../support/timer.ts';

/** Options of `openServer`. */
export interface ServerOptions {
  /** An open store that keeps executions. You close it. */
  readonly store: CoordinatorStore;
  /** The address to listen on. Default 127.0.0.1. */
  readonly host?: string;
  /** The port; 0 takes any free one. Default 7433. */
  readonly port?: number;
  /**
   * `keys` (default): requests need an access key. `off`: they do not; only on a loopback address.
   */
  readonly auth?: 'keys' | 'off';
  /**
   * Where projects and access keys are managed: `off` (default), `main` on the same listener, or a
   * listener of its own with `host` (default 127.0.0.1) and `port`.
   */
  readonly admin?: 'off' | 'main' | { readonly host?: string; readonly port: number };
  /** True: serve the web console at `/console`. Default true. */
  readonly console?: boolean;
  /** True: serve the documentation at `/docs`, as `holdfast dev` does. Default false. */
  readonly docs?: boolean;
  /**
   * A gRPC listener for workers: `host` (default 127.0.0.1) and `port`. Needs `@grpc/grpc-js`. By
   * default there is none.
   */
  readonly grpc?: { readonly host?: string; readonly port: number };
  /** SQS queues for workers. Needs `@aws-sdk/client-sqs`. By default there are none. */
  readonly sqs?: SqsOptions;
  /** Push endpoints that the coordinator calls with executions. By default there are none. */
  readonly push?: PushOptions;
  /** True: fire schedules, deadlines and awaits, and run bulk jobs. Default true. */
  readonly maintenance?: boolean;
  /** Keys that sign answer links. By default links cannot be made. */
  readonly links?: LinkOptions;
  /** Webhooks and queues that announce what happens. By default there are none. */
  readonly channels?: ChannelOptions;
  /**
   * How long ended executions are kept and where they are archived. By default they are kept for
   * ever. Use the same in all coordinators of a store.
   */
  readonly retention?: Omit<RetentionOptions, 'decode'>;
  /** Limits of requests and connections. */
  readonly limits?: Partial<HttpLimits>;
  /**
   * Limits of each project, unless its own settings differ. Use the same in all coordinators of a
   * store.
   */
  readonly quotas?: Partial<Quotas>;
  /** True: serve `/metrics` without an access key. Default false. */
  readonly publicMetrics?: boolean;
  /**
   * Addresses of proxies whose `X-Forwarded-*` headers the coordinator trusts. True trusts every
   * sender; use it only for a port that only proxies can reach. Default false.
   */
  readonly trustProxy?: boolean | string;
  /** Serve HTTPS with this `key` and `cert` in PEM. `minVersion` defaults to TLSv1.2. */
  readonly tls?: {
    readonly key: string;
    readonly cert: string;
    readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  };
  /** The demo of `holdfast dev`. */
  readonly demo?: Demo;
  /** Gets messages for operators, never a secret. By default nothing is logged. */
  readonly log?: ServerLog;
  /** True: log each request. Default false. */
  readonly logRequests?: boolean;
  /**
   * True: with `logRequests`, also log heartbeats, and long polls and claims without a result.
   * Default false.
   */
  readonly logIdle?: boolean;
  /** The clock. Default: the system's. Replace it in tests. */
  readonly clock?: Clock;
  /** The timers. Default: those of Node. Replace them in tests. */
  readonly timers?: Timers;
  /** The random source. Default: that of Node. Replace it in tests. */
  readonly random?: Random;
}

/** Limits of a coordinator's requests and connections. */
export interface HttpLimits {
  /** The largest request body in bytes. Default 33,554,432. */
  readonly bodyBytesMax: number;
  /**
   * Names and values in a JSON body, and in a stored value that the coordinator decodes for a
   * response. Default 500,000.
   */
  readonly jsonValuesMax: number;
  /** Requests per minute of one access key, or of one address without a key. Default 600,000. */
  readonly requestsPerMinute: number;
  /** Requests per minute of all access keys of a project. Default 1,200,000. */
  readonly projectRequestsPerMinute: number;
  /**
   * Wrong access keys per minute of one address or IPv6 network. Further ones get 429 until the
   * minute is over. Default 100.
   */
  readonly wrongKeysPerMinute: number;
  /** Open connections. Further ones are closed. Default 20,000. */
  readonly connectionsMax: number;
  /**
   * Open connections of one address or IPv6 network. Raise it if all clients come through one
   * proxy. Default 5,000.
   */
  readonly connectionsPerAddressMax: number;
  /**
   * Long polls and streams that are open at once. One access key gets a quarter of them. Default
   * 10,000.
   */
  readonly openMax: number;
  /**
   * Milliseconds that a request may take to arrive, or a client may pause while it reads a
   * response. Default 30,000.
   */
  readonly requestMs: number;
  /** History events of one execution that remote workers may write. Default 100,000. */
  readonly historyEventsMax: number;
  /** Bytes of history of one execution that remote workers may write. Default 134,217,728. */
  readonly historyBytesMax: number;
  /**
   * Milliseconds that a worker has to check an answer to a question that only the workers' code
   * declares. Default 10,000.
   */
  readonly relayAnswersMs: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = Object.freeze({
  bodyBytesMax: 32 * 1024 * 1024,
  jsonValuesMax: 500_000,
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
  // Bodies of up to 64 KiB, which cannot have more, are not counted.
  jsonValuesMax: { min: 65_536, max: 2 ** 30 },
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

/**
 * Gets the messages of a coordinator. They never contain a secret.
 *
 * @example
 * const log: ServerLog = {
 *   info: (message, about) => console.log(message, about ?? ''),
 *   fault: (message, error) => console.error(message, error),
 * };
 */
export interface ServerLog {
  /** Called with a message and its details. */
  info(message: string, about?: object): void;
  /** Called with a message and the error. */
  /** `about.code` is stable and listed in the error reference. */
  fault(message: string, error: unknown, about?: object): void;
}

/** Logs a fault by its code. */
export function faultLogOf(log: ServerLog): (code: Code, error: unknown) => void {
  return (code, error) => log.fault(entryOf(code).title, error, { code });
}

const NAMES: readonly (keyof ServerOptions)[] = wordsIn(
  'store host port auth admin maintenance limits trustProxy tls console docs demo grpc sqs push links channels retention publicMetrics quotas log logRequests logIdle clock timers random',
);

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
  const { maintenance, publicMetrics, console, docs, logRequests, logIdle } = options;
  const switches = { maintenance, publicMetrics, console, docs, logRequests, logIdle };
  optionalBooleans('openServer', switches);
  if (demo !== undefined) requireMethods('openServer: demo', demo, ['read', 'play']);
  if (log !== undefined) requireMethods('openServer: log', log, ['info', 'fault']);
  if (clock !== undefined) requireMethods('openServer: clock', clock, ['wallMs', 'monotonicMs']);
  if (timers !== undefined)
    requireMethods('openServer: timers', timers, ['after', 'pause', 'soon']);
  if (random !== undefined) requireMethods('openServer: random', random, ['next', 'uuid']);
  if (options.push !== undefined) pushSettingsOf(options.push);
  if (options.channels !== undefined) channelSettingsOf(options.channels);
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
