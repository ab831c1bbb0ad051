// Converts a flush of owners' writes to arrays for `unnest`.

import type { NewEvent } from '../../../execution/history.ts';
import type { OwnerWrite } from '../../contract/execution-store.ts';
import { longTexts, numbers, sparse, texts, uuids } from './arrays.ts';

/** Arrays with one entry per request. */
export interface Owners {
  /** The distinct sessions, and the index of each request's session. Null if there is only one. */
  readonly sessions: string;
  readonly sessionOf: string | null;
  readonly ids: string;
  readonly fences: string;
  /** The seq of the first event. */
  readonly firsts: string;
}

export function ownersOf(requests: readonly OwnerWrite[]): Owners {
  const places = new Map<string, number>();
  for (const { session } of requests) {
    if (!places.has(session)) places.set(session, places.size + 1);
  }
  const isOne = places.size === 1;
  return {
    sessions: uuids([...places.keys()]),
    sessionOf: isOne ? null : sparse(requests.map(({ session }) => places.get(session))),
    ids: uuids(requests.map(({ id }) => id)),
    fences: numbers(requests.map(({ fence }) => fence)),
    firsts: numbers(requests.map(({ seq }) => seq)),
  };
}

/** The length of the events' bodies. */
export function eventChars({ events }: Pick<OwnerWrite, 'events'>): number {
  let chars = 0;
  for (const { body } of events) chars += body?.length ?? 0;
  return chars;
}

/** The columns of events: kind, name, body. */
export function eventColumns(
  events: readonly NewEvent[],
): readonly [string, string | null, Buffer | null] {
  return [
    texts(events.map(({ kind }) => kind)),
    sparse(events.map(({ name }) => name)),
    longTexts(events.map(({ body }) => body)),
  ];
}

/**
 * The number of events, the last event, and earlier events as JSON, which few writes have. A column
 * costs the server as much as an index lookup, so a value that all rows share is passed once.
 */
export function lastEventColumns(requests: readonly OwnerWrite[]): readonly unknown[] {
  const lasts = requests.map(({ events }) => events.at(-1) as NewEvent);
  const isOneEach = requests.every(({ events }) => events.length === 1);
  const [kind] = same(lasts.map((event) => event.kind));
  const [name] = same(lasts.map((event) => event.name ?? null));
  return [
    isOneEach ? null : numbers(requests.map(({ events }) => events.length)),
    kind === undefined ? texts(lasts.map((event) => event.kind)) : null,
    name === undefined ? sparse(lasts.map((event) => event.name)) : null,
    longTexts(lasts.map((event) => event.body)),
    isOneEach ? null : longTexts(requests.map(earlierOf)),
    kind ?? null,
    name ?? null,
  ];
}

function earlierOf({ events }: OwnerWrite): string | null {
  return events.length < 2 ? null : JSON.stringify(events.slice(0, -1));
}

/** Returns the common value, if all are equal. */
export function same<Value>(values: readonly Value[]): readonly [Value] | readonly [] {
  const [first] = values;
  return first !== undefined && values.every((value) => value === first) ? [first] : [];
}

/** True if the write contains only events, at least one. A flush can write only these. */
export function isPlain(request: OwnerWrite): boolean {
  return request.events.length > 0 && request.heartbeats === undefined && bringsNothing(request);
}

/** True if the write contains heartbeats of steps, and nothing else. */
export function isHeartbeat(request: OwnerWrite): boolean {
  return request.events.length === 0 && request.heartbeats !== undefined && bringsNothing(request);
}

function bringsNothing(request: OwnerWrite): boolean {
  return (
    request.progress === undefined &&
    request.attributes === undefined &&
    (request.children === undefined || request.children.length === 0) &&
    (request.awaits === undefined || request.awaits.length === 0) &&
    (request.attachments === undefined || request.attachments.length === 0)
  );
}
