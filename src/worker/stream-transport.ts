// The worker protocol over a stream, if the coordinator offers one: one WebSocket for all messages,
// without a request for each. Large messages, and all of them while there is no stream, are requests.

import {
  REPLY_TIMEOUT_MS,
  resultIn,
  type Transport,
  type TransportRequest,
} from '../protocol/messages/envelope.ts';
import { StreamCaller } from '../protocol/messages/stream-caller.ts';
import { workMessage } from '../protocol/messages/work-messages.ts';
import { type HttpTransportOptions, headersOf, httpTransport, urlsOf } from './http-transport.ts';
import type { Hello } from './remote-store.ts';

export interface StreamTransportOptions extends HttpTransportOptions {
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
    // A coordinator that does not answer a heartbeat in time answers nothing else either.
    if (kind === 'heartbeat') reply.catch(() => this.#stream.giveUp('no reply to a heartbeat'));
    return reply.then((each) => resultIn<Result>(message, each));
  }
}
