// Judges which invariants the facts of a row break, and decides the repair (Z-1 … Z-24). Pure: a
// store gathers the facts of a page at one moment. Before a repair, it reads those of the row again
// under its lock.

import type { NewMessage } from '../../execution/decide/deliver.ts';
import { historyEvent, queuedAt } from '../../execution/decide/record.ts';
import { type ExecutionRecord, isTerminal, type Status } from '../../execution/execution.ts';
import { type HistoryEvent, NAMED_CALLS_MAX, parseBody } from '../../execution/history.ts';
import type { ExecutionId, Payload, PipelineName, ProjectName } from '../../execution/names.ts';
import type { SessionId } from '../../lease/names.ts';
import { chainEnd, chainState, type SessionChain } from '../../lease/session.ts';
import { type Instant, laterBy } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import { settlementOf } from '../awaits/decide.ts';
import type { AwaitUnit, Interaction } from '../awaits/model.ts';
import type { BrokenInvariant, InvariantName } from './model.ts';

/**
 * The reconciler reports a dead worker's executions after no worker has claimed them for this long
 * (Z-20).
 */
const STRANDED_MS = 300_000;
/** A sweep should have ended a session that is overdue for this long (Z-10). */
const UNSWEPT_MS = 60_000;
/** A parent with more children than this is not compared with them (Z-2). */
export const CHILDREN_MAX = 1_000;

export interface About {
  readonly execution: ExecutionId;
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
}

/** A session with running executions. */
interface RunningFacts {
  readonly session: SessionId;
  /** The session and those above it. Empty when the store no longer knows it. */
  readonly chain: SessionChain;
}

/** The finding concerns the session, so each of its executions has it (Z-10, Z-20). */
export function judgeSession(
  { session, chain }: RunningFacts,
  now: Instant,
): BrokenInvariant | undefined {
  if (chainState(chain, now) === 'ended') {
    const since = chainEnd(chain)?.at;
    if (since !== undefined && laterBy(since, STRANDED_MS) > now) return undefined;
    const when = since === undefined ? {} : { since };
    return { invariant: 'left-by-the-dead', about: session, ...when };
  }
  const since = Math.min(...chain.map(({ expiresAt }) => expiresAt)) as Instant;
  if (laterBy(since, UNSWEPT_MS) > now) return undefined;
  return { invariant: 'overdue-not-swept', about: session, since };
}

export interface WaitingFacts extends About {
  readonly readyAt: Instant | undefined;
  readonly wakeAfter: number;
  readonly compensating: boolean;
  readonly inboxCount: number;
  /** Its last `parked` event. */
  readonly parkedAt: Instant | undefined;
  readonly parkedBody: string | undefined;
  /** The last message in its inbox. */
  readonly newest: { readonly n: number; readonly at: Instant; readonly kind: string } | undefined;
  /** An open unit accepts an answer, or has something due. */
  readonly isAsking: boolean;
  /** The number of children, up to the limit, and how many of them are open. */
  readonly children: number;
  readonly openChildren: number;
  /** The call of a unit that settled without a message. */
  readonly undeliveredUnit: string | undefined;
  /** The call of children that all ended without a message. */
  readonly undeliveredChild: string | undefined;
  /** Its parent has ended, its inbox has no cancel, and no errand will send one. */
  readonly isLeftBehind: boolean;
}

/** Judges a waiting execution (Z-11, Z-12, Z-13, Z-21). */
export function judgeWaiting(facts: WaitingFacts): readonly BrokenInvariant[] {
  const { execution, project, pipeline, undeliveredUnit } = facts;
  const undeliveredChild = facts.children > CHILDREN_MAX ? undefined : facts.undeliveredChild;
  const broken = (invariant: InvariantName, about?: string): BrokenInvariant => ({
    ...{ invariant, project, execution, pipeline },
    ...present({ about, since: facts.parkedAt }),
  });
  const found = [
    ...(undeliveredUnit === undefined ? [] : [broken('settlement-undelivered', undeliveredUnit)]),
    ...(undeliveredChild === undefined ? [] : [broken('child-end-undelivered', undeliveredChild)]),
    ...(isInboxUnread(facts) ? [broken('inbox-unread')] : []),
    ...(facts.isLeftBehind && !facts.compensating ? [broken('child-of-the-ended')] : []),
  ];
  // An execution that another repair wakes is not lost.
  return found.length === 0 && isForNothing(facts) ? [broken('waits-for-nothing')] : found;
}

function isInboxUnread({ inboxCount, newest, parkedAt }: WaitingFacts): boolean {
  if (newest === undefined) return false;
  if (newest.n > inboxCount) return true;
  return newest.kind !== 'child-ended' && parkedAt !== undefined && newest.at > parkedAt;
}

function isForNothing(facts: WaitingFacts): boolean {
  const { readyAt, isAsking, children, openChildren, wakeAfter } = facts;
  if (readyAt !== undefined || isAsking || children > CHILDREN_MAX) return false;
  if (openChildren >= Math.max(1, wakeAfter)) return false;
  return isKnownSignalless(facts.parkedBody);
}

/** True only if the event names everything that it waits for (Z-21). */
function isKnownSignalless(body: string | undefined): boolean {
  const calls = parseBody<{ readonly for: readonly unknown[] }>(body).for;
  if (!Array.isArray(calls) || calls.length >= NAMED_CALLS_MAX) return false;
  return !calls.some((call) => String(call).startsWith('signal:'));
}

/** A concurrency key. */
export interface SlotFacts {
  readonly project: ProjectName;
  readonly key: string;
  readonly slots: number;
  readonly taken: number;
  /** The number of its executions that have a slot. */
  readonly held: number;
  /** An execution waits for a slot and for nothing else. */
  readonly isWanted: boolean;
}

/** Compares the counted slots with the held ones (Z-14). */
export function judgeSlots(facts: SlotFacts): readonly BrokenInvariant[] {
  const { project, key, slots, taken, held, isWanted } = facts;
  if (taken !== held) return [{ invariant: 'slots-miscounted', project, about: key }];
  if (isWanted && held < slots) return [{ invariant: 'slot-not-given', project, about: key }];
  return [];
}

interface LetterFacts extends About {
  /** The status in the letter, and the status of the execution. */
  readonly status: Status;
  readonly actual: Status | undefined;
  readonly redrivenBy: ExecutionId | undefined;
  /** The execution that `redrivenBy` names confirms it. */
  readonly isRedrive: boolean;
}

/** Compares a dead letter with its execution (Z-22). */
export function judgeLetter(facts: LetterFacts): readonly BrokenInvariant[] {
  const { execution, project, pipeline, status, actual, redrivenBy, isRedrive } = facts;
  const fits = status === actual && (redrivenBy === undefined || isRedrive);
  if (fits) return [];
  const about = redrivenBy === undefined || isRedrive ? {} : { about: redrivenBy };
  return [{ invariant: 'dead-letter-mismatch', project, execution, pipeline, ...about }];
}

interface ScheduleFacts {
  readonly project: ProjectName;
  readonly id: string;
  readonly paused: boolean;
  readonly hasNext: boolean;
}

/** The engine decides whether the plan has a time left (Z-15, Z-24). */
export function judgeSchedule({
  project,
  id,
  paused,
  hasNext,
}: ScheduleFacts): readonly BrokenInvariant[] {
  if (paused !== hasNext) return [];
  const invariant = paused ? 'paused-schedule-with-time' : 'schedule-without-time';
  return [{ invariant, project, about: id }];
}

interface ExecutionFacts extends About {
  readonly status: Status;
  readonly seq: number;
  readonly hasTime: boolean;
  readonly hasLetter: boolean;
  /** The last event of its history. */
  readonly last: Pick<HistoryEvent, 'seq' | 'kind'> | undefined;
}

/** Compares the row with its history and its dead letter (Z-15, Z-22, Z-23). */
export function judgeExecution(facts: ExecutionFacts): readonly BrokenInvariant[] {
  const { execution, project, pipeline, status, hasTime, hasLetter } = facts;
  const broken = (invariant: InvariantName): BrokenInvariant => ({
    ...{ invariant, project, execution, pipeline },
  });
  const leavesLetter = status === 'failed' || status === 'quarantined';
  return [
    ...(status === 'queued' && !hasTime ? [broken('queued-without-time')] : []),
    ...(leavesLetter && !hasLetter ? [broken('letter-missing')] : []),
    ...(differs(facts) ? [broken('history-differs')] : []),
  ];
}

/** The row of a running execution may be behind its history, never ahead. */
function differs({ status, seq, last }: ExecutionFacts): boolean {
  if (last === undefined) return true;
  if (status === 'running') return last.seq < seq;
  return last.seq !== seq || (isTerminal(status) && last.kind !== status);
}

// Repairs ----------------------------------------------------------------------------------------

/** The message of a settled unit to its execution (Z-11). */
export function settlementMessage(
  unit: AwaitUnit,
  interactions: readonly Interaction[],
): NewMessage {
  const { status, answered, needed, call } = unit;
  const byDefault = status === 'answered' && answered < needed;
  const body = settlementOf(unit, { status, interactions, byDefault });
  return { kind: 'await-settled', name: call, body };
}

/**
 * The message of a call's last child to its parent. Undefined if the outcome is not known (Z-11).
 */
export function childMessage(
  child: { readonly id: ExecutionId; readonly call: string },
  last: Pick<HistoryEvent, 'kind' | 'body'> | undefined,
): NewMessage | undefined {
  const { kind, body: text = '{}' } = last ?? { kind: 'submitted' };
  if (!isTerminal(kind as Status) || !text.startsWith('{')) return undefined;
  // The execution that should continue it does not exist.
  if ('continuedAs' in (JSON.parse(text) as object)) return undefined;
  const fields = text.slice(1);
  const begin = `{"id":"${child.id}","status":"${kind}"`;
  const body = `${begin}${fields === '}' ? '' : ','}${fields}` as Payload;
  return { kind: 'child-ended', name: child.call, body };
}

/** Counts every message in the inbox and wakes the execution (Z-12). */
export function markedRead(
  execution: ExecutionRecord,
  newest: number,
  now: Instant,
): ExecutionRecord {
  const { readyAt = now, inboxCount } = execution;
  const woken = queuedAt(execution, readyAt < now ? readyAt : now);
  return { ...woken, inboxCount: Math.max(inboxCount, newest) };
}

const UNOWNED_BODY = '{"why":"running-unowned","abandoned":true}' as Payload;

/** Gives the execution back. A step may still run somewhere, so it may run twice (Z-10). */
export function givenBackUnowned(
  execution: ExecutionRecord,
  lastSeq: number,
  now: Instant,
): { readonly execution: ExecutionRecord; readonly event: HistoryEvent } {
  const event = historyEvent(
    { kind: 'given-back', body: UNOWNED_BODY },
    { seq: lastSeq + 1, at: now },
  );
  return { execution: { ...queuedAt(execution, now), seq: event.seq }, event };
}
