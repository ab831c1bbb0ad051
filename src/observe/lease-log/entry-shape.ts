// Validates each kind of entry. Other programs can write to the disk that holds a log, so nothing
// in it is trusted before this check.

import { EXIT_ADVICE } from '../../lease/exit.ts';
import { LEASE_OPERATIONS, OUTCOME_CLASSES } from '../../lease/observer.ts';
import { shown } from '../../support/options.ts';
import { LOG_VERSION, type LogEntry } from './entry.ts';

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

export type ParsedLine =
  | { readonly kind: 'entry'; readonly entry: LogEntry }
  | { readonly kind: 'malformed'; readonly problem: string };

export function parseLine(line: string): ParsedLine {
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
