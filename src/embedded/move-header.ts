// The first line of an export, checked before anything is opened: the store that it is put into counts on from
// what it says.

import type { Seal } from '../features/export/model.ts';
import type { Counters } from '../features/export/tables-rows.ts';
import { COUNTERS_PER_EPOCH, epochOf, isIssuable } from '../lease/fence.ts';
import { formatInstant, systemClock, toInstant } from '../support/clock.ts';
import { Fault } from '../support/fault.ts';
import { shown } from '../support/options.ts';

export const FORMAT = 1;

export interface ExportHeader {
  readonly holdfast: 'export';
  readonly format: number;
  /** Which SQL store it was. */
  readonly kind: string;
  /** Its migrations, by name. */
  readonly schema: readonly string[];
  readonly epoch: number;
  readonly seal: Seal;
  readonly counters: Counters;
}

const DAY_MS = 86_400_000;

/** Later than any time by a clock that is merely wrong; with a time from there no timer would ever be due. */
const AHEAD_MS_MAX = 366 * DAY_MS;

/** So many are left after them. */
const EVENT_SEQ_MAX = 2 ** 52;

type Check = (value: unknown) => string | undefined;

const text: Check = (value) =>
  typeof value === 'string' && value !== '' ? undefined : 'must be text';

const oneOf =
  (...names: readonly string[]): Check =>
  (value) =>
    names.includes(value as string) ? undefined : `must be one of ${names.join(', ')}`;

const texts: Check = (value) =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')
    ? undefined
    : 'must be a list of texts';

const upTo =
  (max: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max
      ? undefined
      : `must be a whole number from 0 to ${max}`;

/** T-3: below the first epoch none was ever issued, in the last one none can be. */
const fence: Check = (value) =>
  Number.isSafeInteger(value) &&
  (value as number) >= COUNTERS_PER_EPOCH &&
  isIssuable(value as number)
    ? undefined
    : 'must be a fence that a store has issued';

const presented: Check = (value) => (value === null ? undefined : fence(value));

const time: Check = (value) => {
  const wrong = upTo(8.64e15)(value);
  if (wrong !== undefined) return `${wrong}, in milliseconds`;
  const max = systemClock.wallMs() + AHEAD_MS_MAX;
  return (value as number) <= max
    ? undefined
    : `must not be more than 366 days ahead of the clock of this machine; is ${formatInstant(toInstant(value as number))}`;
};

const SEAL: Readonly<Record<string, Check>> = {
  id: text,
  actor: text,
  reason: text,
  to: text,
  at: time,
  heldUntil: time,
};

const COUNTERS: Readonly<Record<string, Check>> = {
  fence,
  halted: presented,
  clockAt: time,
  eventSeq: upTo(EVENT_SEQ_MAX),
  eventsDeleted: upTo(EVENT_SEQ_MAX),
};

/** EX-9. Undefined when it was no JSON at all. */
export function checkedHeader(value: unknown): ExportHeader {
  const header = value as Partial<ExportHeader> | undefined;
  if (header?.holdfast !== 'export' || typeof header.format !== 'number') {
    throw invalid('This is no export of Holdfast: its first line says nothing of one.');
  }
  if (header.format !== FORMAT) throw otherFormat(header.format);
  checkFields('', header, {
    kind: oneOf('sqlite', 'postgres'),
    schema: texts,
    epoch: upTo(Number.MAX_SAFE_INTEGER),
  });
  checkFields('seal', header.seal, SEAL);
  checkFields('counters', header.counters, COUNTERS);
  checkTogether(header as ExportHeader);
  return header as ExportHeader;
}

function checkFields(
  what: string,
  value: unknown,
  checks: Readonly<Record<string, Check>>,
): asserts value is object {
  if (typeof value !== 'object' || value === null) throw wrong(what, value, 'must be an object');
  for (const [name, check] of Object.entries(checks)) {
    const field = (value as Readonly<Record<string, unknown>>)[name];
    const why = check(field);
    if (why !== undefined) throw wrong(what === '' ? name : `${what}.${name}`, field, why);
  }
}

function checkTogether({ epoch, counters }: ExportHeader): void {
  if (epoch !== epochOf(counters.fence)) {
    throw wrong('epoch', epoch, `must be that of counters.fence, ${epochOf(counters.fence)}`);
  }
  if (counters.eventsDeleted > counters.eventSeq) {
    throw wrong('counters.eventsDeleted', counters.eventsDeleted, 'must not be above eventSeq');
  }
}

function wrong(field: string, value: unknown, why: string): Fault {
  return invalid(
    `The first line of the export is not what an export writes: ${field} ${why}; got ${shown(value)}. Nothing was imported. Export again: the old store is sealed and has everything.`,
  );
}

function invalid(message: string): Fault {
  return new Fault('export-invalid', message);
}

function otherFormat(format: number): Fault {
  const which = format > FORMAT ? 'a newer' : 'an older';
  return new Fault(
    'export-format',
    `The export was made by ${which} version: its format is ${format}, this version reads ${FORMAT}. Nothing was imported; use the version that made it for both.`,
  );
}
