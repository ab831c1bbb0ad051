// Decides a submit, and what a successor takes over. Pure.

import { type Instant, laterBy } from '../../support/clock.ts';
import { wordsIn } from '../../support/options.ts';
import { type ExecutionRecord, isTerminal, type Submission } from '../execution.ts';
import type { HistoryEvent, InboxMessage } from '../history.ts';
import type { ExecutionId, Payload } from '../names.ts';
import type { SubmitRefusal } from '../refusal.ts';
import { historyEvent, unset, withHold } from './record.ts';

export interface SubmitView {
  readonly byId: ExecutionRecord | undefined;
  /** The project's execution with the key. Undefined when the request has none. */
  readonly byKey: ExecutionRecord | undefined;
  /** No slot of its concurrency key is free. */
  readonly exhausted: boolean;
}

export interface SubmitRequest extends Submission, KeyedBy {
  readonly delayMs?: number;
  readonly body?: Payload;
}

/** The choices of a submit whose key an execution has. */
export type IfKeyTaken = 'join' | 'refuse' | 'reuse' | 'replace';

export const IF_KEY_TAKEN: readonly IfKeyTaken[] = ['join', 'refuse', 'reuse', 'replace'];

export interface KeyedBy {
  /** Only with a key. Default `join`. */
  readonly ifKeyTaken?: IfKeyTaken;
  /** Only with a key. A signal to the execution that has the key after the submit. */
  readonly message?: { readonly name: string; readonly body: Payload; readonly key?: string };
}

/**
 * Decides what happens to the execution that has the key before a submit: it keeps the key, gives it
 * up, or is cancelled and gives it up.
 */
export function decideHolder(
  { id, status }: Pick<ExecutionRecord, 'id' | 'status'>,
  request: Pick<SubmitRequest, 'id' | 'ifKeyTaken'>,
): 'keep' | 'give-up' | 'cancel' {
  const { ifKeyTaken } = request;
  // A repeated submit finds its own execution.
  if (id === request.id) return 'keep';
  if (isTerminal(status)) {
    return ifKeyTaken === 'reuse' || ifKeyTaken === 'replace' ? 'give-up' : 'keep';
  }
  return ifKeyTaken === 'replace' ? 'cancel' : 'keep';
}

export interface Insertion {
  readonly kind: 'insert';
  readonly execution: ExecutionRecord;
  readonly event: HistoryEvent;
}

export type SubmitDecision =
  | Insertion
  | { readonly kind: 'existing'; readonly id: ExecutionId }
  | { readonly kind: 'refuse'; readonly refusal: SubmitRefusal };

export function decideSubmit(
  view: SubmitView,
  request: SubmitRequest,
  now: Instant,
): SubmitDecision {
  const { byId, byKey } = view;
  if (byId !== undefined) {
    return byId.intent === request.intent && byId.project === request.project
      ? { kind: 'existing', id: byId.id }
      : { kind: 'refuse', refusal: { why: 'id-taken', id: request.id } };
  }
  if (byKey !== undefined && request.key !== undefined) {
    const isRefused = request.ifKeyTaken === 'refuse';
    if (byKey.intent === request.intent && !isRefused) return { kind: 'existing', id: byKey.id };
    const why = isRefused ? 'key-in-use' : 'key-conflict';
    return { kind: 'refuse', refusal: { why, key: request.key, id: byKey.id } };
  }
  const { execution, event } = insertion(request, now);
  // Claims skip an execution that would find no slot.
  return {
    kind: 'insert',
    execution: view.exhausted ? withHold(execution, 'concurrency-limit') : execution,
    event,
  };
}

/**
 * The successor takes over the key and the slot of its predecessor. Its start counts for its
 * rate key as any other.
 */
export function decideSuccessor(
  ended: ExecutionRecord,
  request: SubmitRequest,
  now: Instant,
): Insertion {
  const { execution, event } = insertion(request, now);
  const { key, intent } = ended;
  const bare = unset(execution, 'key', 'intent');
  const keyed =
    key === undefined ? bare : { ...bare, key, ...(intent === undefined ? {} : { intent }) };
  const takesSlot = ended.hasSlot && sharesSlots(ended, execution);
  return {
    kind: 'insert',
    execution: takesSlot ? { ...keyed, gated: keyed.rate !== undefined, hasSlot: true } : keyed,
    event,
  };
}

export interface Inheritance {
  /** For the inbox of the successor, with new numbers. */
  readonly messages: readonly InboxMessage[];
  /** A cancel that no owner acted on: the successor is cancelled at once. */
  readonly cancel: InboxMessage | undefined;
}

/** Ends of children and outcomes of awaits concern only the predecessor. */
const INHERITED: ReadonlySet<InboxMessage['kind']> = new Set<InboxMessage['kind']>(
  wordsIn('signal pause resume'),
);

/** Selects from the messages that no owner acted on. */
export function inheritanceOf(left: readonly InboxMessage[]): Inheritance {
  const messages = left
    .filter(({ kind }) => INHERITED.has(kind))
    .map((message, index) => ({ ...message, n: index + 1 }));
  return { messages, cancel: left.find(({ kind }) => kind === 'cancel') };
}

function sharesSlots(a: Submission, b: Submission): boolean {
  return a.concurrency?.key === b.concurrency?.key && a.project === b.project;
}

export function insertion(request: SubmitRequest, now: Instant): Insertion {
  const { delayMs, body, ifKeyTaken: _if, message: _message, ...submission } = request;
  const event = historyEvent(
    { kind: 'submitted', ...(body === undefined ? {} : { body }) },
    { seq: 1, at: now },
  );
  const { deadlineMs } = submission;
  const execution: ExecutionRecord = {
    ...submission,
    status: 'queued',
    submittedAt: now,
    ...(deadlineMs === undefined ? {} : { deadlineAt: laterBy(now, deadlineMs) }),
    readyAt: laterBy(now, delayMs ?? 0),
    holds: [],
    gated: submission.concurrency !== undefined || submission.rate !== undefined,
    hasSlot: false,
    claimsWithoutProgress: 0,
    seq: 1,
    inboxCount: 0,
    wakeAfter: 0,
    compensable: false,
    compensating: false,
  };
  return { kind: 'insert', execution, event };
}
