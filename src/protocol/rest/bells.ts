// A ring wakes all who wait, of all projects. One project may have thousands of requests open, and each that wakes costs
// an answer or a look at the store: so few of a project wake at once, in turn, and the others shortly after.

import type { Bell } from '../../execution/bell.ts';
import type { ProjectName } from '../../execution/names.ts';
import { digestOf } from '../../support/digest.ts';
import { secureBytes } from '../../support/random.ts';
import type { Timers } from '../../support/timer.ts';

/** Of one project. */
export const WOKEN_AT_ONCE = 16;
export const NEXT_MS = 100;

interface Waiting {
  /** Who was woken last stands last. */
  readonly line: Set<() => void>;
  /** How many of the line are to be woken yet, from its front. */
  owed: number;
  cancel: (() => void) | undefined;
}

export class FairBell {
  readonly #timers: Timers;
  readonly #unlisten: () => void;
  readonly #waiting: Map<ProjectName, Waiting> = new Map();

  constructor(bell: Bell, timers: Timers) {
    this.#timers = timers;
    this.#unlisten = bell.onRing(() => this.#ring());
  }

  listen(project: ProjectName, listener: () => void): () => void {
    const waiting = this.#waiting.get(project) ?? {
      ...{ line: new Set(), owed: 0, cancel: undefined },
    };
    this.#waiting.set(project, waiting);
    // So that one that listens twice is two.
    const own = (): void => listener();
    waiting.line.add(own);
    return () => {
      waiting.line.delete(own);
      if (waiting.line.size > 0 || this.#waiting.get(project) !== waiting) return;
      waiting.cancel?.();
      this.#waiting.delete(project);
    };
  }

  close(): void {
    this.#unlisten();
    for (const { cancel } of this.#waiting.values()) cancel?.();
    this.#waiting.clear();
  }

  #ring(): void {
    for (const waiting of [...this.#waiting.values()]) {
      waiting.owed = waiting.line.size;
      // While some of them are being woken, all are owed it again, and have it in their turn.
      if (waiting.cancel === undefined) this.#wake(waiting);
    }
  }

  #wake(waiting: Waiting): void {
    const { line } = waiting;
    const woken = [...take(line, Math.min(waiting.owed, WOKEN_AT_ONCE))];
    waiting.owed -= woken.length;
    for (const each of woken) {
      line.delete(each);
      line.add(each);
    }
    for (const each of woken) each();
    waiting.owed = Math.min(waiting.owed, line.size);
    waiting.cancel =
      waiting.owed === 0
        ? undefined
        : this.#timers.after(NEXT_MS, () => {
            waiting.cancel = undefined;
            this.#wake(waiting);
          });
  }
}

function* take<Item>(items: Iterable<Item>, count: number): Generator<Item> {
  let left = count;
  for (const item of items) {
    if (left <= 0) return;
    left -= 1;
    yield item;
  }
}

// Hints for whoever shows lists: something may have changed. They are numbered, so that who comes back
// knows whether anything did meanwhile; what a number stands for is this process, and no longer. Rings are of all
// projects, so the number is told as a digest with a secret: no project can count what happens in others.

const SECRET_BYTES = 32;
const DIGEST_SHOWN = 16;

export class WaitingHints {
  readonly #life: string;
  readonly #unlisten: () => void;
  readonly #secret: string = Buffer.from(secureBytes(SECRET_BYTES)).toString('hex');
  #count = 0;
  #id: string | undefined;

  constructor(executions: Bell, life: string) {
    this.#life = life;
    this.#unlisten = executions.onRing(() => this.#rang());
  }

  get id(): string {
    const number = `${this.#secret} ${this.#count}`;
    this.#id ??= `${this.#life}.${digestOf(Buffer.from(number)).slice(0, DIGEST_SHOWN)}`;
    return this.#id;
  }

  /** Whether this is an id of ours, and not the newest. Undefined: it is of another life. */
  isBehind(id: string): boolean | undefined {
    return id.startsWith(`${this.#life}.`) ? id !== this.id : undefined;
  }

  close(): void {
    this.#unlisten();
  }

  #rang(): void {
    this.#count += 1;
    this.#id = undefined;
  }
}
