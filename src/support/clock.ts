// Time has two kinds here and they never mix.
//
// An Instant is store time: whole milliseconds since 1970 in UTC. It may cross processes, and
// only a store compares it with "now". It is branded, so that local time is not taken for it.
// Local monotonic time is a number: it means something only inside the process that read it.
//
// This file is the only reader of the process's clocks.

import type { Brand } from './assert.ts';

/** A time of a store's clock: whole milliseconds since 1970 in UTC. */
export type Instant = Brand<number, 'Instant'>;

/** The clocks of a process. Replace them in tests. */
export interface Clock {
  /** Returns milliseconds since 1970 in UTC. May jump either way. */
  wallMs(): number;
  /**
   * Returns milliseconds that never go back, the same for all threads of the process. On Linux they
   * stand still while the machine is suspended.
   */
  monotonicMs(): number;
  /**
   * Returns which start of the machine this is and how long ago, suspends included; undefined if
   * that is not known.
   */
  sinceBoot?(): { readonly boot: string; readonly ms: number } | undefined;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1_000 + nanoseconds / 1_000_000;
  },
};

export function toInstant(ms: number): Instant {
  return Math.trunc(ms) as Instant;
}

export function laterBy(instant: Instant, ms: number): Instant {
  return (instant + ms) as Instant;
}

/**
 * Returns an instant as ISO 8601 text in UTC.
 *
 * @example
 * const event = (await holdfast.history(id))[0];
 * if (event !== undefined) console.log(formatInstant(event.at));
 */
export function formatInstant(instant: Instant): string {
  return new Date(instant).toISOString();
}

/** Parses ISO 8601 from a caller; returns an invalid Date for other text. */
export function dateFrom(text: string): Date {
  return new Date(text);
}

/** For code that takes times as a Date. */
export function dateOf(instant: Instant): Date {
  return new Date(instant);
}
