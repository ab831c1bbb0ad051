// Tracks the executions that a worker has, and its free slots.

import type { Session } from '../../lease/live-session.ts';
import type { Claimed } from '../../store/contract/execution-store.ts';
import type { WorkerConfig } from '../config.ts';
import { Drive, type DriveEvents } from './drive.ts';
import type { WorkerSettings } from './worker-options.ts';

const GIVE_BACK_MS_MAX = 5_000;

export class Slots implements DriveEvents {
  /** Drives get patient payloads: a step that succeeded must survive an outage of the store. */
  readonly #config: WorkerConfig;
  readonly #settings: WorkerSettings;
  readonly #events: DriveEvents;
  readonly #drives: Set<Drive> = new Set();
  /** The number of taken slots. An execution that is leaving has none. */
  #taken = 0;
  #emptied: (() => void) | undefined;

  constructor(config: WorkerConfig, settings: WorkerSettings, events: DriveEvents) {
    this.#config = Object.freeze({ ...config, payloads: config.patientPayloads });
    this.#settings = settings;
    this.#events = events;
  }

  get running(): number {
    return this.#drives.size;
  }

  /**
   * Last writes may take long. With as many of them as there are slots, the worker claims nothing.
   */
  get free(): number {
    const { concurrency } = this.#settings;
    return Math.min(concurrency - this.#taken, 2 * concurrency - this.#drives.size);
  }

  drive(claimed: Claimed, session: Session): void {
    const pipeline = this.#settings.pipelines.get(claimed.execution.pipeline);
    // A store returns only pipelines that the claim asked for.
    if (pipeline === undefined) return;
    const drive = new Drive(this.#config, { claimed, pipeline, session }, this);
    this.#drives.add(drive);
    this.#taken += 1;
    drive.start();
  }

  leaving(): void {
    this.#taken -= 1;
    this.#events.leaving();
  }

  left(drive: Drive): void {
    this.#drives.delete(drive);
    this.#events.left(drive);
    if (this.#drives.size === 0) this.#emptied?.();
  }

  /** A message arrived for one of the executions. */
  readInboxes(): void {
    for (const drive of this.#drives) drive.readInbox();
  }

  /** Lets running steps finish for a limited time. Returns functions that cancel the limits. */
  yieldAll(): readonly (() => void)[] {
    for (const drive of this.#drives) drive.yield();
    const { timers } = this.#config;
    const { stopGraceMs } = this.#settings;
    return [
      timers.after(stopGraceMs, () => {
        for (const drive of this.#drives) drive.abandon();
      }),
      // The store does not respond. Other workers take over once the session has expired.
      timers.after(stopGraceMs + GIVE_BACK_MS_MAX, () => this.sessionOver()),
    ];
  }

  /** Every claim of the session is lost, so abort the steps at once. */
  sessionOver(): void {
    for (const drive of [...this.#drives]) drive.sessionOver();
  }

  /** Resolves when the last execution has left. */
  empty(): Promise<void> {
    if (this.#drives.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#emptied = resolve;
    });
  }
}
