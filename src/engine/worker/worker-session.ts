// The session of a worker: one heartbeat for all its executions. A notice from the store means that
// one of them has a message.

import { openUnder, type Session } from '../../lease/live-session.ts';
import type { SessionHost } from '../../lease/port.ts';
import type { SessionMetadata } from '../../lease/session.ts';
import { isStoreOutage } from '../../lease/store-call.ts';
import { processAbout } from '../../support/process-about.ts';
import type { Timers } from '../../support/timer.ts';
import type { WorkerConfig } from '../config.ts';
import { reportTrouble } from '../observer.ts';
import type { WorkerSettings } from './worker-options.ts';

/** Metadata of a worker's session: its kind, and the pipelines that it runs. */
export const WORKER_KIND = 'holdfast.worker';
export const WORKER_PIPELINES = 'holdfast.pipelines';

export type WorkerKind = 'embedded' | 'remote' | 'coordinator';

/** The kind of a session that only holds leases. */
export const NO_WORKER = 'none';

const NOT_ENDED = {
  code: 'session-not-ended',
  what: 'The session was not ended, so it lapses by itself',
} as const;

/** The prefix of the engine's own pipelines. */
const OWN_PREFIX = 'holdfast.';
/** A longer list is left out, because only people read it. */
const PIPELINES_CHARS_MAX = 1_024;

export function workerMetadata(kind: WorkerKind, pipelines: readonly string[]): SessionMetadata {
  const names = pipelines.filter((name) => !name.startsWith(OWN_PREFIX)).join(' ');
  const isShort = names.length > 0 && names.length <= PIPELINES_CHARS_MAX;
  return { [WORKER_KIND]: kind, ...(isShort ? { [WORKER_PIPELINES]: names } : {}) };
}

type SessionSettings = Pick<WorkerSettings, 'owner' | 'ttlMs' | 'pipelines'>;

interface SessionEvents {
  /** The store has a notice: a message for one of the executions. */
  noticed(): void;
  /** The session is over, with every claim under it. */
  lost(): void;
}

interface Opened {
  readonly session: Session;
  readonly timers: SessionTimers;
}

/** The worker's current session; a new one follows a lost one. */
export class CurrentSession {
  readonly #config: WorkerConfig;
  readonly #settings: SessionSettings;
  #events: SessionEvents | undefined;
  #opened: Opened;

  private constructor(config: WorkerConfig, settings: SessionSettings, opened: Opened) {
    this.#config = config;
    this.#settings = settings;
    this.#opened = opened;
  }

  static async open(config: WorkerConfig, settings: SessionSettings): Promise<CurrentSession> {
    let current: CurrentSession | undefined;
    const opened = await openSession(config, settings, () => {
      if (current !== undefined) current.#events?.noticed();
    });
    current = new CurrentSession(config, settings, opened);
    return current;
  }

  get session(): Session {
    return this.#opened.session;
  }

  listen(events: SessionEvents): void {
    this.#events = events;
    this.#watch();
  }

  /** Opens a new session after a lost one. */
  async renew(): Promise<void> {
    if (!this.session.signal.aborted) return;
    this.#opened = await openSession(this.#config, this.#settings, () => this.#events?.noticed());
    this.#watch();
  }

  /**
   * Never rejects for a store that takes no writes: the session expires by itself, or a seal has
   * ended it.
   */
  async end(): Promise<void> {
    const ended = await this.session.close();
    if (isStoreOutage(ended)) reportTrouble(this.#config.observer, NOT_ENDED, ended.fault);
  }

  /** Acts as if the process had died: writes nothing, and cancels the session's timers. */
  async die(): Promise<void> {
    this.#opened.timers.die();
    await this.session.orphan();
  }

  #watch(): void {
    const lost = (): void => this.#events?.lost();
    this.session.signal.addEventListener('abort', lost, { once: true });
  }
}

async function openSession(
  config: WorkerConfig,
  settings: SessionSettings,
  onNotice: () => void,
): Promise<Opened> {
  const { clock, random } = config;
  const { owner, ttlMs } = settings;
  const timers = new SessionTimers(config.timers);
  const session = await openUnder(
    {},
    {
      store: noticing(config.store, onNotice),
      owner,
      metadata: metadataOf(settings),
      ...(ttlMs === undefined ? {} : { ttlMs }),
      clock,
      timers,
      random,
    },
  );
  return { session, timers };
}

/**
 * A worker with only engine pipelines counts as a coordinator. A remote worker's coordinator
 * describes its session.
 */
function metadataOf({ pipelines }: Pick<WorkerSettings, 'pipelines'>): SessionMetadata {
  const names = [...pipelines.keys()];
  const isForAll = names.every((name) => name.startsWith(OWN_PREFIX));
  return { ...processAbout(), ...workerMetadata(isForAll ? 'coordinator' : 'embedded', names) };
}

/** Timers that can all end at once. */
class SessionTimers implements Timers {
  readonly #timers: Timers;
  readonly #cancels: Set<() => void> = new Set();
  #isDead = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  after(ms: number, callback: () => void): () => void {
    if (this.#isDead) return () => undefined;
    const cancel = this.#timers.after(ms, () => {
      this.#cancels.delete(cancel);
      callback();
    });
    this.#cancels.add(cancel);
    return () => {
      this.#cancels.delete(cancel);
      cancel();
    };
  }

  pause(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#timers.pause(ms, signal);
  }

  soon(callback: () => void): void {
    this.#timers.soon(callback);
  }

  die(): void {
    this.#isDead = true;
    for (const cancel of this.#cancels) cancel();
    this.#cancels.clear();
  }
}

/** The same store, but it watches the responses to heartbeats. */
function noticing(store: SessionHost, onNotice: () => void): SessionHost {
  let seen = 0;
  const { sessions } = store;
  return {
    ...store,
    sessions: {
      ...sessions,
      heartbeat: async (request) => {
        const result = await sessions.heartbeat(request);
        if (result.kind === 'alive' && result.notices > seen) {
          seen = result.notices;
          onNotice();
        }
        return result;
      },
    },
  };
}
