// Wakes listeners when an execution may have become ready or may have ended. It calls listeners in
// this process once per turn of the event loop. Other processes get a NOTIFY, in its own statement,
// off the write path and at a limited rate. A wakeup may be lost, so waiters also poll.

import type { ExecutionId, ProjectName } from '../../../execution/names.ts';
import type { WakeupCause, WokenProjects } from '../../../execution/wakeups.ts';
import { Listeners } from '../../../support/listeners.ts';
import type { Timers } from '../../../support/timer.ts';
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
  /** The executions that ended by then; undefined for any. */
  #ended: Set<ExecutionId> | undefined = new Set();
  #mayBeReady = false;
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
   * Call this after a commit, with the projects that it concerns and its cause, if they are known.
   * It never fails and never waits.
   */
  notify(projects?: readonly (ProjectName | undefined)[], cause?: WakeupCause): void {
    if (this.#isClosed) return;
    if (cause?.ended === undefined) this.#ended = undefined;
    else for (const id of cause.ended) this.#ended?.add(id);
    this.#mayBeReady ||= cause?.mayBeReady !== false;
    for (const project of projects ?? [undefined]) {
      if (project === undefined) this.#woken = undefined;
      else this.#woken?.add(project);
    }
    if (this.#listeners.size > 0 && !this.#isCalling) {
      this.#isCalling = true;
      this.#timers.soon(() => {
        this.#isCalling = false;
        const woken = this.#woken;
        const cause = { ended: this.#ended, mayBeReady: this.#mayBeReady };
        this.#woken = new Set();
        this.#ended = new Set();
        this.#mayBeReady = false;
        this.#listeners.call(woken, cause);
      });
    }
    this.#notifyOthers();
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
