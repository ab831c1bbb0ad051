// The options of a process that talks to a coordinator, and the transport that they choose.

import {
  REPLY_TIMEOUT_MS,
  resultIn,
  type Transport,
  type TransportRequest,
} from '../protocol/messages/envelope.ts';
import { StreamCaller } from '../protocol/messages/stream-caller.ts';
import { workMessage } from '../protocol/messages/work-messages.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  headerText,
  integerOption,
  optionalBooleans,
  requireMethods,
  requireUrls,
} from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { type HttpTransportOptions, headersOf, httpTransport, urlsOf } from './http-transport.ts';
import type { Hello } from './remote-store.ts';

export interface ConnectionOptions {
  /**
   * The coordinator, such as `http://127.0.0.1:7433`, or several on the same store. Give this or
   * `transport`.
   */
  readonly url?: string | readonly string[];
  /** A transport other than HTTP. It is closed with what uses it. */
  readonly transport?: Transport;
  /** An access key. Not needed if authentication is off. */
  readonly key?: string;
  /** The project, for access keys of all projects and if authentication is off. */
  readonly project?: string;
  /**
   * True (default): one WebSocket for all messages, if the coordinator and the proxies in between
   * allow it. False: one HTTP request for each message.
   */
  readonly stream?: boolean;
}

type Given<Options> = { readonly [Name in keyof Options]?: Options[Name] | undefined };

const WORD_BYTES_MAX = 256;
const CONNECT_MS_MAX = 31 * 86_400_000;

/** Runs before anything is sent. `what` is the function that the user called. */
export function checkConnectionOptions(
  what: string,
  given: Given<ConnectionOptions> & { readonly connectMs?: number | undefined },
): void {
  const { url, transport, key, project, stream, connectMs } = given;
  if (transport === undefined) requireUrls(what, url);
  else if ((url ?? key ?? project) !== undefined) {
    throw new InvalidInput(
      `${what}: url, key and project are for HTTP. With a transport, pass them to the transport.`,
    );
  } else requireMethods(`${what}: transport`, transport, ['request', 'close']);
  if (key !== undefined) headerText(`${what}: key`, key, WORD_BYTES_MAX);
  if (project !== undefined) headerText(`${what}: project`, project, WORD_BYTES_MAX);
  optionalBooleans(what, { stream });
  if (connectMs !== undefined) {
    integerOption(`${what}: connectMs`, connectMs, { min: 0, max: CONNECT_MS_MAX });
  }
}

/** `onRefused` is called when there is no stream although the coordinator offers one. */
export function transportTo(
  { url, transport, key, project, stream = true }: Given<ConnectionOptions>,
  onRefused: (why: unknown) => void = () => undefined,
): Transport {
  const timers = systemTimers;
  const options = { url: url ?? [], timers, ...(key && { key }), ...(project && { project }) };
  return (
    transport ?? (stream ? streamTransport({ ...options, onRefused }) : httpTransport(options))
  );
}

// The worker protocol over a stream, if the coordinator offers one: one WebSocket for all messages,
// without a request for each. Large messages, and all of them while there is no stream, are requests.

interface StreamTransportOptions extends HttpTransportOptions {
  /** Called when there is no stream although the coordinator offers one. */
  readonly onRefused?: (why: unknown) => void;
}

export function streamTransport(options: StreamTransportOptions): Transport {
  return new StreamTransport(options);
}

class StreamTransport implements Transport {
  readonly name = 'stream';
  readonly claimsWait = true;
  readonly #rest: Transport;
  readonly #stream: StreamCaller;
  /** The coordinator has a stream. */
  #isOffered = false;

  constructor(options: StreamTransportOptions) {
    const { timers, onRefused } = options;
    this.#rest = httpTransport(options);
    this.#stream = new StreamCaller({
      urls: urlsOf(options),
      headers: headersOf(options),
      timers,
      keepsProcess: true,
      ...(onRefused && { onRefused }),
    });
  }

  async request<Result>(message: TransportRequest): Promise<Result> {
    if (message.kind === 'greet') return this.#greet<Result>(message);
    return this.#streamed<Result>(message) ?? this.#rest.request<Result>(message);
  }

  async close(): Promise<void> {
    this.#stream.close();
    await this.#rest.close();
  }

  /** A request, because only that shows why a coordinator refuses its caller. */
  async #greet<Result>(message: TransportRequest): Promise<Result> {
    const hello = await this.#rest.request<Hello>(message);
    this.#isOffered = hello.stream === true;
    if (this.#isOffered) await this.#stream.open();
    return hello as Result;
  }

  #streamed<Result>(message: TransportRequest): Promise<Result> | undefined {
    const { kind, body, signal, timeoutMs = REPLY_TIMEOUT_MS } = message;
    const { isRead, bytes } = workMessage(kind);
    if (!this.#isOffered || bytes !== undefined) return undefined;
    const reply = this.#stream.request({ kind, body, isRead, signal, timeoutMs });
    if (reply === undefined) return undefined;
    // A coordinator that does not reply to a heartbeat in time does not reply to other messages
    // either.
    if (kind === 'heartbeat') reply.catch(() => this.#stream.giveUp('no reply to a heartbeat'));
    return reply.then((each) => resultIn<Result>(message, each));
  }
}
