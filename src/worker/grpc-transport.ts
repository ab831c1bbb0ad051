// `grpcTransport`: the worker protocol over gRPC. It uses one stream and reopens it when it breaks.
// If a proxy blocks streams, it can send message by message.

import type { Client, ClientDuplexStream, Metadata, ServiceError } from '@grpc/grpc-js';
import {
  envelopeOf,
  REPLY_TIMEOUT_MS,
  type ReplyEnvelope,
  resultIn,
  type Transport,
  type TransportRequest,
} from '../protocol/messages/envelope.ts';
import { type Frame, WORK_SERVICE } from '../protocol/messages/grpc-service.ts';
import { lost, Pending } from '../protocol/messages/pending.ts';
import { workMessage } from '../protocol/messages/work-messages.ts';
import { systemClock } from '../support/clock.ts';
import { Fault, InvalidInput, StoreUnavailable } from '../support/fault.ts';
import { loadPackage } from '../support/load-package.ts';
import { boundedText, integerOption, readOptions, shown, wordsIn } from '../support/options.ts';
import { systemRandom } from '../support/random.ts';
import { systemTimers } from '../support/timer.ts';

type Driver = typeof import('@grpc/grpc-js');

/** Options of `grpcTransport`. */
export interface GrpcTransportOptions {
  /** Host and port of the coordinator's gRPC listener, such as `127.0.0.1:7435`. */
  readonly address: string;
  /** An access key with role `work`. Not needed if authentication is off. */
  readonly key?: string;
  /** The project, for access keys of all projects and if authentication is off. */
  readonly project?: string;
  /**
   * `stream` (default): one stream for all messages. `unary`: one call per message, without
   * wakeups.
   */
  readonly mode?: 'stream' | 'unary';
  /**
   * The PEM certificate of the coordinator's CA, or `system` for the machine's. Without it, the
   * connection is not encrypted.
   */
  readonly ca?: string;
  /** The largest message in bytes. Default 33,554,432, as in the coordinator. */
  readonly bytesMax?: number;
}

const NAMES: readonly (keyof GrpcTransportOptions)[] = wordsIn(
  'address key project mode ca bytesMax',
);
const TEXT_MAX = 1_024;
const PEM_MAX = 2 ** 20;
const BYTES_MAX = 32 * 1024 * 1024;
const REOPEN_MS = 500;
/**
 * By default, a client waits up to two minutes before it connects again, and uses a silent
 * connection for as long as the system keeps it.
 */
const CONNECTION = {
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': REOPEN_MS,
  'grpc.keepalive_time_ms': 5_000,
  'grpc.keepalive_timeout_ms': 5_000,
} as const;

/**
 * Opens a gRPC transport for a worker. Needs the package `@grpc/grpc-js`.
 *
 * Throws `InvalidInput` for invalid options. A broken stream is opened again.
 *
 * @example
 * import { openWorker } from 'holdfast/worker';
 *
 * const transport = await grpcTransport({ address: '127.0.0.1:7435' });
 * const worker = await openWorker({ transport, pipelines: [order] });
 */
export async function grpcTransport(given: GrpcTransportOptions): Promise<Transport> {
  const options = checked(given);
  const driver = await loadPackage('gRPC', '@grpc/grpc-js', () => import('@grpc/grpc-js'));
  const { address, ca, bytesMax = BYTES_MAX } = options;
  const credentials =
    ca === undefined
      ? driver.credentials.createInsecure()
      : driver.credentials.createSsl(ca === 'system' ? null : Buffer.from(ca));
  const client = new driver.Client(address, credentials, {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    ...CONNECTION,
  });
  const parts = { driver, client, metadata: metadataOf(driver, options), bytesMax, address };
  return options.mode === 'unary' ? unary(parts) : new StreamTransport(parts);
}

interface Parts {
  readonly driver: Driver;
  readonly client: Client;
  readonly metadata: Metadata;
  readonly bytesMax: number;
  readonly address: string;
}

function unary({ driver, client, metadata, bytesMax }: Parts): Transport {
  const { path, requestSerialize, responseDeserialize } = WORK_SERVICE.Call;
  return {
    name: 'gRPC, unary',
    request: <Result>(message: TransportRequest) =>
      new Promise<Result>((resolve, reject) => {
        const envelope = sized(message, systemRandom.uuid(), bytesMax);
        const options = {
          deadline: systemClock.wallMs() + (message.timeoutMs ?? REPLY_TIMEOUT_MS),
        };
        const call = client.makeUnaryRequest<object, ReplyEnvelope>(
          path,
          requestSerialize,
          responseDeserialize,
          envelope,
          metadata,
          options,
          (error, reply) => {
            if (error !== null) return reject(faultFrom(driver, message, error));
            try {
              return resolve(resultIn<Result>(message, reply as ReplyEnvelope));
            } catch (fault) {
              return reject(fault);
            }
          },
        );
        message.signal?.addEventListener('abort', () => call.cancel(), { once: true });
      }),
    close: async () => client.close(),
  };
}

type Stream = ClientDuplexStream<object, Frame>;

class StreamTransport implements Transport {
  readonly name = 'gRPC';
  readonly #parts: Parts;
  readonly #pending: Pending = new Pending(systemTimers);
  readonly #listeners: Set<() => void> = new Set();
  #stream: Stream | undefined;
  #isClosed = false;
  #cancelReopen: (() => void) | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async request<Result>(message: TransportRequest): Promise<Result> {
    const id = systemRandom.uuid();
    const envelope = sized(message, id, this.#parts.bytesMax);
    const sent = { ...message, isRead: workMessage(message.kind).isRead };
    return resultIn<Result>(
      message,
      await this.#pending.wait(sent, id, () => this.#open().write(envelope)),
    );
  }

  onWakeup(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#open();
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelReopen?.();
    this.#stream?.end();
    this.#pending.loseAll('the transport was closed');
    this.#parts.client.close();
  }

  #open(): Stream {
    if (this.#isClosed)
      throw new StoreUnavailable('This transport is closed. Nothing was sent. Open another one.');
    if (this.#stream !== undefined) return this.#stream;
    const { path, requestSerialize, responseDeserialize } = WORK_SERVICE.Stream;
    const { client, metadata } = this.#parts;
    const stream = client.makeBidiStreamRequest<object, Frame>(
      path,
      requestSerialize,
      responseDeserialize,
      metadata,
    );
    this.#stream = stream;
    stream.on('data', (frame: Frame) => this.#onFrame(frame));
    stream.on('error', (error: ServiceError) => this.#broke(stream, error));
    stream.on('end', () => this.#broke(stream, undefined));
    return stream;
  }

  #onFrame({ reply, wakeup }: Frame): void {
    if (reply !== undefined) this.#pending.settle(reply);
    if (wakeup) for (const each of [...this.#listeners]) each();
  }

  /**
   * Requests in progress may have been performed. The next message, or a listener, opens another
   * stream.
   */
  #broke(stream: Stream, error: ServiceError | undefined): void {
    if (this.#stream !== stream) return;
    this.#stream = undefined;
    const { address } = this.#parts;
    const why = error?.details ?? 'the stream has ended';
    this.#pending.loseAll(`the connection to ${address} broke (${why})`, error);
    if (this.#listeners.size === 0 || this.#isClosed) return;
    this.#cancelReopen ??= systemTimers.after(REOPEN_MS, () => {
      this.#cancelReopen = undefined;
      if (this.#isClosed) return;
      this.#open();
      // A wakeup may have been lost meanwhile.
      this.#onFrame({ wakeup: true });
    });
  }
}

/** A message above the limit would end the stream, and with it all other requests (M-7). */
function sized(message: TransportRequest, id: string, bytesMax: number): object {
  const envelope = envelopeOf(message, id);
  const size = (message.bytes?.length ?? 0) + (JSON.stringify(message.body)?.length ?? 0);
  if (size <= bytesMax) return envelope;
  throw new Fault(
    'payload-too-large',
    `The message ${message.kind} has ${size} bytes, and this transport sends at most ${bytesMax} (bytesMax). Nothing was sent. Store less in one step, or raise bytesMax on both sides.`,
  );
}

/** If no connection was made, nothing was sent. */
function faultFrom(driver: Driver, message: TransportRequest, error: ServiceError): Fault {
  const { UNAVAILABLE } = driver.status;
  const isUnsent = error.code === UNAVAILABLE && /ECONNREFUSED|ENOTFOUND/.test(error.details);
  const { isRead } = workMessage(message.kind);
  if (!isUnsent) return lost({ ...message, isRead }, error.details, error);
  return new StoreUnavailable(
    `The message ${message.kind} was not sent: ${error.details}. Check the address of the coordinator.`,
    { cause: error },
  );
}

function metadataOf(driver: Driver, { key, project }: GrpcTransportOptions): Metadata {
  const metadata = new driver.Metadata();
  if (key !== undefined) metadata.set('authorization', `Bearer ${key}`);
  if (project !== undefined) metadata.set('holdfast-project', project);
  return metadata;
}

function checked(given: GrpcTransportOptions): GrpcTransportOptions {
  const options = readOptions('grpcTransport', given, NAMES);
  const { address, key, project, mode, ca, bytesMax } = options;
  boundedText('grpcTransport: address', address, TEXT_MAX);
  if (!/^[^\s/]+:\d{1,5}$/.test(address)) {
    throw new InvalidInput(
      `grpcTransport: address must be host:port, such as 127.0.0.1:7435; got ${shown(address)}.`,
    );
  }
  if (key !== undefined) boundedText('grpcTransport: key', key, TEXT_MAX);
  if (project !== undefined) boundedText('grpcTransport: project', project, TEXT_MAX);
  if (ca !== undefined) boundedText('grpcTransport: ca', ca, PEM_MAX);
  if (bytesMax !== undefined) {
    integerOption('grpcTransport: bytesMax', bytesMax, { min: 1_024, max: 2 ** 30 });
  }
  if (mode === undefined || mode === 'stream' || mode === 'unary') return options;
  throw new InvalidInput(`grpcTransport: mode must be "stream" or "unary"; got ${shown(mode)}.`);
}
