// A history as rows of a timeline: owners, steps and waits, compensations. Pure.

import { locatedMessage } from '../../../src/execution/failure.ts';

export interface TimelineEvent {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly name?: string | undefined;
  readonly fence?: number | undefined;
  readonly body?: unknown;
}

/** How a span of time was spent, which selects its colour. */
export type Spent = 'owned' | 'lost' | 'done' | 'failed' | 'waiting' | 'open';

export interface Span {
  readonly fromMs: number;
  /** Undefined while it is running. */
  readonly toMs: number | undefined;
  readonly spent: Spent;
  readonly label: string;
  readonly seq: number;
}

export type LaneKind = 'owner' | 'step' | 'wait' | 'undo';

export interface Lane {
  readonly key: string;
  readonly kind: LaneKind;
  readonly name: string;
  readonly spans: readonly Span[];
}

export interface Timeline {
  readonly lanes: readonly Lane[];
  readonly takeovers: readonly { readonly atMs: number; readonly fence: number }[];
  readonly fromMs: number;
  /** The time of the last event. For a running execution the view extends it to now. */
  readonly toMs: number;
  readonly isOver: boolean;
  /** The number of oldest rows that were left out. */
  readonly leftOut: number;
}

interface Body {
  readonly key?: string;
  readonly owner?: string;
  readonly previous?: string;
  readonly attempt?: number;
  readonly failure?: { readonly message?: string; readonly location?: string };
  readonly status?: string;
}

const OWNER_ENDS = new Set(['parked', 'given-back', 'compensating']);
const ENDS = new Set(['completed', 'failed', 'cancelled', 'quarantined', 'compensated']);
const OPENS = new Map([
  ['timer-set', 'Timer'],
  ['await-opened', 'Request'],
  ['child-spawned', 'Child'],
]);
const CLOSES = new Map([
  ['timer-fired', 'Timer'],
  ['await-settled', 'Request'],
  ['child-ended', 'Child'],
]);

export const LANES_MAX = 200;

interface Growing {
  readonly lane: { key: string; kind: LaneKind; name: string };
  readonly spans: Span[];
}

class Builder {
  readonly lanes: Map<string, Growing> = new Map();
  readonly takeovers: { atMs: number; fence: number }[] = [];
  owner: { fromMs: number; label: string; seq: number } | undefined;
  /** The earliest time at which the next step can have started. */
  sinceMs = 0;

  lane(key: string, kind: LaneKind, name: string): Span[] {
    const found = this.lanes.get(key);
    if (found !== undefined) return found.spans;
    const spans: Span[] = [];
    this.lanes.set(key, { lane: { key, kind, name }, spans });
    return spans;
  }

  endOwner(toMs: number, spent: 'owned' | 'lost'): void {
    if (this.owner === undefined) return;
    this.lane('owner', 'owner', 'Owner').push({ ...this.owner, toMs, spent });
    this.owner = undefined;
  }
}

export function timelineOf(events: readonly TimelineEvent[]): Timeline {
  const builder = new Builder();
  builder.lane('owner', 'owner', 'Owner');
  for (const event of events) read(builder, event);
  const last = events.at(-1);
  const isOver = last !== undefined && ENDS.has(last.kind);
  if (builder.owner !== undefined) {
    const spans = builder.lane('owner', 'owner', 'Owner');
    spans.push({ ...builder.owner, toMs: undefined, spent: 'owned' });
  }
  const [owner, ...rest] = [...builder.lanes.values()].map(({ lane, spans }) => ({
    ...lane,
    spans,
  }));
  const kept = rest.slice(-LANES_MAX);
  return {
    lanes: owner === undefined ? [] : [owner, ...kept],
    takeovers: builder.takeovers,
    fromMs: timeOf(events[0]) ?? 0,
    toMs: timeOf(last) ?? 0,
    isOver,
    leftOut: rest.length - kept.length,
  };
}

function read(builder: Builder, event: TimelineEvent): void {
  const atMs = timeOf(event) ?? 0;
  const body = (event.body ?? {}) as Body;
  if (event.kind === 'claimed') claimed(builder, event, body);
  else if (OWNER_ENDS.has(event.kind) || ENDS.has(event.kind)) builder.endOwner(atMs, 'owned');
  else if (event.kind === 'step-completed' || event.kind === 'step-failed') {
    stepped(builder, event, body);
  } else if (OPENS.has(event.kind)) opened(builder, event, body);
  else if (CLOSES.has(event.kind)) closed(builder, event, body);
  builder.sinceMs = atMs;
}

function claimed(builder: Builder, event: TimelineEvent, { owner, previous }: Body): void {
  const atMs = timeOf(event) ?? 0;
  if (previous === 'lost') {
    builder.takeovers.push({ atMs, fence: event.fence ?? 0 });
    builder.endOwner(atMs, 'lost');
  } else builder.endOwner(atMs, 'owned');
  const label = `${owner ?? 'unknown worker'} · fence ${shownFence(event.fence ?? 0)}`;
  builder.owner = { fromMs: atMs, label, seq: event.seq };
}

function stepped(builder: Builder, event: TimelineEvent, body: Body): void {
  const { key = event.name ?? 'step', attempt = 1, failure } = body;
  const isUndo = key.startsWith('undo:');
  const spans = builder.lane(key, isUndo ? 'undo' : 'step', event.name ?? key);
  const isDone = event.kind === 'step-completed';
  const subject = `${isUndo ? 'Compensation of ' : ''}${event.name ?? key}`;
  const tried = attempt > 1 || !isDone ? `: attempt ${attempt}` : '';
  const message = failure?.message === undefined ? '' : `: ${locatedMessage(failure)}`;
  spans.push({
    fromMs: Math.min(builder.sinceMs, timeOf(event) ?? 0),
    toMs: timeOf(event) ?? 0,
    spent: isDone ? 'done' : 'failed',
    label: `${subject}${tried} ${isDone ? 'succeeded' : 'failed'}${message}`,
    seq: event.seq,
  });
}

function opened(builder: Builder, event: TimelineEvent, { key = String(event.seq) }: Body): void {
  const spans = builder.lane(key, 'wait', event.name ?? key);
  const noun = key.startsWith('children:') ? 'Children of' : OPENS.get(event.kind);
  const label = `${noun} ${event.name ?? key}`;
  const fromMs = timeOf(event) ?? 0;
  spans.push({ fromMs, toMs: undefined, spent: 'open', label, seq: event.seq });
}

function closed(builder: Builder, event: TimelineEvent, body: Body): void {
  const { key = String(event.seq), status } = body;
  const spans = builder.lane(key, 'wait', event.name ?? key);
  const opening = spans.pop();
  const toMs = timeOf(event) ?? 0;
  spans.push({
    fromMs: opening?.fromMs ?? toMs,
    toMs,
    spent: 'waiting',
    label: `${CLOSES.get(event.kind)} ${event.name ?? key} ended${status === undefined ? '' : `: ${status}`}`,
    seq: event.seq,
  });
}

function timeOf(event: TimelineEvent | undefined): number | undefined {
  return event === undefined ? undefined : Date.parse(event.at);
}

const COUNTERS = 2 ** 40;

/** Epoch and counter, as the command line prints them. */
export function shownFence(fence: number): string {
  return `${Math.floor(fence / COUNTERS)}.${fence % COUNTERS}`;
}

/**
 * The position of a time, from 0 to 1. A compressed scale shortens spans without events, so that steps of
 * milliseconds stay visible beside waits of days.
 */
export function scaleOf(timeline: Timeline, isCompressed: boolean): (ms: number) => number {
  const { fromMs, toMs } = timeline;
  const width = Math.max(1, toMs - fromMs);
  if (!isCompressed) return (ms) => clamp((ms - fromMs) / width);
  const times = new Set([fromMs, toMs]);
  for (const { spans } of timeline.lanes) {
    for (const span of spans) {
      times.add(span.fromMs);
      if (span.toMs !== undefined) times.add(span.toMs);
    }
  }
  const sorted = [...times].sort((one, other) => one - other);
  const places: number[] = [0];
  for (const [index, at] of sorted.entries()) {
    const before = sorted[index - 1];
    if (before === undefined) continue;
    places.push((places.at(-1) ?? 0) + Math.log2(2 + (at - before) / 20));
  }
  const total = places.at(-1) || 1;
  return (ms) => {
    const next = sorted.findIndex((each) => each >= ms);
    if (next <= 0) return next === 0 ? 0 : 1;
    const [a = 0, b = 1] = [sorted[next - 1], sorted[next]];
    const [from = 0, to = 1] = [places[next - 1], places[next]];
    return clamp((from + ((ms - a) / Math.max(1, b - a)) * (to - from)) / total);
  };
}

function clamp(part: number): number {
  return Math.min(1, Math.max(0, part));
}
