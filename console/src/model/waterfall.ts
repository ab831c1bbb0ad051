// A history as the rows of a waterfall: owners, refused writes, steps and waits, fan-outs, compensations.
// Pure.

import { locatedMessage } from '../../../src/execution/failure.ts';
import { type Body, bodyOf, ENDS, type Event, timeOf } from './events.ts';
import { shownFence } from './words.ts';

/** How a span of time was spent, which selects its colour. */
export type Spent =
  | 'queued'
  | 'owned'
  | 'lost'
  | 'ok'
  | 'failed'
  | 'backoff'
  | 'waiting'
  | 'skipped';

export interface Span {
  readonly fromMs: number;
  /** Undefined while it is running. */
  readonly toMs: number | undefined;
  readonly spent: Spent;
  readonly label: string;
  readonly seq: number;
}

export type RowKind = 'owner' | 'step' | 'wait' | 'fan-out' | 'child' | 'undo';

export interface Row {
  readonly key: string;
  readonly kind: RowKind;
  readonly name: string;
  readonly spans: readonly Span[];
  /** The event to select with the row: the last one. */
  readonly seq: number;
  readonly attempts: number;
  /** Steps that ran at the same time as the one before or after. */
  readonly isParallel: boolean;
  /** False if the history has no start, so that the duration is an upper limit. */
  readonly isExact: boolean;
  readonly failure?: string;
  /** The ended children of a fan-out. */
  readonly counts?: { readonly all: number; readonly ok: number; readonly bad: number };
  /** The rows of a fan-out's children, failures first. */
  readonly children?: readonly Row[];
  /** The execution of a child. */
  readonly execution?: string;
}

export interface Takeover {
  readonly atMs: number;
  readonly fence: number;
}

export interface Waterfall {
  readonly owner: Row;
  readonly rows: readonly Row[];
  readonly compensation: readonly Row[];
  readonly takeovers: readonly Takeover[];
  readonly workers: number;
  readonly fromMs: number;
  /** The time of the last event, or of the last timer that is set. */
  readonly toMs: number;
  readonly isOver: boolean;
}

interface Growing {
  readonly key: string;
  readonly kind: RowKind;
  name: string;
  spans: Span[];
  seq: number;
  attempts: number;
  isExact: boolean;
  failure?: string;
  execution?: string;
  expected: number;
  readonly children: Growing[];
}

const OWNER_ENDS = new Set(['parked', 'given-back', 'compensating']);
const OPENS = new Map([
  ['timer-set', 'Sleep'],
  ['await-opened', 'Request'],
  ['child-spawned', 'Child'],
]);
const CLOSES = new Map([
  ['timer-fired', 'Sleep'],
  ['await-settled', 'Request'],
  ['child-ended', 'Child'],
  ['signal-received', 'Signal'],
]);
/** The code does not continue because of these, so no step starts with them. */
const PASSIVE = new Set(['progressed', 'parked', 'timer-set', 'await-opened', 'attached']);

class Builder {
  readonly rows: Map<string, Growing> = new Map();
  readonly takeovers: Takeover[] = [];
  readonly owners: Set<string> = new Set();
  readonly ownerSpans: Span[] = [];
  owner: { fromMs: number; label: string; seq: number } | undefined;
  /** The earliest time at which the next call can have started. */
  sinceMs = 0;
  /** Calls that another event named as under way, and when they can have started. */
  readonly startedMs: Map<string, number> = new Map();
  readonly undoable: { readonly key: string; readonly name: string }[] = [];
  latestMs = 0;

  row(key: string, kind: RowKind, name: string): Growing {
    const found = this.rows.get(key);
    if (found !== undefined) return found;
    const row: Growing = {
      ...{ key, kind, name, spans: [], seq: 0, attempts: 0, isExact: true },
      ...{ expected: 0, children: [] },
    };
    this.rows.set(key, row);
    return row;
  }

  endOwner(toMs: number, spent: 'owned' | 'lost'): void {
    if (this.owner === undefined) return;
    this.ownerSpans.push({ ...this.owner, toMs, spent });
    this.owner = undefined;
  }

  startOf(key: string): number {
    return this.startedMs.get(key) ?? this.sinceMs;
  }
}

export function waterfallOf(events: readonly Event[]): Waterfall {
  const builder = new Builder();
  const [first] = events;
  const fromMs = first === undefined ? 0 : timeOf(first);
  builder.sinceMs = fromMs;
  for (const event of events) read(builder, event);
  const last = events.at(-1);
  const isOver = last !== undefined && ENDS.has(last.kind);
  const { owner } = builder;
  if (owner !== undefined) builder.ownerSpans.push({ ...owner, toMs: undefined, spent: 'owned' });
  if (isOver) skipRest(builder, timeOf(last));
  const rows = [...builder.rows.values()].map(finished);
  markParallel(rows);
  return {
    owner: {
      ...{ key: 'owner', kind: 'owner', name: 'Owner', spans: builder.ownerSpans },
      ...{ seq: builder.ownerSpans.at(-1)?.seq ?? 1, attempts: 0 },
      ...{ isParallel: false, isExact: true },
    },
    rows: rows.filter(({ kind }) => kind !== 'undo'),
    compensation: rows.filter(({ kind }) => kind === 'undo'),
    takeovers: builder.takeovers,
    workers: builder.owners.size,
    fromMs,
    toMs: Math.max(last === undefined ? 0 : timeOf(last), isOver ? 0 : builder.latestMs),
    isOver,
  };
}

function read(builder: Builder, event: Event): void {
  const atMs = timeOf(event);
  const body = bodyOf(event);
  for (const key of body.with ?? []) {
    if (!builder.startedMs.has(key)) builder.startedMs.set(key, builder.sinceMs);
  }
  if (event.kind === 'claimed') claimed(builder, event, body);
  else if (OWNER_ENDS.has(event.kind) || ENDS.has(event.kind)) builder.endOwner(atMs, 'owned');
  else if (event.kind === 'step-completed' || event.kind === 'step-failed') {
    stepped(builder, event, body);
  } else if (OPENS.has(event.kind)) opened(builder, event, body);
  else if (CLOSES.has(event.kind)) closed(builder, event, body);
  if (!PASSIVE.has(event.kind)) builder.sinceMs = atMs;
}

function claimed(builder: Builder, event: Event, { owner, previous }: Body): void {
  const atMs = timeOf(event);
  const name = owner ?? 'unknown worker';
  if (previous === 'none') {
    const queued = { fromMs: builder.sinceMs, toMs: atMs, seq: event.seq };
    builder.ownerSpans.push({ ...queued, spent: 'queued', label: 'Queued' });
  }
  if (previous === 'lost') {
    builder.takeovers.push({ atMs, fence: event.fence ?? 0 });
    builder.endOwner(atMs, 'lost');
  } else builder.endOwner(atMs, 'owned');
  builder.owners.add(name);
  const label = `${name} · ${shownFence(event.fence ?? 0)}`;
  builder.owner = { fromMs: atMs, label, seq: event.seq };
}

function stepped(builder: Builder, event: Event, body: Body): void {
  const { key = event.name ?? 'step', attempt = 1, failure, tookMs, retryInMs } = body;
  const isUndo = key.startsWith('undo:');
  const row = builder.row(key, isUndo ? 'undo' : 'step', event.name ?? key);
  const isDone = event.kind === 'step-completed';
  const writtenMs = timeOf(event);
  const previous = row.spans.at(-1);
  const afterBackoff = previous?.spent === 'backoff' ? (previous.toMs ?? 0) : 0;
  const fromMs = Math.min(
    writtenMs,
    body.startedAt ?? Math.max(afterBackoff, builder.startOf(key)),
  );
  // A result may be written some time after the step returned.
  const toMs = tookMs === undefined ? writtenMs : Math.min(writtenMs, fromMs + tookMs);
  if (previous?.spent === 'backoff')
    row.spans[row.spans.length - 1] = { ...previous, toMs: fromMs };
  const subject = `${isUndo ? 'Compensation of ' : ''}${event.name ?? key}`;
  const tried = attempt > 1 || !isDone ? `: attempt ${attempt}` : '';
  const message = failure?.message === undefined ? '' : `: ${locatedMessage(failure)}`;
  row.spans.push({
    ...{ fromMs, toMs, seq: event.seq, spent: isDone ? 'ok' : 'failed' },
    label: `${subject}${tried} ${isDone ? 'succeeded' : 'failed'}${message}`,
  });
  row.seq = event.seq;
  row.attempts = attempt;
  row.isExact &&= tookMs !== undefined;
  if (isDone) delete row.failure;
  else row.failure = failure?.message ?? 'failed';
  if (retryInMs !== undefined) {
    const backoff = { fromMs: toMs, toMs: writtenMs + retryInMs, seq: event.seq };
    row.spans.push({ ...backoff, spent: 'backoff', label: `Waits before attempt ${attempt + 1}` });
  }
  if (body.saga === true) builder.undoable.push({ key, name: event.name ?? key });
}

function opened(builder: Builder, event: Event, body: Body): void {
  const { key = String(event.seq), ids, ms, until } = body;
  const isFanOut = key.startsWith('children:');
  const row = builder.row(key, isFanOut ? 'fan-out' : 'wait', event.name ?? key);
  const fromMs = timeOf(event);
  row.seq = event.seq;
  row.expected += ids?.length ?? 0;
  const dueMs = until ?? (ms === undefined ? undefined : fromMs + ms);
  if (dueMs !== undefined) builder.latestMs = Math.max(builder.latestMs, dueMs);
  if (isFanOut && row.spans.length > 0) return;
  const label = `${isFanOut ? 'Children of' : OPENS.get(event.kind)} ${event.name ?? key}`;
  row.spans.push({ fromMs, toMs: dueMs, spent: 'waiting', label, seq: event.seq });
}

function closed(builder: Builder, event: Event, body: Body): void {
  const { key = String(event.seq), status } = body;
  const toMs = timeOf(event);
  const [, group] = /^(children:.*)\[\d+\]$/.exec(key) ?? [];
  const parent = group === undefined ? undefined : builder.rows.get(group);
  if (parent !== undefined) {
    childEnded(parent, event, body);
    return;
  }
  const row = builder.row(key, 'wait', event.name ?? key);
  const opening = row.spans.pop();
  const fromMs = opening?.fromMs ?? builder.startOf(key);
  const isBad = status !== undefined && status !== 'completed' && event.kind === 'child-ended';
  row.spans.push({
    ...{ fromMs, toMs, seq: event.seq, spent: isBad ? 'failed' : 'waiting' },
    label: `${CLOSES.get(event.kind)} ${event.name ?? key} ended${status === undefined ? '' : `: ${status}`}`,
  });
  row.seq = event.seq;
  if (isBad) row.failure = body.failure?.message ?? status;
  if (body.id !== undefined) row.execution = body.id;
}

function childEnded(parent: Growing, event: Event, { status = '', id, failure, key }: Body): void {
  const fromMs = parent.spans[0]?.fromMs ?? timeOf(event);
  const isBad = status !== 'completed';
  const message = failure?.message === undefined ? '' : `: ${failure.message}`;
  const label = `Child ${status}${message}`;
  parent.children.push({
    ...{ key: key ?? String(event.seq), kind: 'child', name: `${parent.name} ${nthOf(key)}` },
    spans: [{ fromMs, toMs: timeOf(event), spent: isBad ? 'failed' : 'ok', label, seq: event.seq }],
    ...{ seq: event.seq, attempts: 0, isExact: false, expected: 0, children: [] },
    ...(isBad ? { failure: failure?.message ?? status } : {}),
    ...(id === undefined ? {} : { execution: id }),
  });
}

/** Counted from 1, as people do. */
function nthOf(key = ''): string {
  return `#${Number(/\[(\d+)\]$/.exec(key)?.[1] ?? 0) + 1}`;
}

function finished(growing: Growing): Row {
  const { expected, children, spans, ...row } = growing;
  const base = { ...row, spans, isParallel: false };
  if (row.kind !== 'fan-out') return base;
  const bad = children.filter(({ failure }) => failure !== undefined);
  const ok = children.filter(({ failure }) => failure === undefined);
  const all = Math.max(expected, children.length);
  const ends = children.map(({ spans: [span] }) => span?.toMs ?? 0);
  const isDone = children.length === all;
  const [opening] = spans;
  const span: Span = {
    ...{ fromMs: opening?.fromMs ?? 0, toMs: isDone ? Math.max(...ends) : undefined },
    ...{ spent: bad.length > 0 ? 'failed' : 'ok', seq: opening?.seq ?? row.seq },
    label: `${row.name}: ${ok.length} of ${all} children completed, ${bad.length} failed`,
  };
  return {
    ...{ ...base, spans: [span], seq: span.seq },
    counts: { all, ok: ok.length, bad: bad.length },
    children: [...bad, ...ok].map(finished),
  };
}

/** Compensations that the execution owed and did not run before it ended. */
function skipRest(builder: Builder, endMs: number): void {
  const isUndoing = [...builder.rows.values()].some(({ kind }) => kind === 'undo');
  if (!isUndoing) return;
  for (const { key, name } of builder.undoable.toReversed()) {
    if (builder.rows.has(`undo:${key}`)) continue;
    const row = builder.row(`undo:${key}`, 'undo', name);
    const label = `Compensation of ${name} did not run`;
    row.spans = [{ fromMs: endMs, toMs: endMs, spent: 'skipped', label, seq: row.seq }];
  }
}

/** Rows are sorted by their end; steps that overlap belong together. */
function markParallel(rows: Row[]): void {
  for (const [index, row] of rows.entries()) {
    const overlaps = [rows[index - 1], rows[index + 1]].some(
      (other) => other?.kind === 'step' && row.kind === 'step' && overlap(row, other),
    );
    if (overlaps) rows[index] = { ...row, isParallel: true };
  }
}

function overlap(one: Row, other: Row): boolean {
  const [a, b] = [rangeOf(one), rangeOf(other)];
  return a.fromMs < b.toMs && b.fromMs < a.toMs;
}

export function rangeOf({ spans }: Row): { readonly fromMs: number; readonly toMs: number } {
  return { fromMs: spans[0]?.fromMs ?? 0, toMs: spans.at(-1)?.toMs ?? Number.POSITIVE_INFINITY };
}

/** How long an ended execution was run, queued, under a lost lease, and waiting; parts of 0 ms are left out. */
export function splitOf({
  owner,
  fromMs,
  toMs,
}: Waterfall): readonly (readonly [string, number])[] {
  const sumOf = (spent: Spent): number =>
    owner.spans
      .filter((span) => span.spent === spent)
      .reduce((sum, span) => sum + (span.toMs ?? toMs) - span.fromMs, 0);
  const [run, queue, lost] = [sumOf('owned'), sumOf('queued'), sumOf('lost')];
  const parts = [
    ...([
      ['run', run],
      ['queue', queue],
      ['lost lease', lost],
    ] as const),
    ['wait', toMs - fromMs - run - queue - lost] as const,
  ];
  return parts.filter(([, ms]) => ms >= 1);
}
