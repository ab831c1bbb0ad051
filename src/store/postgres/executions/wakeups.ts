// Wakes listeners when an execution may have become ready or may have ended. It calls listeners in
// this process once per turn of the event loop. Other processes get a NOTIFY, in its own statement,
// off the write path and at a limited rate. A wakeup may be lost, so waiters also poll.

import type { ProjectName } from '../../../execution/names.ts';
import {
  type KnownEffects,
  type WakeupCause,
  WakeupCauses,
  type WokenProjects,
} from '../../../execution/wakeups.ts';
import { Listeners } from '../../../support/listeners.ts';
import type { Timers } from '../../../support/timer.ts';
import type { Queries } from '../database.ts';
import type { Hints } from '../hints.ts';

const NOTIFY_EVERY_MS = 50;

export class PostgresWakeups {
  readonly #hints: Hints;
  readonly #timers: Timers;
  /** Identifies this process, so that it can ignore its own notifications. */
  readonly #name: string;
  readonly #listeners: Listeners<[WokenProjects, WakeupCause?]> = new Listeners();
  /** The projects to name in the next call; undefined for any. */
  #woken: Set<ProjectName> | undefined = new Set();
  #causes: WakeupCauses = new WakeupCauses();
  #unlisten: (() => void) | undefined;
  #isCalling = false;
  #isNotifying = false;
  #hasMore = false;
  #isClosed = false;

  constructor(hints: Hints, timers: Timers, name: string) {
    this.#hints = hints;
    this.#timers = timers;
    this.#name = name;
  }

  /**
   * Call this after a commit, with the projects that it concerns and its effects, if they are known.
   * It never fails and never waits.
   */
  notify(projects?: readonly (ProjectName | undefined)[], effects?: KnownEffects): void {
    if (this.#isClosed) return;
    this.#causes.add(effects);
    for (const project of projects ?? [undefined]) {
      if (project === undefined) this.#woken = undefined;
      else this.#woken?.add(project);
    }
    if (this.#listeners.size > 0 && !this.#isCalling) {
      this.#isCalling = true;
      this.#timers.soon(() => {
        this.#isCalling = false;
        const woken = this.#woken;
        const { cause } = this.#causes;
        this.#woken = new Set();
        this.#causes = new WakeupCauses();
        this.#listeners.call(woken, cause);
      });
    }
    this.#notifyOthers();
  }

  /** Call this in a transaction: all processes, this one too, get it after the commit. */
  async notifyWithin(queries: Queries): Promise<void> {
    await this.#hints.notifyWithin(queries);
  }

  listen(listener: (projects?: WokenProjects, cause?: WakeupCause) => void): () => void {
    this.#unlisten ??= this.#hints.listen((from) => {
      if (from !== this.#name) this.#listeners.call(undefined);
    });
    return this.#listeners.listen(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#listeners.clear();
    this.#unlisten?.();
    await this.#hints.close();
  }

  #notifyOthers(): void {
    if (this.#isNotifying) {
      this.#hasMore = true;
      return;
    }
    this.#isNotifying = true;
    this.#hasMore = false;
    void this.#hints
      .notifyOthers(this.#name)
      .then(() => this.#timers.pause(NOTIFY_EVERY_MS))
      .then(() => {
        this.#isNotifying = false;
        if (this.#hasMore && !this.#isClosed) this.#notifyOthers();
      });
  }
}
