// The worker protocol over SQS: requests come by one queue, which any number of coordinators read; each reply goes
// to the queue that its request names. A message is hidden from others while it is handled; what nobody can
// handle is put into a queue of its own, for people.

import type { ProjectName } from '../../execution/names.ts';
import { formatInstant, toInstant } from '../../support/clock.ts';
import type { ReplyEnvelope } from '../messages/envelope.ts';
import {
  envelopeFromJson,
  joined,
  partsOf,
  QUEUED_BYTES_MAX,
  type QueuedReply,
  type QueuedRequest,
  type QueueMessage,
  type Queues,
  toJson,
} from '../messages/queued.ts';
import type { SignatureVerified, Signer } from '../messages/signing.ts';
import type { WorkKind } from '../messages/work-messages.ts';
import { type Caller, type Coordinator, ProblemReply } from '../rest/route.ts';
import { valueFor } from '../rest/work-content.ts';
import type { Dispatch } from '../work/dispatch.ts';

export interface SqsParts {
  readonly coordinator: Coordinator;
  readonly dispatch: Dispatch;
  readonly queues: Queues;
  readonly signer: Signer;
  /** Whom a key of the signer stands for. */
  readonly callerOf: (kid: string) => Caller;
  readonly requestQueueUrl: string;
  readonly poisonQueueUrl: string;
  /** Where replies may go: exact, or all that begin so where it ends with `*`. */
  readonly replyQueues: readonly string[];
  /** Of those, the ones for this key, where it has some of its own. */
  readonly replyQueuesOf: (kid: string) => readonly string[] | undefined;
  readonly visibleMs: number;
  /** In one message. */
  readonly bytesMax: number;
  readonly stopping: AbortSignal;
  readonly onFault: (code: string, error: unknown) => void;
}

const HELD_MS = 20_000;
const PAUSE_MS = 1_000;
/** As many are handled at once by one coordinator. */
const UNDER_WAY_MAX = 100;
/** One that was not handled so often will not be. */
const DELIVERIES_MAX = 5;
/** A reply is of use for as long as somebody waits for it. */
const REPLY_MS = 60_000;
const RING_MS = 50;
/** A message is JSON, with its bytes and values as text in it. */
const AS_TEXT = 2;
const TOO_LARGE: unique symbol = Symbol('too large');

export class SqsServer {
  readonly #parts: SqsParts;
  readonly #underWay: Set<Promise<void>> = new Set();
  readonly #workers = new KnownWorkers();
  readonly #unlisten: () => void;
  readonly #reading: Promise<void>;
  #cancelRing: (() => void) | undefined;

  constructor(parts: SqsParts) {
    this.#parts = parts;
    const { timers, store } = parts.coordinator;
    this.#unlisten = store.executions.onRing(() => {
      this.#cancelRing ??= timers.after(RING_MS, () => this.#ring());
    });
    this.#reading = this.#read();
  }

  /** What is under way is answered first. */
  async close(): Promise<void> {
    this.#unlisten();
    this.#cancelRing?.();
    await this.#reading;
    await Promise.all(this.#underWay);
  }

  async #read(): Promise<void> {
    const { queues, requestQueueUrl, visibleMs, stopping, coordinator, onFault } = this.#parts;
    while (!stopping.aborted) {
      try {
        const waiting = { waitMs: HELD_MS, visibleMs, signal: stopping };
        for (const each of await queues.receive(requestQueueUrl, waiting)) this.#take(each);
        if (this.#underWay.size >= UNDER_WAY_MAX) await Promise.race(this.#underWay);
      } catch (fault) {
        if (stopping.aborted) return;
        onFault('queue-unavailable', fault);
        await coordinator.timers.pause(PAUSE_MS, stopping);
      }
    }
  }

  #take(message: QueueMessage): void {
    const handled = hiddenWhile(this.#parts, message, () => this.#handle(message))
      .catch((fault: unknown) => this.#parts.onFault('message-not-handled', fault))
      .finally(() => this.#underWay.delete(handled));
    this.#underWay.add(handled);
  }

  async #handle(message: QueueMessage): Promise<void> {
    const { queues, requestQueueUrl, signer, coordinator } = this.#parts;
    const nowMs = coordinator.clock.wallMs();
    const verified = verifiedFrom(signer, message.body, nowMs);
    const isPoison = verified.kind === 'invalid' || !this.#mayReply(verified);
    if (isPoison || message.deliveries > DELIVERIES_MAX) return this.#park(message);
    const { claims, kid } = verified;
    const envelope = await this.#envelopeOf(claims, this.#parts.callerOf(kid).project);
    if (envelope === TOO_LARGE) return this.#park(message);
    this.#workers.heard({ kid, replyTo: claims.replyTo }, nowMs);
    const reply = await this.#answer(verified, unheld(envelope));
    await this.#reply(claims.replyTo, kid, reply);
    await queues.delete(requestQueueUrl, message.receipt);
  }

  async #answer(
    verified: Exclude<SignatureVerified<QueuedRequest>, { kind: 'invalid' }>,
    envelope: unknown,
  ): Promise<ReplyEnvelope> {
    const { dispatch, callerOf, stopping } = this.#parts;
    const { claims, kid, kind } = verified;
    return dispatch({
      envelope,
      signal: stopping,
      async admit() {
        if (kind === 'verified') return callerOf(kid);
        const at = formatInstant(toInstant(claims.until));
        throw new ProblemReply(
          403,
          'signature-expired',
          `This message was good until ${at}. Nothing was done; send it again.`,
        );
      },
    });
  }

  /** One after the other: who names the same part many times has it read until it is too much, and no further. */
  async #envelopeOf({ envelope, parts }: QueuedRequest, project: ProjectName): Promise<unknown> {
    if (parts === undefined) return envelopeFromJson(envelope);
    const { coordinator, bytesMax } = this.#parts;
    const found: Uint8Array[] = [];
    let size = 0;
    for (const digest of parts) {
      const part = await valueFor(coordinator.store.executions, { project, digest });
      if (part === undefined) throw new Error(`Part ${digest} of a message is not there.`);
      size += part.length;
      if (size > bytesMax * AS_TEXT) return TOO_LARGE;
      found.push(part);
    }
    return envelopeFromJson(joined(found));
  }

  async #reply(replyTo: string, kid: string, envelope: ReplyEnvelope): Promise<void> {
    const { queues, signer, coordinator, callerOf } = this.#parts;
    const at = coordinator.clock.wallMs();
    const { id } = envelope;
    const claims = { to: 'worker', at, until: at + REPLY_MS, id } as const;
    const whole: QueuedReply = { ...claims, envelope: toJson(envelope) };
    const text = signer.sign(whole, kid);
    if (text.length <= QUEUED_BYTES_MAX) return queues.send(replyTo, text);
    const parts = partsOf(toJson(envelope));
    const { project } = callerOf(kid);
    for (const part of parts) await coordinator.store.executions.putBlob({ project, ...part });
    const referring: QueuedReply = { ...claims, parts: parts.map(({ digest }) => digest) };
    return queues.send(replyTo, signer.sign(referring, kid));
  }

  /** Nobody who only has a key makes this coordinator call an address of their choice. */
  #mayReply({ claims, kid }: { readonly claims: QueuedRequest; readonly kid: string }): boolean {
    const { replyQueues, replyQueuesOf } = this.#parts;
    const url: unknown = claims.replyTo;
    const isAmong = (queues: readonly string[]): boolean =>
      typeof url === 'string' &&
      queues.some((each) =>
        each.endsWith('*') ? url.startsWith(each.slice(0, -1)) : url === each,
      );
    return isAmong(replyQueues) && isAmong(replyQueuesOf(kid) ?? replyQueues);
  }

  async #park({ body, receipt }: QueueMessage): Promise<void> {
    const { queues, requestQueueUrl, poisonQueueUrl } = this.#parts;
    await queues.send(poisonQueueUrl, body);
    await queues.delete(requestQueueUrl, receipt);
  }

  /** A ring that is lost costs a poll. */
  #ring(): void {
    this.#cancelRing = undefined;
    const { queues, signer, coordinator } = this.#parts;
    const at = coordinator.clock.wallMs();
    for (const worker of this.#workers.all(at)) {
      const ring: QueuedReply = { to: 'worker', at, until: at + REPLY_MS, ring: true };
      const text = signer.sign(ring, worker.kid);
      queues.send(worker.replyTo, text).catch(() => this.#workers.forget(worker));
    }
  }
}

function verifiedFrom(
  signer: Signer,
  body: string,
  nowMs: number,
): SignatureVerified<QueuedRequest> {
  try {
    return signer.verify<QueuedRequest>(body, { to: 'coordinator', nowMs });
  } catch {
    return { kind: 'invalid', why: 'it cannot be read' };
  }
}

/** Nobody waits for a bell by this queue, where one is rung for: those who did would keep others from being handled. */
function unheld(envelope: unknown): unknown {
  const { kind, body } = (envelope ?? {}) as { readonly kind?: unknown; readonly body?: unknown };
  const isBell = kind === ('waitForBell' satisfies WorkKind);
  if (!isBell || typeof body !== 'object' || body === null || !('waitMs' in body)) return envelope;
  // What is no number is refused as it is.
  const waitMs = typeof body.waitMs === 'number' ? Math.min(body.waitMs, 0) : body.waitMs;
  return { ...(envelope as object), body: { ...body, waitMs } };
}

/** Longer than it was asked to be hidden, for as long as it takes. */
async function hiddenWhile(
  { queues, requestQueueUrl, visibleMs, coordinator }: SqsParts,
  { receipt }: QueueMessage,
  work: () => Promise<void>,
): Promise<void> {
  let cancel: () => void = () => undefined;
  const extend = (): void => {
    cancel = coordinator.timers.after(visibleMs / 2, () => {
      queues.hide(requestQueueUrl, receipt, visibleMs).catch(() => undefined);
      extend();
    });
  };
  extend();
  try {
    await work();
  } finally {
    cancel();
  }
}

// Whom to ring: workers that were heard of, each by its key and its queue. Who names the queue of another is one more
// beside it, and not in its place; and who names many is rung in the last ones only.

export interface KnownWorker {
  readonly kid: string;
  readonly replyTo: string;
}

/** Of a worker that has said nothing for so long nobody knows. */
const KNOWN_MS = 120_000;
/** Of one key. Those that were not heard of for longest poll. */
export const KNOWN_MAX = 1_000;

export class KnownWorkers {
  /** By key, and by queue, who was heard of last at the end. */
  readonly #heardAt: Map<string, Map<string, number>> = new Map();

  heard({ kid, replyTo }: KnownWorker, nowMs: number): void {
    const ofKey = this.#heardAt.get(kid) ?? new Map<string, number>();
    this.#heardAt.set(kid, ofKey);
    ofKey.delete(replyTo);
    ofKey.set(replyTo, nowMs);
    const [first] = ofKey.keys();
    if (ofKey.size > KNOWN_MAX && first !== undefined) ofKey.delete(first);
  }

  forget({ kid, replyTo }: KnownWorker): void {
    this.#heardAt.get(kid)?.delete(replyTo);
  }

  /** Those that were heard of lately. */
  all(nowMs: number): readonly KnownWorker[] {
    return [...this.#heardAt].flatMap(([kid, ofKey]) => {
      for (const [replyTo, at] of ofKey) if (nowMs - at > KNOWN_MS) ofKey.delete(replyTo);
      return [...ofKey.keys()].map((replyTo) => ({ kid, replyTo }));
    });
  }
}
