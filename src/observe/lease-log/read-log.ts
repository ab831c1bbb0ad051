// Reads a log strictly. It must start with a header, and every line is an entry or is reported with
// its error. The only exception is a last line that a killed process could not finish, at the end
// of the file or just before the header of the next run.

import { createReadStream } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { EXIT_ADVICE } from '../../lease/exit.ts';
import { LEASE_OPERATIONS, OUTCOME_CLASSES } from '../../lease/observer.ts';
import { shown } from '../../support/options.ts';
import { LOG_VERSION, type LocatedEntry, type LogEntry, type MalformedLine } from './entry.ts';

/** Options of `readLeaseLog`. */
export interface ReadOptions {
  /** Called from time to time with the bytes read so far. */
  readonly onProgress?: (bytes: number) => void;
}

const PROGRESS_LINES = 10_000;

interface Line {
  readonly number: number;
  readonly parsed: ParsedLine;
  readonly isHeader: boolean;
  readonly isFirst: boolean;
}

/**
 * Yields the entries of a lease log. Lines that are not entries are yielded as `malformed`.
 *
 * Ignores an incomplete last line of a killed process. Throws the system's error if the file cannot
 * be read.
 *
 * @example
 * for await (const entry of readLeaseLog('./leases.log')) {
 *   if (entry.kind === 'event') console.log(entry.event.kind);
 * }
 */
export async function* readLeaseLog(
  file: string,
  options: ReadOptions = {},
): AsyncGenerator<LocatedEntry | MalformedLine, void, void> {
  const stream = createReadStream(file, { encoding: 'utf8' });
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  let number = 0;
  let held: Line | undefined;
  for await (const text of lines) {
    number += 1;
    if (number % PROGRESS_LINES === 0) options.onProgress?.(stream.bytesRead);
    if (text === '') continue;
    const line = lineOf(number, text, held === undefined);
    if (held !== undefined && !isTorn(held, line.isHeader)) yield located(file, held);
    held = line;
  }
  options.onProgress?.(stream.bytesRead);
  if (held !== undefined && !isTorn(held, true)) yield located(file, held);
}

function lineOf(number: number, text: string, isFirst: boolean): Line {
  const parsed = parseLine(text);
  const isHeader = parsed.kind === 'entry' && parsed.entry.kind === 'header';
  if (!isFirst || isHeader || parsed.kind === 'malformed') {
    return { number, parsed, isHeader, isFirst };
  }
  const problem = 'a lease log begins with a header: is this the end of another file?';
  return { number, parsed: { kind: 'malformed', problem }, isHeader, isFirst };
}

/** A line that is not valid JSON, where a writer may have been killed. */
function isTorn(line: Line, writerEndedHere: boolean): boolean {
  const { parsed, isFirst } = line;
  if (!writerEndedHere || isFirst) return false;
  return parsed.kind === 'malformed' && /not JSON/.test(parsed.problem);
}

function located(log: string, { number, parsed }: Line): LocatedEntry | MalformedLine {
  const place = { log, line: number };
  return parsed.kind === 'entry'
    ? { ...parsed.entry, place }
    : { kind: 'malformed', place, problem: parsed.problem };
}

// Sorts rotated logs in the order in which they were written, each once.

/**
 * Returns log files in the order in which they were begun, each once. Throws the system's error if
 * one cannot be read.
 *
 * @example
 * const files = await orderLeaseLogs(['./leases.log', './leases.log.1']);
 */
export async function orderLeaseLogs(files: readonly string[]): Promise<readonly string[]> {
  const begun = new Map<string, { readonly file: string; readonly at: number }>();
  for (const file of files) {
    const known = await realpath(file);
    if (!begun.has(known)) begun.set(known, { file, at: await begunAt(file) });
  }
  return [...begun.values()].sort((a, b) => a.at - b.at).map(({ file }) => file);
}

async function begunAt(file: string): Promise<number> {
  for await (const first of readLeaseLog(file)) {
    return first.kind === 'header' ? first.at : 0;
  }
  return 0;
}

// Validates each kind of entry. Other programs can write to the disk that holds a log, so nothing
// in it is trusted before this check.

// A small checker for the content of a log line. Its errors name the wrong field and the reason. A
// value that passes has the shape of its type.

type Check = (value: unknown, path: string) => string | undefined;

const text: Check = (value, path) =>
  typeof value === 'string' && value !== ''
    ? undefined
    : `${path} must be text; got ${shown(value)}`;

const number: Check = (value, path) =>
  typeof value === 'number' && Number.isFinite(value)
    ? undefined
    : `${path} must be a number; got ${shown(value)}`;

const integer: Check = (value, path) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? undefined
    : `${path} must be a whole number, zero or more; got ${shown(value)}`;

function oneOf(words: readonly string[]): Check {
  return (value, path) =>
    typeof value === 'string' && words.includes(value)
      ? undefined
      : `${path} must be one of ${words.join(', ')}; got ${shown(value)}`;
}

function optional(check: Check): Check {
  return (value, path) => (value === undefined ? undefined : check(value, path));
}

type Shape = Readonly<Record<string, Check>>;

/** Checks every field and refuses unknown ones. */
function object(shape: Shape): Check {
  return (value, path) => {
    if (!isRecord(value)) return `${path} must be an object; got ${shown(value)}`;
    for (const [name, check] of Object.entries(shape)) {
      const problem = check(value[name], path === '' ? name : `${path}.${name}`);
      if (problem !== undefined) return problem;
    }
    const extra = Object.keys(value).find((name) => !Object.hasOwn(shape, name));
    return extra === undefined ? undefined : `${path} has an unknown field "${extra}"`;
  };
}

/** The field `kind` selects the shape. */
function tagged(shapes: Readonly<Record<string, Shape>>): Check {
  return (value, path) => {
    const tag = isRecord(value) ? value['kind'] : undefined;
    const shape = typeof tag === 'string' && Object.hasOwn(shapes, tag) ? shapes[tag] : undefined;
    if (shape === undefined) {
      const where = path === '' ? 'kind' : `${path}.kind`;
      return `${where} must be one of ${Object.keys(shapes).join(', ')}; got ${shown(tag)}`;
    }
    return object({ kind: text, ...shape })(value, path);
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// The shapes of entries, by kind.

const yes: Check = (value, path) => (value === true ? undefined : `${path} must be true`);
const exit = oneOf(Object.keys(EXIT_ADVICE));
const loss: Shape = { session: text, leases: integer, cause: optional(text), at: number };

const report: Check = tagged({
  operation: {
    operation: oneOf(LEASE_OPERATIONS),
    outcome: oneOf(OUTCOME_CLASSES),
    latencyMs: number,
    remainingAtSendMs: number,
    remainingAtReplyMs: number,
    session: text,
    loopLagMs: number,
    suspendedMs: number,
    attempt: optional(integer),
    key: optional(text),
    fence: optional(integer),
    bytes: optional(integer),
    cause: optional(text),
    saved: optional(object({ seq: integer, digest: text, sinceLastMs: optional(number) })),
    granted: optional(
      object({
        predecessor: object({ exit, fence: optional(integer) }),
        wentBack: optional(yes),
        restored: optional(object({ seq: integer, digest: text, fence: integer })),
      }),
    ),
    at: number,
  },
  settings: {
    session: text,
    owner: text,
    ttlMs: number,
    graceMs: number,
    guardMs: number,
    driftPpm: number,
    heartbeatMs: number,
    retryMs: number,
    lagEveryMs: number,
    at: number,
  },
  lapsed: loss,
  rejoined: loss,
  lost: loss,
  troubled: loss,
  overrun: {
    session: text,
    key: text,
    fence: integer,
    overrunMs: number,
    stillRunning: optional(yes),
    at: number,
  },
  dropped: { count: integer, at: number },
});

const base: Shape = { seq: integer, at: integer };
const forced: Shape = { cause: optional(text), actor: optional(text) };
const term: Shape = {
  ...base,
  key: text,
  fence: integer,
  rev: integer,
  session: text,
  owner: text,
};
const session: Shape = { ...base, session: text, owner: text };

const event: Check = tagged({
  acquired: term,
  ended: { ...term, exit, ...forced },
  'drain-requested': { ...term, actor: text, cause: text, deadlineAt: integer },
  'session-opened': session,
  'session-rejoined': session,
  'session-ended': { ...session, exit, ...forced },
  alarm: { ...base, alarm: text, cause: text },
  'epoch-raised': { ...base, actor: text, cause: text },
});

const version: Check = (value, path) =>
  value === LOG_VERSION
    ? undefined
    : `${path} is ${JSON.stringify(value)}; this build reads version ${LOG_VERSION}`;

const entry: Check = tagged({
  header: { version, at: number, writer: optional(text), part: optional(integer) },
  report: { report },
  event: { event },
  dropped: { at: number, count: integer },
  missed: { at: number, after: integer, until: integer },
});

type ParsedLine =
  | { readonly kind: 'entry'; readonly entry: LogEntry }
  | { readonly kind: 'malformed'; readonly problem: string };

function parseLine(line: string): ParsedLine {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { kind: 'malformed', problem: 'this is not JSON: was the line cut short?' };
  }
  const problem = entry(value, '');
  if (problem !== undefined) return { kind: 'malformed', problem };
  return { kind: 'entry', entry: value as LogEntry };
}
