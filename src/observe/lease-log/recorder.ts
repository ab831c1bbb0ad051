// An observer that writes reports to a lease log and, on request, the store's events. Use one per
// process and file; several processes write several files.

import { closeSync, openSync } from 'node:fs';
import type { EventSeq, LeaseEvent } from '../../lease/event.ts';
import type { SessionId } from '../../lease/names.ts';
import {
  causeOf,
  type LeaseObserver,
  type LeaseReport,
  type SettingsReport,
} from '../../lease/observer.ts';
import type { LeaseService } from '../../lease/port.ts';
import { watchLeases } from '../../lease/watch.ts';
import { type Clock, systemClock } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  integerOption,
  optionalFunctions,
  rejectUnknownOptions,
} from '../../support/options.ts';
import { systemRandom } from '../../support/random.ts';
import { systemTimers, type Timers } from '../../support/timer.ts';
import { LOG_VERSION, type LogEntry } from './entry.ts';
import { LogFile, type LogFileOptions } from './log-file.ts';

/** Options of `recordLeases`. */
export interface RecorderOptions extends LogFileOptions {
  /** The clock. Default: the system's. Replace it in tests. */
  readonly clock?: Clock;
  /** The timers. Default: those of Node. Replace them in tests. */
  readonly timers?: Timers;
}

/** Options of `recordEvents`. */
export interface RecordEventsOptions {
  /** The `seq` of the last event that is recorded. Default 0: the oldest that the store keeps. */
  readonly after?: EventSeq;
  /** Milliseconds between polls. Default 1,000. */
  readonly pollMs?: number;
}

/**
 * An observer that writes a lease log.
 *
 * @example
 * import { openSession } from 'holdfast';
 *
 * await using recorder = recordLeases({ file: './leases.log' });
 * recorder.recordEvents(store);
 * await using session = await openSession({ store, owner: 'billing@host-3', observer: recorder });
 */
export interface LeaseRecorder extends LeaseObserver {
  /** The number of reports that were dropped because the disk was too slow. */
  readonly dropped: number;
  /**
   * Also records the events of a store until the recorder is closed. One process of a fleet is
   * enough.
   */
  recordEvents(store: LeaseService, options?: RecordEventsOptions): void;
  /** Reads the store's events up to now, and resolves when everything is in the file. */
  flush(): Promise<void>;
  /**
   * Flushes and stops. Rejects if the store cannot be reached; the reports are in the file even so.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens a lease log and returns the observer that writes it. One per process and file.
 *
 * Throws `InvalidInput` for invalid options or a file that cannot be written.
 *
 * @example
 * import { openSession } from 'holdfast';
 *
 * await using recorder = recordLeases({ file: './leases.log', bytesMax: 100_000_000 });
 * await using session = await openSession({ store, owner: 'billing@host-3', observer: recorder });
 */
export function recordLeases(options: RecorderOptions): LeaseRecorder {
  rejectUnknownOptions('recordLeases', options, [
    ...['file', 'bytesMax', 'filesMax', 'onError', 'clock', 'timers'],
  ]);
  boundedText('file', options.file, 4_096);
  optionalFunctions('recordLeases', { onError: options.onError });
  const range = { min: 1, max: Number.MAX_SAFE_INTEGER };
  if (options.bytesMax !== undefined) integerOption('bytesMax', options.bytesMax, range);
  if (options.filesMax !== undefined) integerOption('filesMax', options.filesMax, range);
  openOnce(options.file);
  return new Recorder(options);
}

/** Detect this now, not at the end of a recording that wrote nothing. */
function openOnce(file: string): void {
  try {
    closeSync(openSync(file, 'a', 0o600));
  } catch (cause) {
    throw new InvalidInput(`recordLeases: ${file} cannot be written (${causeOf(cause)}).`);
  }
}

interface Followed {
  readonly store: LeaseService;
  after: EventSeq;
  running: Promise<void>;
}

const EVENTS_PAGE = 500;

class Recorder implements LeaseRecorder {
  readonly #file: LogFile;
  readonly #timers: Timers;
  readonly #wallMs: () => number;
  readonly #stop: AbortController = new AbortController();
  readonly #followed: Followed[] = [];
  /** The settings of open sessions, with their last report. They are repeated in every new file. */
  readonly #settings: Map<SessionId, SettingsReport & { at: number }> = new Map();

  constructor(options: RecorderOptions) {
    const clock = options.clock ?? systemClock;
    const writer = systemRandom.uuid();
    this.#wallMs = () => clock.wallMs();
    this.#timers = options.timers ?? systemTimers;
    this.#file = new LogFile(options, {
      head: (part) => [
        { kind: 'header', version: LOG_VERSION, at: clock.wallMs(), writer, part },
        ...(part === 0 ? [] : this.#stillOpen()),
      ],
      wallMs: this.#wallMs,
    });
  }

  get dropped(): number {
    return this.#file.dropped;
  }

  report(report: LeaseReport): void {
    this.#note(report);
    this.#file.append({ kind: 'report', report });
  }

  /**
   * Old files are deleted, and the settings of long sessions with them. So each new file repeats
   * them.
   */
  #stillOpen(): readonly LogEntry[] {
    return [...this.#settings.values()].map((report) => ({ kind: 'report', report }));
  }

  #note(report: LeaseReport): void {
    if (report.kind === 'dropped') return;
    const { session } = report;
    const isOver = report.kind === 'operation' && report.operation === 'end-session';
    const known = report.kind === 'settings' ? report : this.#settings.get(session);
    if (isOver || report.kind === 'lost') this.#settings.delete(session);
    else if (known !== undefined) this.#settings.set(session, { ...known, at: report.at });
  }

  recordEvents(store: LeaseService, options: RecordEventsOptions = {}): void {
    rejectUnknownOptions('recordEvents', options, ['after', 'pollMs']);
    const followed: Followed = { store, after: options.after ?? 0, running: Promise.resolve() };
    followed.running = this.#follow(followed, options.pollMs);
    this.#followed.push(followed);
  }

  async flush(): Promise<void> {
    try {
      for (const followed of this.#followed) await this.#catchUp(followed);
    } finally {
      await this.#file.flush();
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const { running } of this.#followed) await running;
    await this.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #follow(followed: Followed, pollMs: number | undefined): Promise<void> {
    const options = {
      signal: this.#stop.signal,
      timers: this.#timers,
      ...(pollMs === undefined ? {} : { pollMs }),
    };
    while (!this.#stop.signal.aborted && this.#file.failure === undefined) {
      try {
        const watched = watchLeases(followed.store, { ...options, after: followed.after });
        for await (const event of watched) {
          if (event.kind === 'truncated') await this.#skip(followed, event.seq);
          else await this.#keep(followed, event);
        }
      } catch {
        // The store is unavailable for now. Its events stay there, and the log continues where it
        // stopped.
        await this.#timers.pause(pollMs ?? 1_000, this.#stop.signal);
      }
    }
  }

  /** Writes each event once: following and catching up may both see it. */
  async #keep(followed: Followed, event: LeaseEvent): Promise<void> {
    await this.#keepUpTo(followed, event.seq, () => ({ kind: 'event', event }));
  }

  /** Retention deleted events before they were recorded. The log notes the gap. */
  async #skip(followed: Followed, until: EventSeq): Promise<void> {
    await this.#keepUpTo(followed, until, () => {
      return { kind: 'missed', at: this.#wallMs(), after: followed.after, until };
    });
  }

  /**
   * An event stays in the store, so the recorder waits until there is room instead of dropping it.
   */
  async #keepUpTo(followed: Followed, seq: EventSeq, entry: () => LogEntry): Promise<void> {
    while (seq > followed.after) {
      if (this.#file.offer(entry())) followed.after = seq;
      else await this.#file.flush();
    }
  }

  async #catchUp(followed: Followed): Promise<void> {
    for (;;) {
      const page = await followed.store.leases.events({
        after: followed.after,
        limit: EVENTS_PAGE,
      });
      if (page.kind === 'truncated') {
        await this.#skip(followed, page.oldest);
        continue;
      }
      for (const event of page.events) await this.#keep(followed, event);
      if (page.events.length < EVENTS_PAGE) return;
    }
  }
}
