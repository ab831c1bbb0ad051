// Formats a coordinator's responses for people.

import { type Failure, locatedMessage } from '../../execution/failure.ts';
import { failureText } from '../../execution/report.ts';
import type { HistoryMessage, ResultMessage } from '../../protocol/messages/execution.ts';
import type { ExitCode } from '../command.ts';
import { plain, print, printLine, printTable } from '../screen.ts';

export type Row = Readonly<Record<string, unknown>>;

/** `unit.dueAt` is the field `dueAt` of `unit`. */
export function fieldOf(row: Row, path: string): string {
  const value = path
    .split('.')
    .reduce<unknown>((found, name) => (found as Row | undefined | null)?.[name], row);
  return shownField(value);
}

/** A list of words as words; everything else as `shownValue` shows it. */
function shownField(value: unknown): string {
  const isWords = Array.isArray(value) && value.every((each) => typeof each === 'string');
  return isWords ? value.join(', ') : shownValue(value);
}

/** Values of the user's code keep their JSON. */
const USER_VALUES: ReadonlySet<string> = new Set(['output', 'progress']);

export function shownValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Prints each field on a line. */
export function printFields(row: Row): void {
  printTable(
    Object.entries(row)
      .map(([name, value]) => [name, USER_VALUES.has(name) ? shownValue(value) : shownField(value)])
      .filter(([, value]) => value !== '' && value !== '[]' && value !== '{}'),
  );
}

export function showResult(result: ResultMessage, isJson: boolean): ExitCode {
  if (isJson) printLine(result);
  else {
    print(`${result.id} ${result.status}`);
    if (result.output !== undefined) print(plain(JSON.stringify(result.output)));
    if (result.sealed === true)
      print('The output is encoded by a codec that the coordinator does not have.');
    if (result.failure !== undefined) print(plain(failureNote(result.failure)));
  }
  return result.status === 'completed' ? 0 : 1;
}

/** Such as `TypeError at step:charge#1: message (order.ts:16)`. */
export function failureNote({ at, ...failure }: NonNullable<ResultMessage['failure']>): string {
  return failureText({
    ...failure,
    code: at === undefined ? failure.code : `${failure.code} at ${at}`,
  });
}

const SECONDS_FROM = 11;
const SECONDS_TO = 23;

/** The time, the kind, the name, and a note. */
export function eventRow({ at, kind, name, body }: HistoryMessage): readonly string[] {
  const what = isUndo(body) ? `undo ${name ?? ''}` : (name ?? '');
  return [at.slice(SECONDS_FROM, SECONDS_TO), isLog(kind) ? 'log' : kind, what, noteOf(body)];
}

/** True for a line of `ctx.log`. */
export function isLog(kind: string): boolean {
  return kind === 'progressed';
}

/**
 * A compensation is a step in history, under the name of the step that it undoes. Its key marks it.
 */
export function isUndo(body: unknown): boolean {
  const { key } = (body ?? {}) as { readonly key?: unknown };
  return typeof key === 'string' && key.startsWith('undo:');
}

interface Body {
  readonly failure?: Partial<Failure>;
  /** A line of `ctx.log`; its data is `out`. */
  readonly log?: unknown;
  readonly out?: unknown;
}

export function noteOf(body: unknown): string {
  if (typeof body !== 'object' || body === null) return shownValue(body);
  const { failure, log, out, ...rest } = body as Body;
  if (typeof failure?.message === 'string') return locatedMessage(failure);
  if (typeof log === 'string') return out === undefined ? log : `${log} ${shownValue(out)}`;
  if (out !== undefined) return shownValue(out);
  return Object.entries(rest)
    .filter(([name, value]) => !FOR_REPLAYS.has(name) && shownValue(value) !== '')
    .map(([name, value]) => `${name} ${listed(value)}`)
    .join(', ');
}

/** Fields that only a replay needs; the call's name is shown beside them. */
const FOR_REPLAYS: ReadonlySet<string> = new Set(['key', 'last', 'with', 'saga', 'taken']);
const LISTED_MAX = 3;

function listed(value: unknown): string {
  if (!Array.isArray(value)) return shownValue(value);
  const left = value.length - LISTED_MAX;
  const some = value.slice(0, LISTED_MAX).map(shownValue).join(' ');
  return left > 0 ? `${some} and ${left} more` : some;
}

/** The result of a step, if it has one. */
export function outOf(body: unknown): string {
  return shownValue((body as { readonly out?: unknown } | null | undefined)?.out);
}
