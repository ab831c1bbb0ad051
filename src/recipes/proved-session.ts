// A session whose heartbeats prove progress. They come from a thread, so a busy event loop does
// not lose its leases; but they go out only while the main thread has turned lately, or is within a
// busy section that it announced with a bound. A wedged process does lose them.

import { openUnder, type Session } from '../lease/live-session.ts';
import {
  resolveSessionOptions,
  SESSION_OPTION_NAMES,
  type SessionOptions,
} from '../lease/session-options.ts';
import { systemClock } from '../support/clock.ts';
import { InvalidInput, StoreUnavailable } from '../support/fault.ts';
import { optionalBooleans, rejectUnknownOptions, wholeNumber } from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { KeeperThread } from './keeper-source.ts';

export interface ProvedSessionOptions extends Omit<SessionOptions, 'clock' | 'timers' | 'random'> {
  /** The event loop may stand still this long, unannounced. Default half of the ttl. */
  readonly stallMs?: number;
  /**
   * End the process, from the thread, when its event loop still stands still at the end of the grace,
   * right before somebody else may enter. Default false: it goes on, and only fences order its writes.
   */
  readonly exitOnOverrun?: boolean;
}

export interface ProvedSession extends Session {
  /** Runs work that holds up the event loop, for `ms` at most; heartbeats go on that long. */
  busy<Result>(ms: number, work: () => Result): Result;
}

const NAMES = ['stallMs', 'exitOnOverrun'];
const BEATS_PER_TTL = 3;

export async function openProvedSession(options: ProvedSessionOptions): Promise<ProvedSession> {
  rejectUnknownOptions('openProvedSession', options, [...SESSION_OPTION_NAMES, ...NAMES]);
  const { stallMs: asked, exitOnOverrun = false, ...rest } = options;
  optionalBooleans('openProvedSession', { exitOnOverrun });
  const config = resolveSessionOptions(rest, 'openProvedSession');
  const { address } = config.store;
  if (address === undefined) {
    throw new InvalidInput(
      `A proved session needs a store that a thread can open too; the ${config.store.kind} store as it was opened here cannot. Use a SQLite file or PostgreSQL, without a clock of your own.`,
    );
  }
  const stallMs = wholeNumber('stallMs', asked ?? Math.floor(config.ttlMs / 2), {
    min: 10,
    max: config.ttlMs * 100,
  });
  const thread = new KeeperThread(address, { stallMs, exitOnOverrun });
  const { pulse } = thread;
  const session = await openUnder({ sourceOf: (opened) => thread.sourceOf(opened) }, rest);
  await untilHeard(session, thread);
  let announcedUntil = 0;
  return Object.assign(session, {
    busy<Result>(ms: number, work: () => Result): Result {
      wholeNumber('ms', ms, { min: 1, max: 86_400_000 });
      // A section inside another one does not take the rest of the outer one away.
      const outerUntil = announcedUntil;
      announcedUntil = Math.max(outerUntil, systemClock.monotonicMs() + ms);
      pulse.busyUntil(announcedUntil);
      try {
        return work();
      } finally {
        pulse.turn(systemClock.monotonicMs());
        announcedUntil = outerUntil;
        pulse.busyUntil(outerUntil);
      }
    },
  });
}

/**
 * A thread takes a while to load, longer than a short ttl on a busy machine: until its first heartbeat
 * was answered the event loop sends them. A thread that cannot do its work is found out here.
 */
async function untilHeard(session: Session, thread: KeeperThread): Promise<void> {
  const heard = new AbortController();
  const beat = async (): Promise<void> => {
    while (!heard.signal.aborted) {
      await session.heartbeat().catch(() => undefined);
      await systemTimers.pause(session.ttlMs / BEATS_PER_TTL, heard.signal);
    }
  };
  const beating = beat();
  try {
    await thread.heard;
  } catch (cause) {
    await session.close('abandoned');
    throw new StoreUnavailable('The thread of the proved session cannot reach the store.', {
      cause,
    });
  } finally {
    heard.abort();
    await beating;
  }
}
