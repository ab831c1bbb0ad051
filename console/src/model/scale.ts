// The horizontal axis of the waterfall: linear, or linear with idle time cut short. Pure.

import type { Waterfall } from './waterfall.ts';
import { durationText } from './words.ts';

export interface Tick {
  /** From 0 to 1. */
  readonly at: number;
  readonly label: string;
}

export interface Break {
  readonly from: number;
  readonly to: number;
  readonly label: string;
}

export interface Scale {
  readonly at: (ms: number) => number;
  /** The time at a position: the inverse. */
  readonly msAt: (part: number) => number;
  readonly ticks: readonly Tick[];
  /** The places where the axis cuts idle time short. */
  readonly breaks: readonly Break[];
}

export interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

const TICKS_MAX = 7;
const S = 1_000;
const MIN = 60 * S;
const H = 60 * MIN;
const D = 24 * H;
const STEPS_MS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, S, 2 * S, 5 * S, 10 * S, 15 * S, 30 * S],
  ...[MIN, 2 * MIN, 5 * MIN, 10 * MIN, 15 * MIN, 30 * MIN, H, 2 * H, 3 * H, 6 * H, 12 * H],
  ...[D, 2 * D, 5 * D, 10 * D, 30 * D, 100 * D, 365 * D],
];

function tickText(ms: number): string {
  return ms === 0 ? '0' : durationText(ms);
}

/** Elapsed times at round steps since the start of the execution. */
export function linearScale({ fromMs, toMs }: Range, originMs: number): Scale {
  const width = Math.max(1, toMs - fromMs);
  const step = STEPS_MS.find((each) => width / each <= TICKS_MAX) ?? width;
  const ticks: Tick[] = [];
  const first = Math.ceil((fromMs - originMs) / step) * step;
  for (let ms = first; ms <= toMs - originMs; ms += step) {
    ticks.push({ at: (originMs + ms - fromMs) / width, label: tickText(ms) });
  }
  return {
    ...{ ticks, breaks: [] },
    at: (ms) => clamp((ms - fromMs) / width),
    msAt: (part) => fromMs + part * width,
  };
}

/** Time in which no worker owned the execution. */
export function idleOf({ owner }: Waterfall, { fromMs, toMs }: Range): readonly Range[] {
  const idle: Range[] = [];
  let since = fromMs;
  for (const span of owner.spans) {
    if (span.spent === 'queued') continue;
    if (span.fromMs > since) idle.push({ fromMs: since, toMs: span.fromMs });
    since = Math.max(since, span.toMs ?? toMs);
  }
  if (since < toMs) idle.push({ fromMs: since, toMs });
  return idle;
}

function lengthOf(ranges: readonly Range[]): number {
  return ranges.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
}

const MOSTLY_IDLE = 0.8;
const LONG_MS = 10 * S;

/** Steps of milliseconds would be invisible beside waits of days. */
export function isMostlyIdle(idle: readonly Range[], { fromMs, toMs }: Range): boolean {
  const width = toMs - fromMs;
  return width > LONG_MS && lengthOf(idle) / width > MOSTLY_IDLE;
}

/** The widest part of the axis that cut idle time may take. */
const BREAK = 0.07;
const BREAKS_MAX = 0.5;
const TICK_GAP = 0.1;

interface Piece extends Range {
  readonly from: number;
  readonly to: number;
}

/** Busy time stays linear; each long idle time gets the same short width. */
export function compressedScale(idle: readonly Range[], range: Range, originMs: number): Scale {
  const busyMs = Math.max(1, range.toMs - range.fromMs - lengthOf(idle));
  const cut = idle.filter(({ fromMs, toMs }) => toMs - fromMs > busyMs / 2);
  const share = Math.min(BREAK, BREAKS_MAX / Math.max(1, cut.length));
  const linearMs = Math.max(1, range.toMs - range.fromMs - lengthOf(cut));
  const rest = 1 - share * cut.length;
  const pieces: Piece[] = [];
  const add = (fromMs: number, toMs: number, width: number): void => {
    const from = pieces.at(-1)?.to ?? 0;
    pieces.push({ fromMs, toMs, from, to: from + width });
  };
  let since = range.fromMs;
  for (const { fromMs, toMs } of cut) {
    if (fromMs > since) add(since, fromMs, (rest * (fromMs - since)) / linearMs);
    add(fromMs, toMs, share);
    since = toMs;
  }
  if (since < range.toMs) add(since, range.toMs, (rest * (range.toMs - since)) / linearMs);
  const isCut = ({ fromMs }: Piece): boolean => cut.some((each) => each.fromMs === fromMs);
  return {
    at: (ms) => placeIn(pieces, ms),
    msAt: (part) => timeIn(pieces, part),
    breaks: pieces.filter(isCut).map(({ from, to, fromMs, toMs }) => ({
      ...{ from, to, label: durationText(toMs - fromMs) },
    })),
    ticks: spaced(
      pieces
        .filter((piece) => !isCut(piece))
        .flatMap((piece) => [
          { at: piece.from, label: tickText(piece.fromMs - originMs) },
          { at: piece.to, label: tickText(piece.toMs - originMs) },
        ]),
    ),
  };
}

function spaced(ticks: readonly Tick[]): readonly Tick[] {
  const kept: Tick[] = [];
  for (const tick of ticks) if (tick.at - (kept.at(-1)?.at ?? -1) >= TICK_GAP) kept.push(tick);
  return kept;
}

function placeIn(pieces: readonly Piece[], ms: number): number {
  const piece = pieces.find(({ toMs }) => ms <= toMs) ?? pieces.at(-1);
  if (piece === undefined) return 0;
  const part = (ms - piece.fromMs) / Math.max(1, piece.toMs - piece.fromMs);
  return clamp(piece.from + clamp(part) * (piece.to - piece.from));
}

function timeIn(pieces: readonly Piece[], part: number): number {
  const piece = pieces.find(({ to }) => part <= to) ?? pieces.at(-1);
  if (piece === undefined) return 0;
  const share = (part - piece.from) / Math.max(Number.EPSILON, piece.to - piece.from);
  return piece.fromMs + clamp(share) * (piece.toMs - piece.fromMs);
}

function clamp(part: number): number {
  return Math.min(1, Math.max(0, part));
}
