// Why an execution is not moving: one answer for every state, in words. Pure.

import { formatInstant, type Instant } from '../support/clock.ts';
import { isSuspect, SUSPECT_WAIT } from './decide/suspect.ts';
import { type ExecutionRecord, isTerminal } from './execution.ts';
import { type Failure, locatedMessage } from './failure.ts';
import { type HistoryEvent, NAMED_CALLS_MAX, saidIn } from './history.ts';
import type { ExecutionId, Payload } from './names.ts';

export type ExplainCode =
  | 'ended'
  | 'paused'
  | 'blocked'
  | 'behind-key'
  | 'rate-limited'
  | 'delayed'
  | 'ready'
  | 'no-worker'
  | 'workers-stuck'
  | 'running'
  | 'owner-overdue'
  | 'owner-gone'
  | 'waiting-for-answer'
  | 'waiting-for-children'
  | 'waiting-for-signal'
  | 'waiting-for-time'
  | 'waiting-for-news';

export interface Explanation {
  readonly code: ExplainCode;
  /** For people: what it waits for, since or until when. */
  readonly sentence: string;
  /** What somebody can do about it, if anything. */
  readonly advice?: string;
  /** When it goes on by itself, if that is known. */
  readonly until?: Instant;
  /** A problem of the store that slows claims or makes its clock wrong, for operators. */
  readonly storeProblem?: { readonly sentence: string; readonly advice: string };
}

export interface ExplainFacts {
  readonly execution: ExecutionRecord;
  readonly now: Instant;
  /** The last events of its history, oldest first; the last one at least. */
  readonly last: readonly HistoryEvent[];
  /** Of the session that carries it, while it runs. */
  readonly owner?: { readonly name: string; readonly ended: boolean; readonly overdue: boolean };
  /** Names of its open awaits, with when they time out and who is to answer. */
  readonly awaits: readonly {
    readonly name: string;
    readonly dueAt?: Instant;
    readonly assignee?: string;
  }[];
  readonly openChildren: number;
  /** The first of them. */
  readonly child?: OpenChild;
  /** What it was told when it was paused while it ran. */
  readonly pause?: Payload;
  /** Of what is pinned and ready: who has its release and is not gone. */
  readonly workers?: readonly { readonly name: string; readonly stuck: boolean }[];
  /** Those that have its pipeline and no release that is registered: what they said they have, they are not. */
  readonly without?: readonly string[];
  /** Another release that it could be moved to. */
  readonly elsewhere?: string;
  /** Why the active release cannot go on with it, as its last preflight found. */
  readonly misfit?: { readonly release: string; readonly why: string };
}

export interface OpenChild {
  readonly id: ExecutionId;
  readonly pipeline: string;
  readonly release?: string;
  /** Nobody has taken it, and nobody is known who could. */
  readonly isWorkerless: boolean;
}

export function explain(facts: ExplainFacts): Explanation {
  const { execution } = facts;
  if (isTerminal(execution.status)) return ended(facts);
  const undoing = execution.compensating ? 'It undoes what it did. ' : '';
  const found = held(facts) ?? leftBehind(facts) ?? BY_STATUS[execution.status](facts);
  return { ...found, sentence: `${undoing}${found.sentence}` };
}

const BY_STATUS: Readonly<
  Record<'queued' | 'running' | 'waiting', (facts: ExplainFacts) => Explanation>
> = {
  queued,
  running,
  waiting,
};

function ended({ execution, last }: ExplainFacts): Explanation {
  const { status, endedAt } = execution;
  const why = failureIn(last.at(-1));
  const when = endedAt === undefined ? '' : ` since ${formatInstant(endedAt)}`;
  return {
    code: 'ended',
    sentence: `It is ${status}${when}${why === undefined ? '.' : `: ${why}`}`,
    ...(status === 'failed' || status === 'quarantined'
      ? { advice: 'Re-drive it when the cause is gone.' }
      : {}),
  };
}

/** Its history says who; of one that ran at the time, what it was told. */
function pausedBy(last: ExplainFacts['last'], told: ExplainFacts['pause']): string {
  const event = last.findLast(({ kind }) => kind === 'paused');
  const { by, reason } = saidIn<{ by: unknown; reason: unknown }>(told ?? event?.body);
  const since = event === undefined ? '' : ` since ${formatInstant(event.at)}`;
  const who = typeof by === 'string' && by !== '' ? ` by ${by}` : '';
  const why = typeof reason === 'string' && reason !== '' ? `: ${reason}` : '.';
  return `It is paused${who}${since}${why}`;
}

function held(facts: ExplainFacts): Explanation | undefined {
  const { execution, last, pause } = facts;
  const { holds, concurrency, status } = execution;
  if (status === 'running') return undefined;
  if (holds.includes('blocked')) {
    const why = last.findLast(({ kind }) => kind === 'blocked');
    const said = saidIn<{ why: string }>(why?.body).why;
    return {
      code: 'blocked',
      sentence: `It is blocked: ${said ?? 'its history and its code do not agree.'}`,
      advice: `Deploy code that fits its history, then resume it${orMove(facts)}.`,
    };
  }
  if (holds.includes('paused')) {
    return { code: 'paused', sentence: pausedBy(last, pause), advice: 'Resume it.' };
  }
  if (!holds.includes('behind-key')) return undefined;
  return {
    code: 'behind-key',
    sentence: `It waits for a place of concurrency key "${concurrency?.key ?? ''}".`,
    advice: 'A place is free when an execution with that key ends.',
  };
}

/** RE-13: no worker has its code any more, and the new code does not fit it, whatever it waits for. */
function leftBehind({ execution, workers, misfit }: ExplainFacts): Explanation | undefined {
  const { status, release, pipeline } = execution;
  if (status === 'running' || misfit === undefined || workers?.length !== 0) return undefined;
  return {
    code: 'no-worker',
    sentence: `It stays with release "${release ?? ''}" of pipeline "${pipeline}", which no worker has any more: release "${misfit.release}" would break it. ${misfit.why}`,
    advice:
      'Make the code fit what was recorded, start a worker that has the old one, or cancel it.',
  };
}

/** RE-8: where there is a release that it is not pinned to. */
function orMove({ execution, elsewhere }: ExplainFacts): string {
  if (elsewhere === undefined) return '';
  return `, or move it to another release: holdfast releases move ${execution.id} ${elsewhere}`;
}

function ready(facts: ExplainFacts, since: Instant): Explanation {
  const { pipeline } = facts.execution;
  const told = pinnedAndReady(facts, formatInstant(since));
  if (told !== undefined) return told;
  return {
    code: 'ready',
    sentence: `It has been ready since ${formatInstant(since)} and waits for a worker of pipeline "${pipeline}".`,
    advice: 'Start a worker that has this pipeline, or give the ones there are more concurrency.',
  };
}

/** RE-12: undefined where somebody will take it. */
function pinnedAndReady(facts: ExplainFacts, since: string): Explanation | undefined {
  const { execution, workers } = facts;
  const { release, pipeline } = execution;
  if (release === undefined || workers === undefined) return undefined;
  const what = `release "${release}" of pipeline "${pipeline}"`;
  if (workers.length === 0) {
    return {
      code: 'no-worker',
      sentence: `It has been ready since ${since} and is pinned to ${what}, which no worker has.${pretenders(facts)}`,
      advice: `Start a worker of that release${orMove(facts)}.`,
    };
  }
  if (!workers.every(({ stuck }) => stuck)) return undefined;
  const names = workers.slice(0, 3).map(({ name }) => name);
  return {
    code: 'workers-stuck',
    sentence: `It has been ready since ${since}. Those that have ${what} live and take no work: ${names.join(', ')}.`,
    advice: 'Look what their loop hangs on, or restart them.',
  };
}

/** RE-9: one that was refused is noted without a release. */
function pretenders({ without = [] }: ExplainFacts): string {
  if (without.length === 0) return '';
  const names = without.slice(0, 3).join(', ');
  return ` Without a release, or with one that was refused, there is: ${names}. A worker is refused whose digest or contract is not the registered one, and warns of it.`;
}

function queued(facts: ExplainFacts): Explanation {
  const { execution, now } = facts;
  const { readyAt = now, rate } = execution;
  if (readyAt <= now) return ready(facts, readyAt);
  const at = formatInstant(readyAt);
  if (rate !== undefined && execution.gated && execution.hasPlace) {
    return {
      code: 'rate-limited',
      sentence: `It has its turn under rate key "${rate.key}" at ${at}.`,
      until: readyAt,
    };
  }
  if (execution.deadlineAt !== undefined && readyAt >= execution.deadlineAt) {
    const sentence = `Its delay is as long as its deadline or longer: it ends at ${at} without starting.`;
    return { code: 'delayed', sentence, until: readyAt };
  }
  return { code: 'delayed', sentence: `It starts at ${at}.`, until: readyAt };
}

function running({ execution, owner, last }: ExplainFacts): Explanation {
  const who = owner?.name ?? 'a worker';
  const since =
    execution.claimedAt === undefined ? '' : ` since ${formatInstant(execution.claimedAt)}`;
  const { fruitlessClaims } = execution;
  const hasRecorded = last.at(-1)?.kind !== 'claimed';
  if ((owner === undefined || owner.ended) && isSuspect({ fruitlessClaims, hasRecorded })) {
    return {
      code: 'owner-gone',
      sentence: `Its worker ${who} is gone, and so are those before it: ${fruitlessClaims + 1} claims in a row were lost without progress. It is tried again within ${SUSPECT_WAIT.maxMs / 60_000} min, by a worker that has lived long enough without it and runs no other such execution.`,
      advice:
        'Keep a worker that has its pipeline running. Look at what this execution does first.',
    };
  }
  if (owner === undefined || owner.ended) {
    return {
      code: 'owner-gone',
      sentence: `Its worker ${who} is gone; the next worker that asks takes it over.`,
      advice: 'Start a worker that has its pipeline.',
    };
  }
  if (owner.overdue) {
    return {
      code: 'owner-overdue',
      sentence: `Its worker ${who} does not answer any more; it is taken over once that is certain.`,
    };
  }
  return { code: 'running', sentence: `It runs at ${who}${since}.` };
}

function waiting(facts: ExplainFacts): Explanation {
  const { execution, awaits, openChildren, last, now } = facts;
  const { readyAt } = execution;
  // What it waited for has come: its time.
  if (readyAt !== undefined && readyAt <= now) return ready(facts, readyAt);
  const [open] = awaits;
  if (open !== undefined) return waitingForAnswer(facts);
  const parked = last.findLast(({ kind }) => kind === 'parked');
  const named = saidIn<{ for: readonly string[] }>(parked?.body).for;
  const calls = Array.isArray(named) ? named.map(String) : [];
  const until = readyAt === undefined ? {} : { until: readyAt };
  const signals = calls.filter((call) => call.startsWith('signal:')).map(nameOf);
  if (openChildren > 0 && isForChildren(calls)) {
    return { ...waitingForChildren(facts), ...until };
  }
  if (signals.length > 0) {
    return {
      code: 'waiting-for-signal',
      sentence: `It waits for signal ${signals.map((name) => `"${name}"`).join(', ')}.`,
      advice: 'Send the signal, or cancel it.',
      ...until,
    };
  }
  if (readyAt !== undefined) {
    const what = calls.map(nameOf).join(', ');
    return {
      code: 'waiting-for-time',
      sentence: `It waits until ${formatInstant(readyAt)}${what === '' ? '.' : ` (${what}).`}`,
      until: readyAt,
    };
  }
  // Z-21: all of these are told by something that is open.
  return {
    code: 'waiting-for-news',
    sentence: `It waits for ${calls.join(', ') || 'a message'}, and nothing is open that would bring it.`,
    advice: 'Look at its history; signal it to wake it, or cancel it.',
  };
}

function waitingForChildren({ openChildren, child }: ExplainFacts): Explanation {
  const code = 'waiting-for-children';
  const several = openChildren === 1 ? 'a child to end' : `${openChildren} children to end`;
  if (child === undefined) return { code, sentence: `It waits for ${several}.` };
  const { id, pipeline, release, isWorkerless } = child;
  const which = `${id} of pipeline "${pipeline}"`;
  const what = `${release === undefined ? '' : `release "${release}" of `}pipeline "${pipeline}"`;
  return {
    code,
    sentence:
      openChildren === 1
        ? `It waits for child ${which} to end.`
        : `It waits for ${several}, the first of them ${which}.`,
    advice: isWorkerless
      ? `No worker of ${what} is known, so that one does not start: start a worker that has it.`
      : `See why that one does not move: explain ${id}.`,
  };
}

/** As far as is known: what parks names the first calls that it waits for. */
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
      sentence: `It waits for ${names}, whose time passed at ${formatInstant(until)}: the next worker that looks settles it.`,
      advice: 'Start a worker.',
    };
  }
  const by = people.length === 0 ? '' : ` by ${people.join(', ')}`;
  const time = until === undefined ? '' : `, until ${formatInstant(until)}`;
  return {
    code: 'waiting-for-answer',
    sentence: `It waits for the answer to ${names}${by}${time}.`,
    advice: 'Answer it, extend it, or cancel the await.',
    ...(until === undefined ? {} : { until }),
  };
}

/** `signal:go#1` is called go. */
function nameOf(call: string): string {
  return call.replace(/^[a-z]+:/, '').replace(/#\d+$/, '');
}

function failureIn(event: HistoryEvent | undefined): string | undefined {
  const { failure } = saidIn<{ failure: Partial<Failure> }>(event?.body);
  return failure?.message === undefined ? undefined : locatedMessage(failure);
}
