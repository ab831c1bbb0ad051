// Explains why an execution does not progress, with one sentence for every state. Pure.

import { LEASE_CALL } from '../features/leases/model.ts';
import { formatInstant, type Instant } from '../support/clock.ts';
import type { Code } from '../support/codes/catalogue.ts';
import { isSuspect, SUSPECT_WAIT } from './decide/suspect.ts';
import {
  type ExecutionRecord,
  isTerminal,
  type StepHeartbeat,
  stepHeartbeats,
} from './execution.ts';
import { type Failure, locatedMessage } from './failure.ts';
import { type HistoryEvent, NAMED_CALLS_MAX, parseBody } from './history.ts';
import type { ExecutionId, Payload } from './names.ts';

/** The prefix of the releases that `holdfast dev` creates. */
export const DEV_RELEASE = 'dev-';

const INPUT_REFUSED: Code = 'input-refused';

/** Each code of an explanation, and the state of the execution that it names. */
export const EXPLAIN_CODES = {
  ended: 'It has ended.',
  paused: 'An operator paused it.',
  blocked: 'The deployed code does not match its history, or a value cannot be read.',
  'concurrency-limit': 'It, or a question that it asks, waits for a slot of a concurrency key.',
  'rate-limited': 'It waits for its rate limit.',
  delayed: 'It starts later, as it was submitted with a delay.',
  retrying: 'Its code failed, and the whole execution runs again later.',
  ready: 'It is ready and waits for a worker.',
  'no-worker': 'It is ready, and no live worker serves its pipeline and release.',
  'workers-stuck': 'It is ready, and its workers live but claim nothing.',
  running: 'A worker runs it.',
  'owner-overdue': 'Its worker missed heartbeats.',
  'owner-gone': 'Its worker is gone; another one takes over.',
  'waiting-for-answer': 'It waits for an answer to a question.',
  'waiting-for-children': 'It waits for child executions to end.',
  'waiting-for-signal': 'It waits for a signal.',
  'waiting-for-lease': 'It waits for a lease that `ctx.lease` needs.',
  'waiting-for-circuit': 'It waits because the service that a step calls failed repeatedly.',
  'waiting-for-time': 'It sleeps, or waits for the next attempt of a step.',
  'waiting-for-message': 'It waits for a message that no pending call can send.',
} as const;

/** A stable code for the reason why an execution is not progressing. */
export type ExplainCode = keyof typeof EXPLAIN_CODES;

/** Why an execution is not progressing. */
export interface Explanation {
  /** The reason, for programs. */
  readonly code: ExplainCode;
  /** The reason, for operators: the thing it waits for, and since or until when. */
  readonly sentence: string;
  /** The action that helps, if there is one. */
  readonly advice?: string;
  /** When it continues without any action, if that is known. */
  readonly until?: Instant;
  /**
   * A problem of the store that slows claims or makes its clock wrong: a `sentence` and `advice`.
   */
  readonly storeProblem?: { readonly sentence: string; readonly advice: string };
}

export interface ExplainFacts {
  readonly execution: ExecutionRecord;
  readonly now: Instant;
  /** The last events of its history, oldest first; the last one at least. */
  readonly last: readonly HistoryEvent[];
  /** The session that runs it. */
  readonly owner?: { readonly name: string; readonly ended: boolean; readonly overdue: boolean };
  /** Its open awaits, with their timeouts and assignees. */
  readonly awaits: readonly {
    readonly name: string;
    readonly dueAt?: Instant;
    readonly assignee?: string;
  }[];
  /** A question that waits for a slot. Absent if it has an open await. */
  readonly queued?: { readonly name: string; readonly key: string; readonly dueAt?: Instant };
  readonly openChildren: number;
  /** It has more children than were read, open or not. */
  readonly hasMoreChildren?: boolean;
  readonly child?: OpenChild;
  /** The lease that it waits for. */
  readonly lease?: LeaseWait;
  /** The pause command, if it was running when it was paused. */
  readonly pause?: Payload;
  /** The cancel command, if it was running when it was cancelled. */
  readonly cancel?: Payload;
  /** Live workers with its release; only for a pinned execution that is ready. */
  readonly workers?: readonly { readonly name: string; readonly stuck: boolean }[];
  /** Workers that serve its pipeline without a release, or whose release was refused. */
  readonly without?: readonly string[];
  /** Another release that it could be repinned to and that is not known to break it. */
  readonly elsewhere?: string;
  /** Why the active release cannot continue it, according to its last preflight. */
  readonly misfit?: { readonly release: string; readonly why: string };
}

/** A lease that an execution waits for. Without a `holder`, the lease is free. */
export interface LeaseWait {
  readonly resource: string;
  readonly holder?: {
    readonly owner: string;
    readonly fence: number;
    readonly since: Instant;
    /** The execution that holds it, if one does. */
    readonly execution?: ExecutionId;
    readonly pipeline?: string;
  };
  /** Executions that wait for each other: each for a lease that the next holds, the last for the first. */
  readonly cycle?: readonly { readonly id: ExecutionId; readonly resource: string }[];
}

interface OpenChild {
  readonly id: ExecutionId;
  readonly pipeline: string;
  readonly release?: string;
  /** It is not claimed, and no known worker serves its pipeline. */
  readonly isWorkerless: boolean;
}

export function explain(facts: ExplainFacts): Explanation {
  const { execution } = facts;
  if (isTerminal(execution.status)) return ended(facts);
  const undoing = blockedBeforeUndoing(facts);
  if (undoing !== undefined) return undoing;
  const compensating = execution.compensating ? 'Compensating. ' : '';
  const found = held(facts) ?? leftBehind(facts) ?? BY_STATUS[execution.status](facts);
  return { ...found, sentence: `${compensating}${found.sentence}` };
}

const BY_STATUS: Readonly<
  Record<'queued' | 'running' | 'waiting', (facts: ExplainFacts) => Explanation>
> = { queued, running, waiting };

function ended(facts: ExplainFacts): Explanation {
  const { execution, last } = facts;
  const { status, endedAt } = execution;
  const { failure } = parseBody<{ failure: Partial<Failure> }>(last.at(-1)?.body);
  const why = failure?.message === undefined ? undefined : locatedMessage(failure);
  const when = endedAt === undefined ? '' : ` at ${formatInstant(endedAt)}`;
  const cancelled = cancelledBy(facts);
  if (cancelled !== undefined && status === 'cancelled') {
    return { code: 'ended', sentence: `${cancelled}${when}.` };
  }
  if (cancelled !== undefined && status === 'compensated') {
    return { code: 'ended', sentence: `${cancelled}. Its steps were undone${when}.` };
  }
  const sentence = `${`${status.charAt(0).toUpperCase()}${status.slice(1)}`}${when}${why === undefined ? '.' : `: ${why}`}`;
  if (status !== 'failed' && status !== 'quarantined') return { code: 'ended', sentence };
  const isCompensationOpen = status === 'quarantined' && execution.compensating;
  const retry = isCompensationOpen
    ? `retry the compensation: holdfast redrive ${execution.id} --mode compensate`
    : 're-drive';
  const isInput = failure?.code === INPUT_REFUSED;
  const advice = isInput
    ? `Re-drive it with an input that its code accepts: holdfast redrive ${execution.id} --input <json>. If the input is right, deploy code that accepts it, then re-drive.`
    : `Fix the cause, then ${retry}.`;
  return { code: 'ended', sentence, advice };
}

/** The event that ended it as cancelled, or that began to undo its steps because of a cancel. */
export function cancelEvent(last: ExplainFacts['last']): HistoryEvent | undefined {
  const event = last.findLast(({ kind }) => kind === 'compensating' || kind === 'cancelled');
  if (event?.kind !== 'compensating') return event;
  const { status } = parseBody<{ status: unknown }>(event.body);
  return status === 'cancelled' ? event : undefined;
}

/**
 * Such as `Cancelled by olga (ordered twice)`. Undefined if it was not cancelled, or if only the
 * failure of its end has the reason, as after a re-drive.
 */
function cancelledBy({ last, cancel }: ExplainFacts): string | undefined {
  const event = cancelEvent(last);
  if (event === undefined) return undefined;
  const body = parseBody<{ asked: unknown; failure: unknown }>(cancel ?? event.body);
  if (body.failure !== undefined) return undefined;
  const asked = typeof body.asked === 'object' && body.asked !== null ? body.asked : body;
  const { by, reason } = asked as { readonly by?: unknown; readonly reason?: unknown };
  const who = typeof by === 'string' && by !== '' ? ` by ${by}` : '';
  const why = typeof reason === 'string' && reason !== '' ? ` (${reason})` : '';
  return `Cancelled${who}${why}`;
}

/**
 * A cancel and a passed deadline leave the hold `blocked` (Y-8). The reason of the older block would
 * advise a cancel, so this names the resume instead.
 */
function blockedBeforeUndoing(facts: ExplainFacts): Explanation | undefined {
  const { execution, last } = facts;
  if (execution.status === 'running' || !execution.holds.includes('blocked')) return undefined;
  const newest = last.findLast(({ kind }) => kind === 'blocked' || kind === 'compensating');
  if (!execution.compensating || newest?.kind !== 'compensating') return undefined;
  const cause = cancelledBy(facts) ?? 'Its deadline passed';
  return {
    code: 'blocked',
    sentence: `${cause} while it was blocked. Its steps are not undone yet.`,
    advice: `Run holdfast resume ${execution.id} to undo its steps. If the code does not fit its history, it is blocked again, with the reason.`,
  };
}

/** The pause command if it was running at the time, or the event in its history. */
function pausedBy(last: ExplainFacts['last'], pause: ExplainFacts['pause']): string {
  const event = last.findLast(({ kind }) => kind === 'paused');
  const { by, reason } = parseBody<{ by: unknown; reason: unknown }>(pause ?? event?.body);
  const when = event === undefined ? '' : ` at ${formatInstant(event.at)}`;
  const who = typeof by === 'string' && by !== '' ? ` by ${by}` : '';
  const why = typeof reason === 'string' && reason !== '' ? `: ${reason}` : '.';
  return `Paused${who}${when}${why}`;
}

function held(facts: ExplainFacts): Explanation | undefined {
  const { execution, last, pause } = facts;
  const { holds, concurrency, status } = execution;
  if (status === 'running') return undefined;
  if (holds.includes('blocked')) {
    const why = last.findLast(({ kind }) => kind === 'blocked');
    const reason = parseBody<{ why: string }>(why?.body).why;
    return {
      code: 'blocked',
      sentence: `Blocked: ${reason ?? "the deployed code no longer matches this execution's history."}`,
      advice: unblocking(facts),
    };
  }
  if (holds.includes('paused')) {
    return { code: 'paused', sentence: pausedBy(last, pause), advice: 'Resume it.' };
  }
  if (!holds.includes('concurrency-limit')) return undefined;
  return {
    code: 'concurrency-limit',
    sentence: `Waiting for a slot of concurrency key "${concurrency?.key ?? ''}".`,
    advice: 'A slot frees up when another execution with this key ends.',
  };
}

/** No worker has its release any more, and the active release cannot continue it (RE-13). */
function leftBehind({ execution, workers, misfit }: ExplainFacts): Explanation | undefined {
  const { status, release, pipeline } = execution;
  if (status === 'running' || misfit === undefined || workers?.length !== 0) return undefined;
  return {
    code: 'no-worker',
    sentence: `Pinned to release "${release ?? ''}" of pipeline "${pipeline}", which no worker runs any more; release "${misfit.release}" is incompatible. ${misfit.why}`,
    advice:
      'Make the new code compatible with the history, start a worker with the old release, or cancel the execution.',
  };
}

/** A pinned execution continues only with its own release or with one that it is repinned to (RE-8). */
function unblocking({ execution, elsewhere }: ExplainFacts): string {
  const { id, release } = execution;
  if (release === undefined) return 'Deploy compatible code, then resume.';
  if (elsewhere === undefined && release.startsWith(DEV_RELEASE)) {
    return 'Save compatible code: holdfast dev repins the execution to it. If the cause is gone, resume.';
  }
  const repin = `holdfast releases repin ${id} ${elsewhere ?? '<release>'}`;
  return elsewhere === undefined
    ? `Deploy compatible code as a new release, then repin the execution to it: ${repin}. If the cause is gone, resume.`
    : `Deploy compatible code as a new release, or repin the execution to an existing one: ${repin}.`;
}

/** Empty if there is no other release to repin it to (RE-8). */
function orRepin({ execution, elsewhere }: ExplainFacts): string {
  if (elsewhere === undefined) return '';
  return `, or repin it to another release: holdfast releases repin ${execution.id} ${elsewhere}`;
}

function ready(facts: ExplainFacts, since: Instant): Explanation {
  const { pipeline } = facts.execution;
  const waiting = pinnedAndReady(facts, formatInstant(since));
  if (waiting !== undefined) return waiting;
  return {
    code: 'ready',
    sentence: `Ready since ${formatInstant(since)}, waiting for a worker that serves pipeline "${pipeline}".`,
    advice: 'Start a worker for this pipeline, or raise the concurrency of the running ones.',
  };
}

/** Undefined if a worker can claim it (RE-12). */
function pinnedAndReady(facts: ExplainFacts, since: string): Explanation | undefined {
  const { execution, workers } = facts;
  const { release, pipeline } = execution;
  if (release === undefined || workers === undefined) return undefined;
  const what = `release "${release}" of pipeline "${pipeline}"`;
  if (workers.length === 0) {
    return {
      code: 'no-worker',
      sentence: `Ready since ${since}, pinned to ${what}; no worker runs it.${workersWithoutCode(facts)}`,
      advice: `Start a worker with that release${orRepin(facts)}.`,
    };
  }
  if (!workers.every(({ stuck }) => stuck)) return undefined;
  const names = workers.slice(0, 3).map(({ name }) => name);
  return {
    code: 'workers-stuck',
    sentence: `Ready since ${since}. Workers with ${what} are alive but not claiming: ${names.join(', ')}.`,
    advice: 'Check what blocks them, or restart them.',
  };
}

/** A worker whose release was refused is recorded without a release (RE-9). */
function workersWithoutCode({ without = [] }: ExplainFacts): string {
  if (without.length === 0) return '';
  const names = without.slice(0, 3).join(', ');
  return ` Workers without a release, or whose release was refused: ${names}. A release is refused, and its worker logs a warning, if digest or contract differ from the registered ones.`;
}

function queued(facts: ExplainFacts): Explanation {
  const { execution, now } = facts;
  const { readyAt = now, rate } = execution;
  if (readyAt <= now) return ready(facts, readyAt);
  if (facts.lease !== undefined) return waitingForLease(facts.lease, readyAt);
  const at = formatInstant(readyAt);
  if (rate !== undefined && execution.gated && execution.hasSlot) {
    return {
      code: 'rate-limited',
      sentence: `Rate limited by key "${rate.key}" until ${at}.`,
      until: readyAt,
    };
  }
  if (execution.deadlineAt !== undefined && readyAt >= execution.deadlineAt) {
    const sentence = `The start delay exceeds the deadline: the execution ends at ${at} without starting.`;
    return { code: 'delayed', sentence, until: readyAt };
  }
  const failed = retried(facts.last);
  if (failed !== undefined) {
    const sentence = `Attempt ${failed.attempt} failed: ${locatedMessage(failed.failure)}. The execution runs again at ${at}.`;
    return { code: 'retrying', sentence, until: readyAt };
  }
  return { code: 'delayed', sentence: `Scheduled to start at ${at}.`, until: readyAt };
}

/** The failure for which the execution was given back, to run again (X-133). */
function retried(last: ExplainFacts['last']) {
  const { attempt, failure } = parseBody<{ attempt: number; failure: Partial<Failure> }>(
    last.findLast(({ kind }) => kind === 'given-back')?.body,
  );
  return attempt === undefined || failure === undefined ? undefined : { attempt, failure };
}

function waitingForLease({ resource, holder, cycle }: LeaseWait, until?: Instant): Explanation {
  const code = 'waiting-for-lease';
  const again = until === undefined ? '' : ` It tries again at ${formatInstant(until)}.`;
  const common = { code, ...(until === undefined ? {} : { until }) } as const;
  const [first, ...rest] = cycle ?? [];
  if (first !== undefined) {
    const links = [...rest, first].map(
      ({ id, resource: wanted }, nth) =>
        `${nth === rest.length ? 'this execution' : id}${nth === rest.length ? '' : `, which waits for lease "${wanted}" of `}`,
    );
    return {
      ...common,
      sentence: `Deadlock: it waits for lease "${resource}" of ${links.join('')}.${again}`,
      advice:
        'It ends by itself: each of them gives up its leases after a while and tries again. To avoid it, acquire the leases in the same order everywhere.',
    };
  }
  if (holder === undefined) {
    return { ...common, sentence: `Waiting for lease "${resource}", which is free.${again}` };
  }
  const { execution, pipeline, owner, since } = holder;
  const by =
    execution === undefined
      ? owner
      : `execution ${execution} of pipeline "${pipeline}" on ${owner}`;
  return {
    ...common,
    sentence: `Waiting for lease "${resource}", held by ${by} since ${formatInstant(since)}.${again}`,
    advice:
      execution === undefined
        ? 'Check that holder, or revoke its lease.'
        : `Check why that execution does not progress: explain ${execution}.`,
  };
}

function running({ execution, owner, last, lease }: ExplainFacts): Explanation {
  const worker = owner === undefined ? 'The worker' : `Worker ${owner.name}`;
  const since =
    execution.claimedAt === undefined ? '' : ` since ${formatInstant(execution.claimedAt)}`;
  const { claimsWithoutProgress } = execution;
  const hasRecorded = last.at(-1)?.kind !== 'claimed';
  if ((owner === undefined || owner.ended) && isSuspect({ claimsWithoutProgress, hasRecorded })) {
    return {
      code: 'owner-gone',
      sentence: `${worker} is gone, like the ones before it: ${claimsWithoutProgress + 1} claims in a row were lost without progress. The next attempt is within ${SUSPECT_WAIT.maxMs / 60_000} min, by a worker that has been up long enough and runs no other such execution.`,
      advice:
        'Keep a worker for its pipeline running. Check whether this execution crashes its worker.',
    };
  }
  if (owner === undefined || owner.ended) {
    return {
      code: 'owner-gone',
      sentence: `${worker} is gone; the next available worker will take over.`,
      advice: 'Start a worker for its pipeline.',
    };
  }
  if (owner.overdue) {
    return {
      code: 'owner-overdue',
      sentence: `${worker} missed its heartbeats; another worker takes over when its lease expires.`,
    };
  }
  if (lease !== undefined) return waitingForLease(lease);
  const sentence = `Running on ${owner.name}${since}.${lastHeartbeat(execution)}`;
  return { code: 'running', sentence };
}

/** The last heartbeat of its steps, if one has sent any. */
function lastHeartbeat({ heartbeats = [] }: ExecutionRecord): string {
  const steps = stepHeartbeats(heartbeats).filter(({ key }) => !key.startsWith(LEASE_CALL));
  const last = steps.reduce<StepHeartbeat | undefined>(
    (newest, each) => (newest === undefined || each.at >= newest.at ? each : newest),
    undefined,
  );
  if (last === undefined) return '';
  return ` ${last.key}, attempt ${last.attempt}, sent its last heartbeat at ${formatInstant(last.at)}.`;
}

function waiting(facts: ExplainFacts): Explanation {
  const { execution, awaits, openChildren, hasMoreChildren = false, last, now } = facts;
  const { readyAt } = execution;
  // Its timer has fired.
  if (readyAt !== undefined && readyAt <= now) return ready(facts, readyAt);
  const [open] = awaits;
  if (open !== undefined) return waitingForAnswer(facts);
  if (facts.queued !== undefined) return waitingToAsk(facts.queued);
  const parked = last.findLast(({ kind }) => kind === 'parked');
  const named = parseBody<{ for: readonly string[] }>(parked?.body).for;
  const calls = Array.isArray(named) ? named.map(String) : [];
  const until = readyAt === undefined ? {} : { until: readyAt };
  const signals = calls.filter((call) => call.startsWith('signal:')).map(nameOf);
  if ((openChildren > 0 || hasMoreChildren) && isForChildren(calls)) {
    return { ...waitingForChildren(facts), ...until };
  }
  if (signals.length > 0) {
    return {
      code: 'waiting-for-signal',
      sentence: `Waiting for signal ${signals.map((name) => `"${name}"`).join(', ')}.`,
      advice: 'Send the signal, or cancel the execution.',
      ...until,
    };
  }
  if (facts.lease !== undefined) return waitingForLease(facts.lease, readyAt);
  const circuit = circuitOpenIn(facts, calls);
  if (circuit !== undefined) return { ...circuit, ...until };
  if (readyAt !== undefined) {
    const what = calls.map(nameOf).join(', ');
    const verb = calls.some((call) => call.startsWith('sleep:')) ? 'Sleeping' : 'Waiting';
    return {
      code: 'waiting-for-time',
      sentence: `${verb} until ${formatInstant(readyAt)}${what === '' ? '.' : ` (${what}).`}`,
      until: readyAt,
    };
  }
  // Only a timer, a child or an await can wake it, and none is open (Z-21).
  return {
    code: 'waiting-for-message',
    sentence: `Waiting for ${calls.join(', ') || 'a message'}, but nothing pending can deliver it.`,
    advice: 'Check the history. Send a signal to wake the execution, or cancel it.',
  };
}

/** The last attempt of a step that it waits for did not begin, because its circuit is open. */
function circuitOpenIn({ last }: ExplainFacts, calls: readonly string[]): Explanation | undefined {
  for (const { kind, body } of last.toReversed()) {
    if (kind !== 'step-failed') continue;
    const { key, failure } = parseBody<{ key: string; failure: Partial<Failure> }>(body);
    if (key === undefined || !calls.includes(key)) continue;
    if (failure?.code !== 'circuit-open') return undefined;
    return {
      code: 'waiting-for-circuit',
      sentence: `Step "${nameOf(key)}" waits. ${failure.message ?? ''}`,
      advice: 'Repair the service that the step calls. Then the step continues by itself.',
    };
  }
  return undefined;
}

function waitingForChildren({ openChildren, hasMoreChildren, child }: ExplainFacts): Explanation {
  const code = 'waiting-for-children';
  const several = childrenToEnd(openChildren, hasMoreChildren === true);
  if (child === undefined) return { code, sentence: `Waiting for ${several}.` };
  const { id, pipeline, release, isWorkerless } = child;
  const which = `${id} of pipeline "${pipeline}"`;
  const what = `${release === undefined ? '' : `release "${release}" of `}pipeline "${pipeline}"`;
  return {
    code,
    sentence:
      openChildren === 1 && hasMoreChildren !== true
        ? `Waiting for child ${which} to end.`
        : `Waiting for ${several}; the first is ${which}.`,
    advice: isWorkerless
      ? `No worker serves ${what}, so this child cannot start. Start a worker for it.`
      : `Check why this child does not progress: explain ${id}.`,
  };
}

function childrenToEnd(open: number, isCut: boolean): string {
  if (isCut && open === 0) return 'children to end';
  if (open === 1) return isCut ? 'at least one child to end' : 'a child to end';
  return `${isCut ? 'at least ' : ''}${open} children to end`;
}

/** The event names only the first calls, so a full list may leave out a call that waits for a child. */
function isForChildren(calls: readonly string[]): boolean {
  const isKnown = calls.length > 0 && calls.length < NAMED_CALLS_MAX;
  return !isKnown || calls.some((call) => call.startsWith('result:'));
}

function waitingForAnswer({ awaits, now }: ExplainFacts): Explanation {
  const names = [...new Set(awaits.map(({ name }) => `"${name}"`))].slice(0, 3).join(', ');
  const people = [...new Set(awaits.flatMap(({ assignee }) => assignee ?? []))].slice(0, 3);
  const dues = awaits.flatMap(({ dueAt }) => dueAt ?? []);
  const until = dues.reduce<Instant | undefined>(
    (soonest, each) => (soonest === undefined || each < soonest ? each : soonest),
    undefined,
  );
  if (until !== undefined && until <= now) {
    return {
      code: 'waiting-for-answer',
      sentence: `The timeout of ${names} passed at ${formatInstant(until)}; the next worker will apply it.`,
      advice: 'Start a worker.',
    };
  }
  const from = people.length === 0 ? '' : ` from ${people.join(', ')}`;
  const time = until === undefined ? '' : `, until ${formatInstant(until)}`;
  return {
    code: 'waiting-for-answer',
    sentence: `Waiting for an answer to ${names}${from}${time}.`,
    advice: 'Answer, extend the deadline, or cancel the request.',
    ...(until === undefined ? {} : { until }),
  };
}

function waitingToAsk({ name, key, dueAt }: NonNullable<ExplainFacts['queued']>): Explanation {
  const time = dueAt === undefined ? '' : `, until ${formatInstant(dueAt)}`;
  return {
    code: 'concurrency-limit',
    sentence: `Question "${name}" waits for a slot of concurrency key "${key}"${time}.`,
    advice: 'A slot frees up when another question with this key is answered or ends.',
    ...(dueAt === undefined ? {} : { until: dueAt }),
  };
}

/** The name in a call's key: `go` for `signal:go#1`. */
function nameOf(call: string): string {
  return call.replace(/^[a-z]+:/, '').replace(/#\d+$/, '');
}
