// One stream of a worker: its messages and their replies, and the coordinator's rings. It is for who has come in,
// and only for as long; who does not take what it is told is not told more.

import type { Metadata, ServerDuplexStream } from '@grpc/grpc-js';
import type { ReplyEnvelope } from '../messages/envelope.ts';
import type { Frame } from '../messages/grpc-service.ts';
import type { Caller, Coordinator } from '../rest/route.ts';

export type Stream = ServerDuplexStream<Buffer, Frame>;

export interface ConversationParts {
  readonly coordinator: Coordinator;
  readonly stopping: AbortSignal;
  /** Throws for who may not, or not now. */
  readonly admit: () => Promise<Caller>;
  /** Throws where too many are open. What it returns lets go. */
  readonly hold: (caller: Caller) => () => void;
  readonly answer: (wire: Buffer, signal: AbortSignal) => Promise<ReplyEnvelope>;
  /** To who was refused. */
  readonly refuse: (wire: Buffer, refusal: unknown) => Promise<ReplyEnvelope>;
  readonly ended: () => void;
  /** Closes its connection, if that has sent much since it began. */
  readonly cutLong: () => void;
}

/** Rings come in bursts; one of them is enough. */
const RING_MS = 10;
/** Whoever is rung for is looked at so often, as keys are. */
const ADMITTED_MS = 5_000;
/** Who was refused and asks nothing is not told why, and is not waited for: what it sends is read into memory. */
const REFUSED_MS = 1_000;
const UNAUTHENTICATED = 401;
/** Messages of one stream that are handled at once. */
const UNDER_WAY_MAX = 256;

export class Conversation {
  readonly #parts: ConversationParts;
  readonly #call: Stream;
  readonly #gone: AbortController = new AbortController();
  readonly #signal: AbortSignal;
  readonly #entered: Promise<void>;
  #letGo: () => void = () => undefined;
  #unlisten: () => void = () => undefined;
  #cancelRing: (() => void) | undefined;
  #admittedAtMs = 0;
  #underWay = 0;
  #isFull = false;
  #isRung = false;
  /** One message has come, whole. */
  #isAsked = false;

  constructor(parts: ConversationParts, call: Stream) {
    this.#parts = parts;
    this.#call = call;
    this.#signal = AbortSignal.any([this.#gone.signal, parts.stopping]);
    this.#entered = this.#enter();
    this.#entered.catch(() => parts.coordinator.timers.after(REFUSED_MS, () => this.#giveUp()));
    call.on('data', (wire: Buffer) => void this.#take(wire));
    call.on('drain', () => this.#drained());
    call.on('end', () => this.#end());
    call.on('cancelled', () => this.#leave());
    call.on('error', () => this.#leave());
  }

  async #enter(): Promise<void> {
    const { admit, hold, coordinator } = this.#parts;
    const caller = await admit();
    if (this.#signal.aborted) return;
    this.#letGo = hold(caller);
    this.#admittedAtMs = coordinator.clock.monotonicMs();
    this.#unlisten = coordinator.bell.listen(caller.project, () => this.#rang());
  }

  async #take(wire: Buffer): Promise<void> {
    this.#isAsked = true;
    this.#underWay += 1;
    this.#pace();
    const { answer, refuse } = this.#parts;
    const isIn = await this.#entered.then(
      () => undefined,
      (refusal: unknown) => ({ refusal }),
    );
    const reply = await (isIn === undefined
      ? answer(wire, this.#signal)
      : refuse(wire, isIn.refusal));
    this.#send({ reply, ring: false });
    this.#underWay -= 1;
    this.#pace();
    // Whoever has no key that opens has nothing to say here, or not any more.
    if (isIn !== undefined || reply.problem?.status === UNAUTHENTICATED) this.#end();
  }

  /** Who sends more than it takes, or than is handled, is not read from. */
  #pace(): void {
    if (this.#isFull || this.#underWay >= UNDER_WAY_MAX) this.#call.pause();
    else this.#call.resume();
  }

  #send(frame: Frame): void {
    if (this.#signal.aborted) return;
    this.#isFull = !this.#call.write(frame);
  }

  #drained(): void {
    this.#isFull = false;
    this.#pace();
    if (this.#isRung) this.#rang();
  }

  #rang(): void {
    this.#isRung = true;
    if (this.#isFull) return;
    this.#cancelRing ??= this.#parts.coordinator.timers.after(RING_MS, () => {
      this.#cancelRing = undefined;
      void this.#ring();
    });
  }

  /** Whoever is not known any more is told nothing, not even that there is something. */
  async #ring(): Promise<void> {
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
    this.#isRung = false;
    this.#send({ ring: true });
  }

  #giveUp(): void {
    if (!this.#isAsked) this.#parts.cutLong();
    this.#end();
  }

  #end(): void {
    if (this.#gone.signal.aborted) return;
    this.#leave();
    this.#call.end();
  }

  #leave(): void {
    this.#gone.abort();
    this.#unlisten();
    this.#cancelRing?.();
    this.#letGo();
    this.#parts.ended();
  }
}

export function textOf(metadata: Metadata, name: string): string | undefined {
  const [value] = metadata.get(name);
  return typeof value === 'string' ? value : undefined;
}
