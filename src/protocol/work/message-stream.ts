// One stream of a worker or client: frames of envelopes, and frames of their replies, in any order.
// Its caller was admitted when it opened, and the stream ends when that caller loses its access. A
// peer that stops reading is dropped.

import { requireFewValues } from '../../support/json-size.ts';
import { weightOfBytes, weightOfParsing } from '../../support/turns.ts';
import type { ReplyEnvelope } from '../messages/envelope.ts';
import { envelopeFromJson, toJson } from '../messages/queued.ts';
import { FRAME_MESSAGES_MAX } from '../messages/stream-connection.ts';
import { type Caller, type Coordinator, projectShare } from '../rest/route.ts';
import { type Dispatch, messageKind, refusedReply, roomFor } from './dispatch.ts';

/** The connection below a stream. */
export interface StreamWire {
  /** False if the peer must read before more is sent. */
  send(frame: string): boolean;
  pause(): void;
  resume(): void;
  /** Ends the connection after everything that was sent. */
  end(status: number, reason: string): void;
  /** Ends it at once. */
  cut(): void;
}

export interface MessageStreamParts {
  readonly coordinator: Coordinator;
  readonly dispatch: Dispatch;
  readonly caller: Caller;
  /** Counts one message. Throws above the limit of its caller. */
  readonly count: () => Promise<void>;
  /** Throws if too many are open. Returns the function that releases. */
  readonly hold: (caller: Caller) => () => void;
  /** The room of a large frame: resolves when it may arrive, with the function that frees it. */
  readonly room: () => Promise<() => void>;
  readonly isLong: (kind: string, body: unknown) => boolean;
  readonly answered: (kind: string, status: number, ms: number) => void;
  /** The longest time in which the peer reads nothing, or in which a large frame arrives. */
  readonly slowMs: number;
  readonly stopping: AbortSignal;
}

/** The most messages of one stream in progress at once, without those that wait for something. */
const UNDER_WAY_MAX = 256;
/** Status codes of WebSocket (RFC 6455). */
export const STREAM_ENDS = { stopping: 1001, invalid: 1007, denied: 1008, tooLarge: 1009 } as const;

const OK = 200;

export class MessageStream {
  readonly #parts: MessageStreamParts;
  readonly #wire: StreamWire;
  readonly #gone: AbortController = new AbortController();
  readonly #signal: AbortSignal;
  #replies: string[] = [];
  /** The functions that free the room of replies, until the peer has read them. */
  readonly #unread: (() => void)[] = [];
  #isPlanned = false;
  /** Of the large frame that arrives. */
  #room: Promise<() => void> | undefined;
  #cancelLate: (() => void) | undefined;
  /** Large frames that wait for their room, or for their share before they are parsed. */
  #unparsed = 0;
  #underWay = 0;
  #waiting = 0;
  #isFull = false;
  #cancelSlow: (() => void) | undefined;

  constructor(parts: MessageStreamParts, wire: StreamWire) {
    this.#parts = parts;
    this.#wire = wire;
    this.#signal = AbortSignal.any([this.#gone.signal, parts.stopping]);
    parts.stopping.addEventListener('abort', () => this.#endWhenDone(), {
      signal: this.#gone.signal,
    });
  }

  /** A part of a large frame has arrived. The rest waits for room, as a large body does. */
  async arrive(): Promise<void> {
    const { room, coordinator, slowMs } = this.#parts;
    if (this.#room !== undefined || this.#gone.signal.aborted) return;
    this.#room = room();
    await this.#waited(this.#room);
    if (this.#room === undefined) return;
    this.#cancelLate = coordinator.timers.after(slowMs, () => this.#wire.cut());
  }

  /** A frame has arrived. It keeps its room until its messages have replies. */
  async take(frame: string): Promise<void> {
    const free = this.#takeRoom();
    try {
      await this.#handle(frame);
    } finally {
      free();
    }
  }

  /** Returns the function that frees the room of the frame that has arrived. */
  #takeRoom(): () => void {
    const room = this.#room;
    this.#room = undefined;
    this.#cancelLate?.();
    this.#cancelLate = undefined;
    return () => void room?.then((free) => free());
  }

  /** Reads nothing meanwhile. */
  async #waited(turn: Promise<unknown>): Promise<void> {
    this.#unparsed += 1;
    this.#pace();
    await turn;
    this.#unparsed -= 1;
    this.#pace();
  }

  async #handle(frame: string): Promise<void> {
    const { coordinator, caller } = this.#parts;
    const weight = weightOfParsing(frame.length);
    if (weight > 0) {
      await this.#waited(coordinator.shares.begin(projectShare(caller.project), weight));
    }
    try {
      requireFewValues('The frame', [frame], coordinator.jsonValuesMax);
    } catch {
      return this.end(STREAM_ENDS.tooLarge, TOO_LARGE);
    }
    const envelopes = envelopesIn(frame);
    if (envelopes === undefined) return this.end(STREAM_ENDS.invalid, NOT_A_FRAME);
    const length = frame.length / envelopes.length;
    // Messages that wait for something are small.
    await Promise.all(
      envelopes.map((each) => {
        const envelope = envelopeFromJson(each);
        const reply = this.#respond(envelope, length);
        return this.#isLong(envelope) ? undefined : reply;
      }),
    );
  }

  /** The peer has read everything that was sent. */
  drained(): void {
    this.#isFull = false;
    this.#cancelSlow?.();
    this.#cancelSlow = undefined;
    this.#freeRead();
    this.#pace();
  }

  /** The connection has ended. */
  leave(): void {
    this.#gone.abort();
    this.#cancelSlow?.();
    this.#takeRoom()();
    this.#freeRead();
  }

  #freeRead(): void {
    for (const free of this.#unread.splice(0)) free();
  }

  end(status: number, reason: string): void {
    if (this.#gone.signal.aborted) return;
    this.#flush();
    this.leave();
    this.#wire.end(status, reason);
  }

  async #respond(envelope: unknown, length: number): Promise<void> {
    const kind = messageKind(envelope);
    const isLong = this.#isLong(envelope);
    const startedMs = this.#parts.coordinator.clock.monotonicMs();
    this.#began(isLong, 1);
    let release: (() => void) | undefined;
    const admit = async (): Promise<Caller> => {
      const { caller, count, hold } = this.#parts;
      await count();
      if (isLong) release = hold(caller);
      return caller;
    };
    let kept: (() => void) | undefined;
    const keep = (free: () => void): void => {
      kept = free;
    };
    const signal = this.#signal;
    const reply = await this.#parts.dispatch({ envelope, length, admit, signal, keep });
    release?.();
    this.#send(kind, reply, kept);
    this.#began(isLong, -1);
    const { status = reply.problem?.status ?? OK } = reply;
    this.#parts.answered(kind, status, this.#parts.coordinator.clock.monotonicMs() - startedMs);
  }

  #isLong(envelope: unknown): boolean {
    const { body } = Object(envelope) as { readonly body?: unknown };
    return this.#parts.isLong(messageKind(envelope), body);
  }

  #began(isLong: boolean, by: number): void {
    if (isLong) this.#waiting += by;
    else this.#underWay += by;
    this.#pace();
    if (this.#parts.stopping.aborted) this.#endWhenDone();
  }

  #endWhenDone(): void {
    if (this.#underWay + this.#waiting === 0) this.end(STREAM_ENDS.stopping, STOPPING);
  }

  /** Backpressure: reads nothing while the peer does not read, or too much is in progress. */
  #pace(): void {
    if (this.#gone.signal.aborted) return;
    const isBusy = this.#underWay >= UNDER_WAY_MAX || this.#unparsed > 0;
    if (this.#isFull || isBusy) this.#wire.pause();
    else this.#wire.resume();
  }

  /** Replies of one turn share a frame. */
  #send(kind: string, reply: ReplyEnvelope, kept: (() => void) | undefined): void {
    const { coordinator, caller } = this.#parts;
    if (this.#gone.signal.aborted) {
      kept?.();
      return;
    }
    const text = JSON.stringify(toJson(reply));
    const free = kept ?? roomFor(coordinator, caller, { kind, bytes: text.length });
    if (free !== undefined) this.#unread.push(free);
    this.#replies.push(free === undefined ? JSON.stringify(refusedReply(reply)) : text);
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#parts.coordinator.timers.soon(() => {
      this.#isPlanned = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#replies.length === 0 || this.#gone.signal.aborted) return;
    const { coordinator, caller, slowMs } = this.#parts;
    const frame = `[${this.#replies.join(',')}]`;
    this.#replies = [];
    coordinator.shares.charge(projectShare(caller.project), weightOfBytes(frame.length));
    if (this.#wire.send(frame)) {
      this.#freeRead();
      return;
    }
    this.#isFull = true;
    this.#cancelSlow ??= coordinator.timers.after(slowMs, () => this.#wire.cut());
    this.#pace();
  }
}

const NOT_A_FRAME = `A frame is a JSON array of 1 to ${FRAME_MESSAGES_MAX} envelopes.`;
const TOO_LARGE = 'The frame has more names and values than limits.jsonValuesMax.';
const STOPPING = 'The coordinator is stopping.';

function envelopesIn(frame: string): readonly unknown[] | undefined {
  try {
    const parsed: unknown = JSON.parse(frame);
    const isFrame =
      Array.isArray(parsed) && parsed.length > 0 && parsed.length <= FRAME_MESSAGES_MAX;
    return isFrame ? parsed : undefined;
  } catch {
    return undefined;
  }
}
