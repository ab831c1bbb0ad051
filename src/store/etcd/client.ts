// A thin layer over gRPC. It calls one member of the cluster, switches to the next one if there is
// no reply, and maps errors to the three faults that a store may throw.
//
// The client prefers the leader. Other members forward writes to it, which takes longer, and if the
// leader dies they wait in vain. A client that talks to the leader notices its end at once.

import type { ChannelCredentials, ChannelOptions, Client, ServiceError } from '@grpc/grpc-js';
import { systemClock } from '../../support/clock.ts';
import { Fault, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import { systemRandom } from '../../support/random.ts';
import { type GrpcMethod, type Header, STATUS } from './messages.ts';

export type Driver = Pick<typeof import('@grpc/grpc-js'), 'Client' | 'Metadata' | 'credentials'>;

export interface ClientConfig {
  /** `host:port` of each member. */
  readonly targets: readonly string[];
  readonly credentials: ChannelCredentials;
  readonly callTimeoutMs: number;
}

/** A bidirectional call, until one side ends it. */
export interface EtcdStream<Request> {
  send(request: Request): void;
  cancel(): void;
}

export interface StreamEnds<Response> {
  message(response: Response): void;
  /** Called once, for any reason. */
  ended(): void;
}

/** Pings detect a silent connection. A lost one is soon retried. */
const CHANNEL: ChannelOptions = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 500,
  'grpc.max_receive_message_length': -1,
  // The fault depends on whether a request has left, so gRPC must not retry by itself.
  'grpc.enable_retries': 0,
};

export class EtcdClient {
  /** Called with the header of every reply, which contains the revision. */
  onAnswer: (header: Header) => void = () => undefined;
  readonly #driver: Driver;
  readonly #config: ClientConfig;
  readonly #channels: Map<string, Client> = new Map();
  readonly #streams: Set<() => void> = new Set();
  #current: number;
  /** The raft term for which the leader was last searched. */
  #term = 0;
  #closed = false;

  constructor(driver: Driver, config: ClientConfig) {
    this.#driver = driver;
    this.#config = config;
    this.#current = Math.floor(systemRandom.next() * config.targets.length);
  }

  /** A call that changes nothing. Without a reply, it repeats at the next member. */
  read<Request extends object, Response extends { readonly header?: Header }>(
    method: GrpcMethod<Request, Response>,
    request: Request,
  ): Promise<Response> {
    return this.#call(method, request, true);
  }

  /** A call that repeats only if it was certainly not done. */
  write<Request extends object, Response extends { readonly header?: Header }>(
    method: GrpcMethod<Request, Response>,
    request: Request,
  ): Promise<Response> {
    return this.#call(method, request, false);
  }

  stream<Request extends object, Response extends { readonly header?: Header }>(
    method: GrpcMethod<Request, Response>,
    ends: StreamEnds<Response>,
  ): EtcdStream<Request> {
    const from = this.#current;
    const call = this.#channel(from).makeBidiStreamRequest<Request, Response>(
      method.path,
      (message) => method.encode(message),
      (bytes) => method.decode(bytes),
      this.#metadata(),
    );
    const cancel = (): void => call.cancel();
    this.#streams.add(cancel);
    call.on('data', (response: Response) => {
      this.#onHeader(response.header);
      ends.message(response);
    });
    call.on('error', () => this.#moveOn(from));
    // `status` comes once, after all other events. `close` may not come while this side could still
    // write.
    call.on('status', () => {
      this.#streams.delete(cancel);
      ends.ended();
    });
    return { send: (request) => void call.write(request), cancel };
  }

  /** Fails all calls that wait for a reply. */
  close(): void {
    this.#closed = true;
    for (const cancel of this.#streams) cancel();
    for (const channel of this.#channels.values()) channel.close();
    this.#channels.clear();
  }

  async #call<Request extends object, Response extends { readonly header?: Header }>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    mayRepeat: boolean,
  ): Promise<Response> {
    let last: unknown = 'no endpoint is configured';
    for (let tries = 0; tries < this.#config.targets.length; tries += 1) {
      const from = this.#current;
      try {
        const response = await this.#send(from, method, request);
        this.#onHeader(response.header);
        return response;
      } catch (cause) {
        const fault = cause instanceof Fault ? cause : etcdFault(cause as ServiceError);
        if (fault !== undefined && !(fault instanceof OutcomeUnknown)) throw fault;
        this.#moveOn(from);
        if (fault !== undefined && !mayRepeat) throw fault;
        last = cause;
      }
    }
    const what = last instanceof Error ? last.message : String(last);
    throw new StoreUnavailable(
      `etcd cannot be reached (${what}). Nothing was changed. Check the endpoints, and that more than half of the members are up.`,
      { cause: last },
    );
  }

  #send<Request extends object, Response>(
    from: number,
    method: GrpcMethod<Request, Response>,
    request: Request,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      this.#channel(from).makeUnaryRequest<Request, Response>(
        method.path,
        (message) => method.encode(message),
        (bytes) => method.decode(bytes),
        request,
        this.#metadata(),
        { deadline: systemClock.wallMs() + this.#config.callTimeoutMs },
        (error, response) => {
          if (error === null && response !== undefined) resolve(response);
          else reject(error ?? new Error('etcd sent no response'));
        },
      );
    });
  }

  /** Makes a member without a leader fail at once, instead of waiting until it has one. */
  #metadata(): InstanceType<Driver['Metadata']> {
    const metadata = new this.#driver.Metadata();
    metadata.set('hasleader', 'true');
    return metadata;
  }

  #channel(index: number): Client {
    if (this.#closed)
      throw new StoreUnavailable('The etcd store is closed. Nothing was changed. Open it again.');
    const target = this.#config.targets[index] ?? '';
    let channel = this.#channels.get(target);
    if (channel === undefined) {
      channel = new this.#driver.Client(target, this.#config.credentials, CHANNEL);
      this.#channels.set(target, channel);
    }
    return channel;
  }

  /** Does nothing if another call already switched. */
  #moveOn(from: number): void {
    if (this.#current === from) this.#current = (from + 1) % this.#config.targets.length;
  }

  /** Every raft term has its own leader, so a new term starts a search. */
  #onHeader(header: Header | undefined): void {
    if (header === undefined) return;
    this.onAnswer(header);
    if (header.raftTerm === this.#term || this.#config.targets.length === 1) return;
    this.#term = header.raftTerm;
    for (const index of this.#config.targets.keys()) {
      this.#isLeader(index).then(
        (isLeader) => {
          if (isLeader) this.#current = index;
        },
        () => undefined,
      );
    }
  }

  async #isLeader(index: number): Promise<boolean> {
    const { header, leader } = await this.#send(index, STATUS, {});
    return header?.memberId === leader && header.raftTerm === this.#term;
  }
}

// The gRPC codes that matter here.
const CANCELLED = 1;
const UNKNOWN = 2;
const DEADLINE_EXCEEDED = 4;
const RESOURCE_EXHAUSTED = 8;
const ABORTED = 10;
const INTERNAL = 13;
const UNAVAILABLE = 14;
const DATA_LOSS = 15;

/** Returns undefined if the request was certainly not done and may go to another member. */
export function etcdFault(error: Partial<ServiceError>): Fault | undefined {
  const { code = UNKNOWN, details = error.message ?? '' } = error;
  if (isNeverDone(code, details)) return undefined;
  if (code === RESOURCE_EXHAUSTED && /^(etcdserver|mvcc):/.test(details)) {
    return new StoreUnavailable(`etcd refused for now: ${details}. Nothing was changed.`, {
      cause: error,
    });
  }
  if (LEAVES_OPEN.has(code)) {
    return new OutcomeUnknown(
      `etcd did not respond (${details}). The change may or may not have been made.`,
      { cause: error },
    );
  }
  const hint = /user name is empty|permission denied/.test(details)
    ? ' With roles, etcd identifies this store by its client certificate: set tls.cert and tls.key, and grant its user read and write on the prefix.'
    : '';
  return new Fault(
    'store-rejected',
    `etcd rejected a request: ${details}. Nothing was changed.${hint}`,
    { cause: error },
  );
}

/** After these codes, it is unknown if a request that had left was done. */
const LEAVES_OPEN: ReadonlySet<number> = new Set([
  CANCELLED,
  UNKNOWN,
  DEADLINE_EXCEEDED,
  RESOURCE_EXHAUSTED,
  ABORTED,
  INTERNAL,
  UNAVAILABLE,
  DATA_LOSS,
]);

/** The request did not leave this process, or the member refused it before proposing anything. */
function isNeverDone(code: number, details: string): boolean {
  if (code === DEADLINE_EXCEEDED) return /LB pick|name resolution/i.test(details);
  if (code !== UNAVAILABLE) return false;
  return /no connection established|failed to connect|name resolution|etcdserver: no leader/i.test(
    details,
  );
}

/** The requested revision was compacted. */
export function isCompacted(fault: unknown): boolean {
  return fault instanceof Fault && fault.message.includes('has been compacted');
}
