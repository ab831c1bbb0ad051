// One stream of a worker: its messages and their replies, and the coordinator's wakeups. It serves
// only an admitted caller, and only while that caller keeps its access. It stops sending to a
// worker that does not read.

import type { Metadata, ServerDuplexStream } from '@grpc/grpc-js';
import type { ReplyEnvelope } from '../messages/envelope.ts';
import type { Caller, Coordinator } from '../rest/route.ts';
import type { OpeningStream } from './before-reading.ts';

export type Stream = ServerDuplexStream<Buffer, Buffer>;

/** A reply, as it is sent. */
export interface Outgoing {
  readonly reply: ReplyEnvelope;
  readonly wire: Buffer;
  /** Frees its room. Call it once, when the peer has read the reply or is gone. */
  readonly free: () => void;
}

export interface WorkerStreamParts {
  readonly coordinator: Coordinator;
  readonly stopping: AbortSignal;
  readonly entry: OpeningStream;
  /** Throws if the caller has no access any more, or not now. */
  readonly admit: () => Promise<Caller>;
  /** Throws if too many are open. Returns the function that releases. */
  readonly hold: (caller: Caller) => () => void;
  readonly respond: (wire: Buffer, signal: AbortSignal) => Promise<Outgoing>;
  /** The reply to a refused caller. */
  readonly refuse: (wire: Buffer, refusal: unknown) => Promise<Outgoing>;
  /** The frame of a wakeup. */
  readonly wakeup: Buffer;
  /** The longest time in which the peer does not read a reply. */
  readonly slowMs: number;
  /** Closes the connection. */
  readonly cut: () => void;
  readonly ended: () => void;
  /** Closes the connection, if it has sent much since it began. */
  readonly cutLong: () => void;
}

/** Wakeups come in bursts; one message is enough. */
const WAKEUP_MS = 10;
/** The interval for checking the access of a caller that gets wakeups, as keys are. */
const ADMITTED_MS = 5_000;
/**
 * A refused caller that sends no message gets no reason and no time, because its data would fill
 * memory.
 */
const REFUSED_MS = 1_000;
const UNAUTHENTICATED = 401;
/** The most messages of one stream in progress at once. */
const UNDER_WAY_MAX = 256;
/** The stream reads no further message while this many bytes wait or are in progress. */
const UNDER_WAY_BYTES_MAX = 32 * 1024 * 1024;

export class WorkerStream {
  readonly #parts: WorkerStreamParts;
  readonly #call: Stream;
  readonly #disconnected: AbortController = new AbortController();
  readonly #signal: AbortSignal;
  readonly #entered: Promise<void>;
  #release: () => void = () => undefined;
  #unlisten: () => void = () => undefined;
  #cancelWakeup: (() => void) | undefined;
  #admittedAtMs = 0;
  #underWay = 0;
  #underWayBytes = 0;
  /** For each reply that the peer has not read, the function to call then. */
  readonly #unread: Set<() => void> = new Set();
  #isFull = false;
  #isNotified = false;
  /** One whole message has arrived. */
  #hasRequest = false;

  constructor(parts: WorkerStreamParts, call: Stream) {
    this.#parts = parts;
    this.#call = call;
    this.#signal = AbortSignal.any([this.#disconnected.signal, parts.stopping]);
    this.#entered = this.#enter();
    this.#entered.catch(() => parts.coordinator.timers.after(REFUSED_MS, () => this.#giveUp()));
    call.on('data', (wire: Buffer) => void this.#take(wire));
    call.on('drain', () => this.#drained());
    call.on('end', () => this.#end());
    call.on('cancelled', () => this.#leave());
    call.on('error', () => this.#leave());
  }

  async #enter(): Promise<void> {
    const { entry, hold, coordinator } = this.#parts;
    const caller = await entry.caller;
    if (this.#signal.aborted) return;
    this.#release = hold(caller);
    this.#admittedAtMs = coordinator.clock.monotonicMs();
    this.#unlisten = coordinator.readiness.listen(caller.project, () => this.#onWakeup());
  }

  async #take(wire: Buffer): Promise<void> {
    this.#hasRequest = true;
    this.#underWay += 1;
    this.#underWayBytes += wire.length;
    this.#pace();
    const { respond, refuse, entry } = this.#parts;
    const room = entry.arriving.takeRoom();
    const isIn = await this.#entered.then(
      () => undefined,
      (refusal: unknown) => ({ refusal }),
    );
    const outgoing = await (isIn === undefined
      ? respond(wire, this.#signal)
      : refuse(wire, isIn.refusal));
    this.#send(outgoing.wire, outgoing.free);
    this.#underWay -= 1;
    this.#underWayBytes -= wire.length;
    void room?.then((free) => free());
    this.#pace();
    // End the stream of a caller without a valid key.
    if (isIn !== undefined || outgoing.reply.problem?.status === UNAUTHENTICATED) this.#end();
  }

  /**
   * Backpressure: stop reading while the write buffer is full or too many messages are in progress.
   */
  #pace(): void {
    const isBusy = this.#underWay >= UNDER_WAY_MAX || this.#underWayBytes >= UNDER_WAY_BYTES_MAX;
    if (this.#isFull || isBusy) this.#call.pause();
    else this.#call.resume();
  }

  #send(frame: Buffer, free: () => void): void {
    if (this.#signal.aborted) {
      free();
      return;
    }
    const { coordinator, slowMs, cut } = this.#parts;
    const late = coordinator.timers.after(slowMs, cut);
    const sent = (): void => {
      late();
      if (this.#unread.delete(sent)) free();
    };
    this.#unread.add(sent);
    this.#isFull = !this.#call.write(frame, sent);
  }

  #drained(): void {
    this.#isFull = false;
    this.#pace();
    if (this.#isNotified) this.#onWakeup();
  }

  #onWakeup(): void {
    this.#isNotified = true;
    if (this.#isFull) return;
    this.#cancelWakeup ??= this.#parts.coordinator.timers.after(WAKEUP_MS, () => {
      this.#cancelWakeup = undefined;
      void this.#sendWakeup();
    });
  }

  /** A caller that lost its access gets no wakeup, because even that reveals something. */
  async #sendWakeup(): Promise<void> {
    const { admit, coordinator } = this.#parts;
    const nowMs = coordinator.clock.monotonicMs();
    if (nowMs - this.#admittedAtMs >= ADMITTED_MS) {
      const isKnown = await admit().then(
        () => true,
        () => false,
      );
      if (!isKnown) return this.#end();
      this.#admittedAtMs = nowMs;
    }
    if (this.#isFull) return;
    this.#isNotified = false;
    this.#send(this.#parts.wakeup, () => undefined);
  }

  #giveUp(): void {
    if (!this.#hasRequest) this.#parts.cutLong();
    this.#end();
  }

  #end(): void {
    if (this.#disconnected.signal.aborted) return;
    this.#leave();
    this.#call.end();
  }

  #leave(): void {
    this.#disconnected.abort();
    this.#unlisten();
    this.#cancelWakeup?.();
    this.#release();
    for (const sent of this.#unread) sent();
    this.#parts.ended();
  }
}

export function textOf(metadata: Metadata, name: string): string | undefined {
  const [value] = metadata.get(name);
  return typeof value === 'string' ? value : undefined;
}
