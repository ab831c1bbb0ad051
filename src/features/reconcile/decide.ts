// Which invariants the facts of a row break, and what a repair makes of it (Z-1 … Z-24). Pure: a store gathers
// the facts of a page in one moment, and those of one row again under its lock before it repairs anything.

import type { NewMessage } from '../../execution/decide/deliver.ts';
import { historyEvent, queuedAt } from '../../execution/decide/record.ts';
import { type ExecutionRecord, isTerminal, type Status } from '../../execution/execution.ts';
import { type HistoryEvent, NAMED_CALLS_MAX, saidIn } from '../../execution/history.ts';
import type { ExecutionId, Payload, PipelineName, ProjectName } from '../../execution/names.ts';
import type { SessionId } from '../../lease/names.ts';
import { chainEnd, chainState, type SessionChain } from '../../lease/session.ts';
import { type Instant, laterBy } from '../../support/clock.ts';
import { settlementOf } from '../awaits/decide.ts';
import type { AwaitUnit, Interaction } from '../awaits/model.ts';
import type { BrokenInvariant, InvariantName } from './model.ts';

/** Work of a dead worker that nobody has taken for so long is reported (Z-20). */
const STRANDED_MS = 300_000;
/** A session that is overdue for so long should have been swept (Z-10). */
const UNSWEPT_MS = 60_000;
/** A parent that has more children is not compared with them (Z-2). */
export const CHILDREN_MAX = 1_000;

interface About {
  readonly execution: ExecutionId;
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
}

/** A session that runs something. */
interface RunningFacts {
  readonly session: SessionId;
  /** Itself and those above it; empty when it is not known any more. */
  readonly chain: SessionChain;
}

/** Z-10, Z-20: about the session; each of its executions has it. */
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
  readonly news: number;
  /** Its last `parked` event. */
  readonly parkedAt: Instant | undefined;
  readonly parkedBody: string | undefined;
  /** The last message in its inbox. */
  readonly newest: { readonly n: number; readonly at: Instant; readonly kind: string } | undefined;
  /** A unit is open that somebody can answer, or of which something is due. */
  readonly isAsking: boolean;
  /** How many there are, counted as far as they are looked at, and how many of them are open. */
  readonly children: number;
  readonly openChildren: number;
  /** A call whose unit has settled without a message. */
  readonly untoldUnit: string | undefined;
  /** A call whose children have all ended without a message. */
  readonly untoldChild: string | undefined;
  /** Its parent has ended, it was not asked to cancel, and nobody is going to. */
  readonly isLeftBehind: boolean;
}

/** Z-11, Z-12, Z-13, Z-21. */
export function judgeWaiting(facts: WaitingFacts): readonly BrokenInvariant[] {
  const { execution, project, pipeline, untoldUnit } = facts;
  const untoldChild = facts.children > CHILDREN_MAX ? undefined : facts.untoldChild;
  const broken = (invariant: InvariantName, about?: string): BrokenInvariant => ({
    ...{ invariant, project, execution, pipeline },
    ...(about === undefined ? {} : { about }),
    ...(facts.parkedAt === undefined ? {} : { since: facts.parkedAt }),
  });
  const found = [
    ...(untoldUnit === undefined ? [] : [broken('settlement-not-told', untoldUnit)]),
    ...(untoldChild === undefined ? [] : [broken('child-end-not-told', untoldChild)]),
    ...(isUnheard(facts) ? [broken('news-not-heard')] : []),
    ...(facts.isLeftBehind && !facts.compensating ? [broken('child-of-the-ended')] : []),
  ];
  // What one of the others wakes is not lost.
  return found.length === 0 && isForNothing(facts) ? [broken('waits-for-nothing')] : found;
}

function isUnheard({ news, newest, parkedAt }: WaitingFacts): boolean {
  if (newest === undefined) return false;
  if (newest.n > news) return true;
  return newest.kind !== 'child-ended' && parkedAt !== undefined && newest.at > parkedAt;
}

function isForNothing(facts: WaitingFacts): boolean {
  const { readyAt, isAsking, children, openChildren, wakeAfter } = facts;
  if (readyAt !== undefined || isAsking || children > CHILDREN_MAX) return false;
  if (openChildren >= Math.max(1, wakeAfter)) return false;
  return isKnownSignalless(facts.parkedBody);
}

/** Z-21: only when all that it waits for is known. */
function isKnownSignalless(body: string | undefined): boolean {
  const calls = saidIn<{ readonly for: readonly unknown[] }>(body).for;
  if (!Array.isArray(calls) || calls.length >= NAMED_CALLS_MAX) return false;
  return !calls.some((call) => String(call).startsWith('signal:'));
}

/** A concurrency key. */
export interface PlaceFacts {
  readonly project: ProjectName;
  readonly key: string;
  readonly slots: number;
  readonly taken: number;
  /** How many of its executions have a place. */
  readonly held: number;
  /** Somebody waits for a place and for nothing else. */
  readonly isWanted: boolean;
}

/** Z-14. */
export function judgePlace(facts: PlaceFacts): readonly BrokenInvariant[] {
  const { project, key, slots, taken, held, isWanted } = facts;
  if (taken !== held) return [{ invariant: 'places-miscounted', project, about: key }];
  if (isWanted && held < slots) return [{ invariant: 'place-not-given', project, about: key }];
  return [];
}

interface LetterFacts extends About {
  /** What the letter says, and what the execution is. */
  readonly status: Status;
  readonly actual: Status | undefined;
  readonly redrivenBy: ExecutionId | undefined;
  /** The execution that `redrivenBy` names says so, too. */
  readonly isRedrive: boolean;
}

/** Z-22. */
export function judgeLetter(facts: LetterFacts): readonly BrokenInvariant[] {
  const { execution, project, pipeline, status, actual, redrivenBy, isRedrive } = facts;
  const fits = status === actual && (redrivenBy === undefined || isRedrive);
  if (fits) return [];
  const about = redrivenBy === undefined || isRedrive ? {} : { about: redrivenBy };
  return [{ invariant: 'letter-astray', project, execution, pipeline, ...about }];
}

interface ScheduleFacts {
  readonly project: ProjectName;
  readonly id: string;
  readonly paused: boolean;
  readonly hasNext: boolean;
}

/** Z-15, Z-24: whether there is a time left, the engine knows. */
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

/** Z-15, Z-22, Z-23. */
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

/** The row of a running execution is behind its history, never ahead. */
function differs({ status, seq, last }: ExecutionFacts): boolean {
  if (last === undefined) return true;
  if (status === 'running') return last.seq < seq;
  return last.seq !== seq || (isTerminal(status) && last.kind !== status);
}

// Repairs ----------------------------------------------------------------------------------------

/** Z-11: what a unit that has settled says to its execution. */
export function settlementMessage(
  unit: AwaitUnit,
  interactions: readonly Interaction[],
): NewMessage {
  const { status, answered, needed, call } = unit;
  const byDefault = status === 'answered' && answered < needed;
  const body = settlementOf(unit, { status, interactions, byDefault });
  return { kind: 'await-settled', name: call, body };
}

/** Z-11: what the last of a call's executions says to its parent. Undefined when that is not known. */
export function childMessage(
  child: { readonly id: ExecutionId; readonly call: string },
  last: Pick<HistoryEvent, 'kind' | 'body'> | undefined,
): NewMessage | undefined {
  const { kind, body: said = '{}' } = last ?? { kind: 'submitted' };
  if (!isTerminal(kind as Status) || !said.startsWith('{')) return undefined;
  // Whoever was to go on in its place is not there.
  if ('continuedAs' in (JSON.parse(said) as object)) return undefined;
  const fields = said.slice(1);
  const begin = `{"id":"${child.id}","status":"${kind}"`;
  const body = `${begin}${fields === '}' ? '' : ','}${fields}` as Payload;
  return { kind: 'child-ended', name: child.call, body };
}

/** Z-12: all that is there is counted, and it looks. */
export function hearing(execution: ExecutionRecord, newest: number, now: Instant): ExecutionRecord {
  const { readyAt = now, news } = execution;
  const woken = queuedAt(execution, readyAt < now ? readyAt : now);
  return { ...woken, news: Math.max(news, newest) };
}

const NOBODY = '{"why":"run-by-nobody","abandoned":true}' as Payload;

/** Z-10: what it was doing may still be done somewhere, so it may be done twice. */
export function takenFromNobody(
  execution: ExecutionRecord,
  lastSeq: number,
  now: Instant,
): { readonly execution: ExecutionRecord; readonly event: HistoryEvent } {
  const event = historyEvent({ kind: 'given-back', body: NOBODY }, { seq: lastSeq + 1, at: now });
  return { execution: { ...queuedAt(execution, now), seq: event.seq }, event };
}
