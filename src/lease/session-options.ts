// The options that a user passes to open a session, and the resolved form.

import { type Clock, systemClock } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  boundedText,
  integerOption,
  rejectUnknownOptions,
  shown,
  wordsIn,
} from '../support/options.ts';
import { type Random, systemRandom } from '../support/random.ts';
import { systemTimers, type Timers } from '../support/timer.ts';
import { type Caution, DRIFT_PPM_DEFAULT } from './authority.ts';
import { NAME_BYTES_MAX, type Owner, parseOwner, TEXT_BYTES_MAX } from './names.ts';
import type { LeaseObserver } from './observer.ts';
import type { LeaseService, SessionHost } from './port.ts';
import type { SessionMetadata } from './session.ts';

/** Options of `openSession`. */
export interface SessionOptions {
  /** An open store. */
  readonly store: LeaseService;
  /**
   * The name that operators see, such as `billing-worker@host-3`. At most 256 bytes. Several
   * processes may share it.
   */
  readonly owner: string;
  /**
   * Milliseconds without a heartbeat until the session expires. Default 15,000. The store's policy
   * sets the range: 100 to 86,400,000 by default.
   */
  readonly ttlMs?: number;
  /**
   * The last part of the ttl, in milliseconds. In it the session has no authority but may rejoin.
   * Default ttl / 5, at most ttl / 2.
   */
  readonly graceMs?: number;
  /** Up to 64 entries for operators. Default none. */
  readonly metadata?: SessionMetadata;
  /** Gets reports of every operation. By default there is none. */
  readonly observer?: LeaseObserver;
  /**
   * Milliseconds subtracted from every grant, for delays that clocks do not show. Default ttl /
   * 100, at least 5.
   */
  readonly guardMs?: number;
  /** The greatest difference between clock rates, in parts per million. Default 500. */
  readonly driftPpm?: number;
  /** The clock. Default: the system's. Replace it in tests. */
  readonly clock?: Clock;
  /** The timers. Default: those of Node. Replace them in tests. */
  readonly timers?: Timers;
  /** The random source. Default: that of Node. Replace it in tests. */
  readonly random?: Random;
}

/** Options of a session within this package, whose store may have no leases. */
export interface HostedSessionOptions extends Omit<SessionOptions, 'store'> {
  readonly store: SessionHost;
}

export interface SessionConfig {
  readonly store: SessionHost;
  readonly owner: Owner;
  readonly ttlMs: number;
  readonly graceMs: number;
  readonly metadata: SessionMetadata;
  readonly observer: LeaseObserver | undefined;
  readonly caution: Caution;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}

export const SESSION_OPTION_NAMES: readonly (keyof SessionOptions)[] = wordsIn(
  'store owner ttlMs graceMs metadata observer guardMs driftPpm clock timers random',
);

export const TTL_MS_DEFAULT = 15_000;

/** Functions that open no session need an open store too. */
export function requireStore(what: string, store: unknown): asserts store is LeaseService {
  const { policy, sessions } = (store ?? {}) as Partial<LeaseService>;
  if (policy !== undefined && sessions !== undefined) return;
  throw new InvalidInput(
    store instanceof Promise
      ? `${what}: store is a promise. Await it before you pass it.`
      : `${what}: store is required. Pass an open one, such as await openSqliteStore({ file }).`,
  );
}

/** `what` is the function that the user called. Error messages name it. */
export function resolveSessionOptions(
  options: HostedSessionOptions,
  what = 'openSession',
): SessionConfig {
  rejectUnknownOptions(what, options, SESSION_OPTION_NAMES);
  requireStore(what, options.store);
  requireObserver(what, options.observer);
  const { policy } = options.store;
  const ttlMs = integerOption('ttlMs (milliseconds)', options.ttlMs ?? TTL_MS_DEFAULT, {
    min: policy.ttlMsMin,
    max: policy.ttlMsMax,
  });
  const graceMs = integerOption(
    'graceMs (at most half of ttlMs)',
    options.graceMs ?? Math.floor(ttlMs / 5),
    { min: 0, max: Math.floor(ttlMs / 2) },
  );
  const guardMs = integerOption(
    'guardMs',
    options.guardMs ?? Math.max(5, Math.floor(ttlMs / 100)),
    { min: 0, max: ttlMs },
  );
  const driftPpm = integerOption('driftPpm', options.driftPpm ?? DRIFT_PPM_DEFAULT, {
    min: 0,
    max: 100_000,
  });
  if (guardMs >= (ttlMs - graceMs) / 2) {
    throw new InvalidInput(
      `guardMs (${guardMs}) leaves no time to act: it must be less than half of ttlMs − graceMs (${ttlMs - graceMs}).`,
    );
  }
  return Object.freeze({
    store: options.store,
    owner: parseOwner(options.owner),
    ttlMs,
    graceMs,
    metadata: checkedMetadata(options.metadata ?? {}),
    observer: options.observer,
    caution: { driftPpm, guardMs },
    clock: options.clock ?? systemClock,
    timers: options.timers ?? systemTimers,
    random: options.random ?? systemRandom,
  });
}

function requireObserver(what: string, observer: unknown): void {
  if (observer === undefined) return;
  const { report } = (observer ?? {}) as Partial<LeaseObserver>;
  if (typeof report === 'function') return;
  throw new InvalidInput(
    `${what}: observer must be an object with a function report, such as { report: (report) => … }; got ${shown(observer)}.`,
  );
}

const METADATA_ENTRIES_MAX = 64;

function checkedMetadata(metadata: SessionMetadata): SessionMetadata {
  const entries = Object.entries(metadata);
  if (entries.length > METADATA_ENTRIES_MAX) {
    throw new InvalidInput(
      `metadata must have at most ${METADATA_ENTRIES_MAX} entries; got ${entries.length}.`,
    );
  }
  for (const [name, value] of entries) {
    boundedText('A metadata name', name, NAME_BYTES_MAX);
    if (value !== '') boundedText(`metadata.${name}`, value, TEXT_BYTES_MAX);
  }
  return Object.freeze({ ...metadata });
}
