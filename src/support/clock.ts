// Time has two kinds here and they never mix.
//
// An Instant is store time: whole milliseconds since 1970 in UTC. It may cross processes, and
// only a store compares it with "now". It is branded, so that local time is not taken for it.
// Local monotonic time is a number: it means something only inside the process that read it.
//
// This file is the only reader of the process's clocks.

import type { Brand } from './assert.ts';

export type Instant = Brand<number, 'Instant'>;

export interface Clock {
  /** Milliseconds since 1970 UTC by the host's clock; may jump either way. */
  wallMs(): number;
  /**
   * Milliseconds that never go back, the same for all threads of the process. On Linux they stand
   * still while the machine is suspended.
   */
  monotonicMs(): number;
  /**
   * The current boot of the machine, and the time since it, suspends included. Undefined if
   * unknown.
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

/** The one way an Instant is shown to people: ISO 8601, UTC. */
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
