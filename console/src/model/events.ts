// History events as text: what happened, to which step, and how bad it is. Pure.

import type { FailureCategory } from '../../../src/execution/failure.ts';
import { publishedName, replyName, updateSignal } from '../../../src/features/updates/model.ts';
import { sentenceCase } from './words.ts';

export interface Event {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly name?: string | undefined;
  readonly fence?: number | undefined;
  readonly body?: unknown;
}

export interface FailureBody {
  readonly code?: string;
  readonly category?: FailureCategory;
  readonly message?: string;
  readonly stack?: string;
  readonly location?: string;
}

/** The fields of bodies that the console reads. */
export interface Body {
  readonly key?: string;
  readonly owner?: string;
  readonly previous?: string;
  readonly attempt?: number;
  readonly failure?: FailureBody;
  readonly status?: string;
  readonly out?: unknown;
  readonly log?: string;
  readonly id?: string;
  readonly ids?: readonly string[];
  readonly ms?: number;
  readonly until?: number;
  readonly retryInMs?: number;
  /** When the attempt began and how long it ran. Absent in histories of earlier versions. */
  readonly startedAt?: number;
  readonly tookMs?: number;
  readonly saga?: boolean;
  /** Of a received update: the token of its reply. */
  readonly update?: string;
  /** Other calls that were under way. */
  readonly with?: readonly string[];
  readonly reason?: string;
  readonly by?: string;
  /** Set for a re-drive whose input differs from that of the old execution. */
  readonly inputEdited?: boolean;
}

export const ENDS: ReadonlySet<string> = new Set([
  ...['completed', 'failed', 'cancelled', 'quarantined', 'compensated'],
]);

export function bodyOf({ body }: Event): Body {
  return typeof body === 'object' && body !== null ? (body as Body) : {};
}

export function timeOf({ at }: Event): number {
  return Date.parse(at);
}

export function isUndo(event: Event): boolean {
  return bodyOf(event).key?.startsWith('undo:') === true;
}

export function isTakeover(event: Event): boolean {
  return event.kind === 'claimed' && bodyOf(event).previous === 'lost';
}

/** Event kinds whose code is not plain enough; the others are shown in sentence case. */
const TITLES: Readonly<Record<string, string>> = {
  'step-completed': 'Step succeeded',
  'timer-set': 'Timer started',
  parked: 'Released while waiting',
  'given-back': 'Released',
  'await-opened': 'Request opened',
  'await-settled': 'Request settled',
  'child-spawned': 'Child started',
  compensating: 'Compensation started',
  attached: 'Document attached',
  progressed: 'Log',
};

/** Events whose names have a prefix of the engine. */
const PREFIXED = [
  { kind: 'attached', prefix: publishedName(''), title: 'Value published' },
  { kind: 'attached', prefix: replyName(''), title: 'Reply sent' },
  { kind: 'signal-received', prefix: updateSignal(''), title: 'Update received' },
] as const;

function prefixedOf({ kind, name = '' }: Event): (typeof PREFIXED)[number] | undefined {
  return PREFIXED.find((each) => each.kind === kind && name.startsWith(each.prefix));
}

export function titleOf(event: Event): string {
  if (isTakeover(event)) return 'Taken over';
  const prefixed = prefixedOf(event);
  if (prefixed !== undefined) return prefixed.title;
  if (isUndo(event)) {
    if (event.kind === 'step-completed') return 'Compensation succeeded';
    if (event.kind === 'step-failed') return 'Compensation failed';
  }
  return TITLES[event.kind] ?? sentenceCase(event.kind);
}

/** The step, timer or child of an event. */
export function stepOf(event: Event): string {
  const [, group, nth] = /^children:(.*)#\d+\[(\d+)\]$/.exec(event.name ?? '') ?? [];
  if (group !== undefined) return `${group} #${Number(nth) + 1}`;
  const name = (event.name ?? '').slice(prefixedOf(event)?.prefix.length ?? 0);
  return `${isUndo(event) ? '↶ ' : ''}${name}`;
}

/** An update that the code received. */
export interface ReceivedUpdate {
  readonly name: string;
  readonly at: string;
  readonly value: unknown;
  /** The name of the stored reply. */
  readonly reply: string;
  readonly repliedAt: string | undefined;
}

/** In the order of their receipt. */
export function updatesIn(events: readonly Event[]): readonly ReceivedUpdate[] {
  const replied = new Map(events.map((event) => [event.name, event.at]));
  return events.flatMap((event) => {
    const { update, out } = bodyOf(event);
    if (event.kind !== 'signal-received' || update === undefined) return [];
    const reply = replyName(update);
    const repliedAt = replied.get(reply);
    return [{ name: stepOf(event), at: event.at, value: out, reply, repliedAt }];
  });
}

/** Names of published values, with the time of the last one. */
export function publishedIn(events: readonly Event[]): ReadonlyMap<string, string> {
  const found = events.filter((event) => prefixedOf(event)?.title === 'Value published');
  return new Map(found.map((event) => [stepOf(event), event.at]));
}

const PREVIEW_MAX = 160;

/** One line about the event: its error, its log line, or the start of its value. */
export function detailOf(event: Event): string {
  const { log, owner, attempt, failure, out, ids, retryInMs, reason, status, by } = bodyOf(event);
  if (bodyOf(event).inputEdited === true) {
    return `Input edited by ${by ?? 'anonymous'}${reason ? `: ${reason}` : ''}`;
  }
  if (event.kind === 'claimed') return owner === undefined ? '' : `by ${owner}`;
  if (failure?.message !== undefined) {
    const again = retryInMs === undefined ? '' : `, retry in ${Math.round(retryInMs)} ms`;
    return `${attempt === undefined ? '' : `Attempt ${attempt}: `}${failure.message}${again}`;
  }
  if (log !== undefined) return log;
  if (ids !== undefined && ids.length > 1) return `${ids.length} children`;
  if (out !== undefined) return (JSON.stringify(out) ?? '').slice(0, PREVIEW_MAX);
  return reason ?? status ?? '';
}

export type Tone = 'bad' | 'good' | 'undo' | 'warn' | 'plain';

const BAD = new Set(['step-failed', 'failed', 'quarantined', 'blocked']);
const GOOD = new Set(['step-completed', 'completed']);
const UNDO = new Set(['compensating', 'compensated']);

export function toneOf(event: Event): Tone {
  const childStatus = event.kind === 'child-ended' ? bodyOf(event).status : undefined;
  if (BAD.has(event.kind) || (childStatus !== undefined && childStatus !== 'completed'))
    return 'bad';
  if (isTakeover(event)) return 'warn';
  if (isUndo(event) || UNDO.has(event.kind)) return 'undo';
  return GOOD.has(event.kind) ? 'good' : 'plain';
}

const BOOKKEEPING = new Set(['parked', 'given-back', 'progressed', 'timer-fired']);

/** Left out of the compact history: a worker came or went, and nothing happened. */
export function isBookkeeping(event: Event): boolean {
  return BOOKKEEPING.has(event.kind) || (event.kind === 'claimed' && !isTakeover(event));
}

/** The worker of each fence. */
export function ownersOf(events: readonly Event[]): ReadonlyMap<number, string> {
  const owners = new Map<number, string>();
  for (const event of events) {
    const { owner } = bodyOf(event);
    if (event.kind === 'claimed' && owner !== undefined && event.fence !== undefined) {
      owners.set(event.fence, owner);
    }
  }
  return owners;
}
