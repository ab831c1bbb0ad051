// Sends messages over a stream while there is one. It opens the stream again when it breaks, to the
// next of several coordinators. Without a stream, its owner sends them as requests.

import { type Clock, systemClock } from '../../support/clock.ts';
import { backgroundTimers, type Timers } from '../../support/timer.ts';
import { envelopeOf, type ReplyEnvelope } from './envelope.ts';
import { type AwaitedMessage, Pending } from './pending.ts';
import { StreamConnection } from './stream-connection.ts';

export interface StreamCallerOptions {
  /** One coordinator, or several on the same store. */
  readonly urls: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly timers: Timers;
  readonly clock?: Clock;
  /** Default: timers that do not keep the process alive. */
  readonly idleTimers?: Pick<Timers, 'pause'>;
  /** Called when a stream cannot be opened, for the first time in a row. */
  readonly onRefused?: (why: unknown) => void;
  /** True if an idle stream stays open and keeps the process alive. */
  readonly keepsProcess: boolean;
}

export interface StreamedMessage extends AwaitedMessage {
  readonly body?: object | undefined;
}

/** A stream without a message for this long is closed, unless it keeps the process alive. */
const IDLE_MS = 10_000;
const AGAIN_MS_MIN = 100;
const AGAIN_MS_MAX = 30_000;

export class StreamCaller {
  readonly #options: StreamCallerOptions;
  readonly #clock: Clock;
  readonly #pending: Pending;
  #connection: StreamConnection | undefined;
  #opening: Promise<void> | undefined;
  #sent = 0;
  #nth = 0;
  #failures = 0;
  #againAtMs = 0;
  #isClosed = false;

  constructor(options: StreamCallerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#pending = new Pending(options.timers);
  }

  /** Undefined if the message does not fit, or there is no stream now; it then opens one. */
  request(message: StreamedMessage): Promise<ReplyEnvelope> | undefined {
    const connection = this.#connection;
    if (connection === undefined) {
      void this.open();
      return undefined;
    }
    this.#sent += 1;
    const id = String(this.#sent);
    const { kind, body } = message;
    const envelope = JSON.stringify(envelopeOf({ kind, ...(body && { body }) }, id));
    if (!StreamConnection.fits(envelope)) return undefined;
    if (!this.#options.keepsProcess) connection.keepProcess(true);
    const reply = this.#pending.wait(message, id, () => connection.send(envelope));
    return this.#options.keepsProcess ? reply : reply.finally(() => this.#rest(connection));
  }

  /** Opens a stream, unless the last attempt was just now. Never rejects. */
  open(): Promise<void> {
    const isTooSoon = this.#clock.monotonicMs() < this.#againAtMs;
    if (this.#isClosed || this.#connection !== undefined || isTooSoon) return Promise.resolve();
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Gives up a silent coordinator. Messages to it may have had their effect. */
  giveUp(why: string): void {
    this.#connection?.cut(why);
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.close();
    this.#connection = undefined;
    this.#pending.loseAll('the stream was closed');
  }

  async #open(): Promise<void> {
    const { urls, headers, timers, onRefused } = this.#options;
    const url = urls[this.#nth % urls.length] ?? '';
    try {
      const connection = await StreamConnection.open({
        ...{ url, headers, timers },
        onReply: (reply) => this.#pending.settle(reply),
        onBroken: (why) => this.#broke(url, why),
      });
      this.#failures = 0;
      if (this.#isClosed) return connection.close();
      this.#connection = connection;
      this.#rest(connection);
      if (!this.#options.keepsProcess) void this.#closeWhenIdle(connection);
    } catch (refusal) {
      if (this.#failures === 0) onRefused?.(refusal);
      this.#moveOn();
    }
  }

  /** Otherwise each client that a program forgets would leave a connection. */
  async #closeWhenIdle(connection: StreamConnection): Promise<void> {
    const { pause } = this.#options.idleTimers ?? backgroundTimers;
    for (let sent = -1; sent !== this.#sent || this.#pending.size > 0; ) {
      sent = this.#sent;
      await pause(IDLE_MS);
      if (this.#connection !== connection) return;
    }
    this.#connection = undefined;
    connection.close();
  }

  #broke(url: string, why: string): void {
    this.#connection = undefined;
    this.#moveOn();
    this.#pending.loseAll(`the connection to ${url} broke (${why})`);
    void this.open();
  }

  #moveOn(): void {
    this.#nth += 1;
    const pauseMs = Math.min(AGAIN_MS_MAX, AGAIN_MS_MIN * 2 ** this.#failures);
    this.#failures += 1;
    this.#againAtMs = this.#clock.monotonicMs() + pauseMs;
  }

  #rest(connection: StreamConnection): void {
    if (!this.#options.keepsProcess && this.#pending.size === 0) connection.keepProcess(false);
  }
}
