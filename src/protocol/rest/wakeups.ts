// A wakeup reaches every waiting request of the projects that it concerns, or of all if the store
// does not know them. One project may have thousands of open requests, and each that wakes costs a response or a query. So only a few of a project wake at
// once, in turn, and the others shortly after.

import type { ProjectName } from '../../execution/names.ts';
import type { Wakeups, WokenProjects } from '../../execution/wakeups.ts';
import { digestOf } from '../../support/digest.ts';
import { secureBytes } from '../../support/random.ts';
import type { Timers } from '../../support/timer.ts';

/** The limit for one project. */
export const WOKEN_AT_ONCE = 16;
export const NEXT_MS = 100;

interface Waiting {
  /** The listeners in order; the last one woken is last. */
  readonly queue: Set<() => void>;
  /** The number of listeners still to wake, from the front. */
  owed: number;
  cancel: (() => void) | undefined;
}

export class FairWakeups {
  readonly #timers: Timers;
  readonly #unlisten: () => void;
  readonly #waiting: Map<ProjectName, Waiting> = new Map();

  constructor(wakeups: Wakeups, timers: Timers) {
    this.#timers = timers;
    this.#unlisten = wakeups.onWakeup((projects) => this.#onWakeup(projects));
  }

  listen(project: ProjectName, listener: () => void): () => void {
    const waiting = this.#waiting.get(project) ?? {
      ...{ queue: new Set(), owed: 0, cancel: undefined },
    };
    this.#waiting.set(project, waiting);
    // A wrapper, so that one listener can register twice.
    const own = (): void => listener();
    waiting.queue.add(own);
    return () => {
      waiting.queue.delete(own);
      if (waiting.queue.size > 0 || this.#waiting.get(project) !== waiting) return;
      waiting.cancel?.();
      this.#waiting.delete(project);
    };
  }

  close(): void {
    this.#unlisten();
    for (const { cancel } of this.#waiting.values()) cancel?.();
    this.#waiting.clear();
  }

  #onWakeup(projects: WokenProjects): void {
    for (const project of [...(projects ?? this.#waiting.keys())]) {
      const waiting = this.#waiting.get(project);
      if (waiting === undefined) continue;
      waiting.owed = waiting.queue.size;
      // During a round, a new wakeup adds every listener again, and they wake in turn.
      if (waiting.cancel === undefined) this.#wake(waiting);
    }
  }

  #wake(waiting: Waiting): void {
    const { queue } = waiting;
    const woken = [...take(queue, Math.min(waiting.owed, WOKEN_AT_ONCE))];
    waiting.owed -= woken.length;
    for (const each of woken) {
      queue.delete(each);
      queue.add(each);
    }
    for (const each of woken) each();
    waiting.owed = Math.min(waiting.owed, queue.size);
    waiting.cancel =
      waiting.owed === 0
        ? undefined
        : this.#timers.after(NEXT_MS, () => {
            waiting.cancel = undefined;
            this.#wake(waiting);
          });
  }
}

/** Leaves out wakeups of executions that only ended. */
export function readinessOf(wakeups: Wakeups): Wakeups {
  return {
    onWakeup: (listener) =>
      wakeups.onWakeup((projects, cause) => {
        if (cause?.ready?.size !== 0) listener(projects, cause);
      }),
  };
}

function* take<Item>(items: Iterable<Item>, count: number): Generator<Item> {
  let left = count;
  for (const item of items) {
    if (left <= 0) return;
    left -= 1;
    yield item;
  }
}

// Hints for clients that show lists: something may have changed. Numbers let a returning client see
// whether it missed anything; they are valid only for this process. Wakeups cover all projects, so
// clients get a digest with a secret instead of the number. No project can then count the activity
// of others.

const SECRET_BYTES = 32;
const DIGEST_SHOWN = 16;

export class WaitingHints {
  readonly #life: string;
  readonly #unlisten: () => void;
  readonly #secret: string = Buffer.from(secureBytes(SECRET_BYTES)).toString('hex');
  #count = 0;
  #id: string | undefined;

  constructor(executions: Wakeups, life: string) {
    this.#life = life;
    this.#unlisten = executions.onWakeup(() => this.#onWakeup());
  }

  get id(): string {
    const number = `${this.#secret} ${this.#count}`;
    this.#id ??= `${this.#life}.${digestOf(Buffer.from(number)).slice(0, DIGEST_SHOWN)}`;
    return this.#id;
  }

  /** True if the id is an older one of this process. Undefined: another process issued it. */
  isBehind(id: string): boolean | undefined {
    return id.startsWith(`${this.#life}.`) ? id !== this.id : undefined;
  }

  close(): void {
    this.#unlisten();
  }

  #onWakeup(): void {
    this.#count += 1;
    this.#id = undefined;
  }
}
