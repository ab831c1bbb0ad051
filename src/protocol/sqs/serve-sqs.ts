// The worker protocol over SQS. Any number of coordinators read requests from a queue. Each reply
// goes to the queue that its request names. SQS hides a message while a coordinator handles it.
// Messages that no coordinator can handle go to a queue of their own, for people.

import type { ProjectName } from '../../execution/names.ts';
import { formatInstant, toInstant } from '../../support/clock.ts';
import type { Code } from '../../support/codes/catalogue.ts';
import { valuesIn } from '../../support/json-size.ts';
import { isAmongQueues } from '../../support/sqs.ts';
import { FairSlots, weightOfParsing } from '../../support/turns.ts';
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
import {
  type Caller,
  type Coordinator,
  ProblemReply,
  projectShare,
  shareNameOf,
} from '../rest/route.ts';
import { valueFor } from '../rest/work-content.ts';
import type { Dispatch } from '../work/dispatch.ts';

export interface SqsParts {
  readonly coordinator: Coordinator;
  readonly dispatch: Dispatch;
  readonly queues: Queues;
  readonly signer: Signer;
  /** The caller that a key of the signer stands for. */
  readonly callerOf: (kid: string) => Caller;
  readonly requestQueueUrl: string;
  /** Whether several projects use the request queue. */
  readonly isShared: boolean;
  /** Whether this key may use the request queue. */
  readonly isOfQueue: (kid: string) => boolean;
  readonly poisonQueueUrl: string;
  /** Queues for replies: exact, or a prefix if it ends with `*`. */
  readonly replyQueues: readonly string[];
  /** The reply queues of this key, if it has its own. */
  readonly replyQueuesOf: (kid: string) => readonly string[] | undefined;
  readonly visibleMs: number;
  /** The limit of one message. */
  readonly bytesMax: number;
  readonly stopping: AbortSignal;
  readonly onFault: (code: Code, error: unknown) => void;
}

const HELD_MS = 20_000;
const PAUSE_MS = 1_000;
/** The most messages that one coordinator handles at once. Each project has a fair part of them. */
const UNDER_WAY_MAX = 100;
/** With these and the next ten, a project that is alone stays below its part. */
const UNSHARED_MAX = 40;
/** Receiving and deleting a message, and sending its reply, cost as much as this many requests. */
const MESSAGE_WEIGHT = 16;
/** A message beyond its project's part returns after its own age, within these bounds. */
const POSTPONED_MS = { min: 1_000, max: 60_000 } as const;
/** A message that failed this many times goes to the queue for people. */
const DELIVERIES_MAX = 5;
/** A reply is useful only while a worker waits for it. */
const REPLY_MS = 60_000;
const WAKEUP_MS = 50;
/** A message is JSON, which contains bytes and values as text. */
const AS_TEXT = 2;
const TOO_LARGE: unique symbol = Symbol('too large');

export class SqsServer {
  readonly #parts: SqsParts;
  readonly #underWay: Set<Promise<void>> = new Set();
  readonly #slots = new FairSlots(UNDER_WAY_MAX);
  readonly #workers = new KnownWorkers();
  readonly #unlisten: () => void;
  readonly #reading: Promise<void>;
  #cancelWakeup: (() => void) | undefined;
  /** The projects whose workers get a wakeup; undefined for all. */
  #woken: Set<ProjectName> | undefined = new Set();

  constructor(parts: SqsParts) {
    this.#parts = parts;
    const { timers, store } = parts.coordinator;
    this.#unlisten = store.executions.onWakeup((projects) => {
      if (projects === undefined) this.#woken = undefined;
      for (const project of projects ?? []) this.#woken?.add(project);
      this.#cancelWakeup ??= timers.after(WAKEUP_MS, () => this.#sendWakeups());
    });
    this.#reading = this.#read();
  }

  /** Finishes the messages in progress first. */
  async close(): Promise<void> {
    this.#unlisten();
    this.#cancelWakeup?.();
    await this.#reading;
    await Promise.all(this.#underWay);
  }

  async #read(): Promise<void> {
    const { queues, requestQueueUrl, visibleMs, stopping, coordinator, onFault } = this.#parts;
    // Messages that wait in a project's own queue cost nothing; postponing them would.
    const most = this.#parts.isShared ? UNDER_WAY_MAX : UNSHARED_MAX;
    while (!stopping.aborted) {
      try {
        const waiting = { waitMs: HELD_MS, visibleMs, signal: stopping };
        for (const each of await queues.receive(requestQueueUrl, waiting)) this.#take(each);
        while (this.#underWay.size >= most) await Promise.race(this.#underWay);
      } catch (fault) {
        if (stopping.aborted) return;
        onFault('queue-unavailable', fault);
        await coordinator.timers.pause(PAUSE_MS, stopping);
      }
    }
  }

  #take(message: QueueMessage): void {
    const { signer, coordinator, callerOf } = this.#parts;
    const verified = verifiedFrom(signer, message.body, coordinator.clock.wallMs());
    const project = verified.kind === 'invalid' ? '' : callerOf(verified.kid).project;
    const free = this.#slots.take(project);
    const isParked = message.deliveries > DELIVERIES_MAX;
    const work =
      free === undefined && !isParked
        ? this.#postpone(message, verified)
        : hiddenWhile(this.#parts, message, () => this.#handle(message, verified));
    this.#note(work.finally(() => free?.()));
  }

  #note(work: Promise<void>): void {
    const noted = work
      .catch((fault: unknown) => this.#parts.onFault('message-not-handled', fault))
      .finally(() => this.#underWay.delete(noted));
    this.#underWay.add(noted);
  }

  /** The queue delivers it again, when other projects have had their turn. */
  async #postpone(
    message: QueueMessage,
    verified: SignatureVerified<QueuedRequest>,
  ): Promise<void> {
    const { queues, requestQueueUrl, coordinator } = this.#parts;
    const ageMs = verified.kind === 'invalid' ? 0 : coordinator.clock.wallMs() - verified.claims.at;
    const delayMs = Math.min(Math.max(ageMs, POSTPONED_MS.min), POSTPONED_MS.max);
    await queues.postpone(requestQueueUrl, message, delayMs);
  }

  async #handle(message: QueueMessage, verified: SignatureVerified<QueuedRequest>): Promise<void> {
    const { queues, requestQueueUrl, coordinator } = this.#parts;
    const nowMs = coordinator.clock.wallMs();
    const isPoison = verified.kind === 'invalid' || !this.#mayReply(verified);
    if (isPoison || message.deliveries > DELIVERIES_MAX) return this.#park(message);
    const { claims, kid } = verified;
    const { project } = this.#parts.callerOf(kid);
    await coordinator.shares.begin(shareNameOf(kindIn(claims), project), MESSAGE_WEIGHT);
    const envelope = await this.#envelopeOf(claims, project);
    if (envelope === TOO_LARGE) return this.#park(message);
    this.#workers.onMessage({ kid, replyTo: claims.replyTo }, nowMs);
    const reply = await this.#respond(verified, unheld(envelope), message.body.length);
    await this.#reply(claims.replyTo, kid, reply);
    await queues.delete(requestQueueUrl, message.receipt);
  }

  async #respond(
    verified: Exclude<SignatureVerified<QueuedRequest>, { kind: 'invalid' }>,
    envelope: unknown,
    length: number,
  ): Promise<ReplyEnvelope> {
    const { dispatch, callerOf, stopping } = this.#parts;
    const { claims, kid, kind } = verified;
    return dispatch({
      ...{ envelope, length },
      signal: stopping,
      async admit() {
        if (kind === 'verified') return callerOf(kid);
        const at = formatInstant(toInstant(claims.until));
        throw new ProblemReply(
          'signature-expired',
          `The signature of this message expired at ${at}. Nothing was done. Send it again.`,
        );
      },
    });
  }

  /**
   * Reads parts one by one: a sender that names the same part many times is stopped at the size
   * limit.
   */
  async #envelopeOf({ envelope, parts }: QueuedRequest, project: ProjectName): Promise<unknown> {
    if (parts === undefined) return envelopeFromJson(envelope);
    const { coordinator, bytesMax } = this.#parts;
    const found: Uint8Array[] = [];
    let size = 0;
    for (const digest of parts) {
      const part = await valueFor(coordinator.store.executions, { project, digest });
      if (part === undefined) throw new Error(`Part ${digest} of a message is missing.`);
      size += part.length;
      if (size > bytesMax * AS_TEXT) return TOO_LARGE;
      found.push(part);
    }
    await coordinator.shares.begin(projectShare(project), weightOfParsing(size));
    const text = joined(found);
    if (valuesIn(text, coordinator.jsonValuesMax) > coordinator.jsonValuesMax) return TOO_LARGE;
    return envelopeFromJson(JSON.parse(text));
  }

  async #reply(replyTo: string, kid: string, envelope: ReplyEnvelope): Promise<void> {
    const { queues, signer, coordinator, callerOf } = this.#parts;
    const at = coordinator.clock.wallMs();
    const { id } = envelope;
    const claims = { to: 'worker', at, until: at + REPLY_MS, id } as const;
    const queued: QueuedReply = { ...claims, envelope: toJson(envelope) };
    const text = signer.sign(queued, kid);
    if (text.length <= QUEUED_BYTES_MAX) return queues.send(replyTo, text);
    const parts = partsOf(toJson(envelope));
    const { project } = callerOf(kid);
    for (const part of parts) await coordinator.store.executions.putBlob({ project, ...part });
    const referring: QueuedReply = { ...claims, parts: parts.map(({ digest }) => digest) };
    return queues.send(replyTo, signer.sign(referring, kid));
  }

  /**
   * A key alone must not make this coordinator call an address of the sender's choice, and not fill
   * the queue of another key.
   */
  #mayReply({ claims, kid }: { readonly claims: QueuedRequest; readonly kid: string }): boolean {
    const { replyQueues, replyQueuesOf, isOfQueue } = this.#parts;
    const url: unknown = claims.replyTo;
    return (
      isOfQueue(kid) &&
      isAmongQueues(url, replyQueues) &&
      isAmongQueues(url, replyQueuesOf(kid) ?? replyQueues)
    );
  }

  async #park({ body, receipt }: QueueMessage): Promise<void> {
    const { queues, requestQueueUrl, poisonQueueUrl } = this.#parts;
    await queues.send(poisonQueueUrl, body);
    await queues.delete(requestQueueUrl, receipt);
  }

  /** A lost wakeup costs a poll. */
  #sendWakeups(): void {
    this.#cancelWakeup = undefined;
    const woken = this.#woken;
    this.#woken = new Set();
    const { queues, signer, coordinator, callerOf } = this.#parts;
    const at = coordinator.clock.wallMs();
    for (const worker of this.#workers.all(at)) {
      if (woken?.has(callerOf(worker.kid).project) === false) continue;
      const wakeup: QueuedReply = { to: 'worker', at, until: at + REPLY_MS, wakeup: true };
      const text = signer.sign(wakeup, worker.kid);
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
    return { kind: 'invalid', why: 'it cannot be parsed' };
  }
}

/** Empty for a message in parts, which is no heartbeat. */
function kindIn({ envelope }: QueuedRequest): string {
  const { kind } = (envelope ?? {}) as { readonly kind?: unknown };
  return typeof kind === 'string' ? kind : '';
}

/**
 * Removes the wait for a wakeup or for a claim: this transport sends wakeups by itself, and held
 * requests would block others.
 */
function unheld(envelope: unknown): unknown {
  const { kind, body } = (envelope ?? {}) as { readonly kind?: unknown; readonly body?: unknown };
  const isWait = kind === ('waitForWakeup' satisfies WorkKind);
  const isClaim = kind === ('claimExecutions' satisfies WorkKind);
  if (!(isWait || isClaim) || typeof body !== 'object' || body === null || !('waitMs' in body))
    return envelope;
  // A value that is not a number is refused later.
  const waitMs = typeof body.waitMs === 'number' ? Math.min(body.waitMs, 0) : body.waitMs;
  return { ...(envelope as object), body: { ...body, waitMs } };
}

/** Extends the message's invisibility for as long as the work takes. */
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

// The workers to wake: those seen recently, by key and queue. A sender that names another worker's
// queue is added beside it and does not replace it. If a sender names many, only the last ones get
// wakeups.

export interface KnownWorker {
  readonly kid: string;
  readonly replyTo: string;
}

/** A worker that was silent for this long is forgotten. */
const KNOWN_MS = 120_000;
/** The limit for one key. The workers that were silent longest must poll. */
export const KNOWN_MAX = 1_000;

export class KnownWorkers {
  /** By key and queue, the most recent last. */
  readonly #seenAt: Map<string, Map<string, number>> = new Map();

  onMessage({ kid, replyTo }: KnownWorker, nowMs: number): void {
    const ofKey = this.#seenAt.get(kid) ?? new Map<string, number>();
    this.#seenAt.set(kid, ofKey);
    ofKey.delete(replyTo);
    ofKey.set(replyTo, nowMs);
    const [first] = ofKey.keys();
    if (ofKey.size > KNOWN_MAX && first !== undefined) ofKey.delete(first);
  }

  forget({ kid, replyTo }: KnownWorker): void {
    this.#seenAt.get(kid)?.delete(replyTo);
  }

  /** The workers seen recently. */
  all(nowMs: number): readonly KnownWorker[] {
    return [...this.#seenAt].flatMap(([kid, ofKey]) => {
      for (const [replyTo, at] of ofKey) if (nowMs - at > KNOWN_MS) ofKey.delete(replyTo);
      return [...ofKey.keys()].map((replyTo) => ({ kid, replyTo }));
    });
  }
}
