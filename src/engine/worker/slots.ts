// The executions that a worker has now, and how many more it has room for.

import type { Session } from '../../lease/live-session.ts';
import type { Claimed } from '../../store/contract/execution-store.ts';
import type { WorkerConfig } from '../config.ts';
import { Drive, type DriveEvents } from './drive.ts';
import type { WorkerSettings } from './worker-options.ts';

const GIVE_BACK_MS_MAX = 5_000;

export class Slots implements DriveEvents {
  /** For executions: their steps have succeeded when a store is away. */
  readonly #config: WorkerConfig;
  readonly #settings: WorkerSettings;
  readonly #events: DriveEvents;
  readonly #drives: Set<Drive> = new Set();
  /** How many have a slot: who is about to leave has none. */
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

  /** Last writes may take long: with as many of them as there are slots, nothing is claimed. */
  get free(): number {
    const { concurrency } = this.#settings;
    return Math.min(concurrency - this.#taken, 2 * concurrency - this.#drives.size);
  }

  drive(claimed: Claimed, session: Session): void {
    const pipeline = this.#settings.pipelines.get(claimed.execution.pipeline);
    // A store answers with what it was asked for.
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

  /** A message has arrived for one of them. */
  lookAtInboxes(): void {
    for (const drive of this.#drives) drive.lookAtInbox();
  }

  /** Lets what runs finish, for a while. Answers what takes back that limit. */
  yieldAll(): readonly (() => void)[] {
    for (const drive of this.#drives) drive.yield();
    const { timers } = this.#config;
    const { stopGraceMs } = this.#settings;
    return [
      timers.after(stopGraceMs, () => {
        for (const drive of this.#drives) drive.abandon();
      }),
      // The store does not answer: what is left is found by others when the session has expired.
      timers.after(stopGraceMs + GIVE_BACK_MS_MAX, () => this.sessionOver()),
    ];
  }

  /** Everything that was claimed with it is lost: steps are told at once. */
  sessionOver(): void {
    for (const drive of [...this.#drives]) drive.sessionOver();
  }

  /** Resolves when the last one has left. */
  empty(): Promise<void> {
    if (this.#drives.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#emptied = resolve;
    });
  }
}
