// Hints for whoever shows lists: something may have changed. They are numbered, so that who comes back
// knows whether anything did meanwhile; what a number stands for is this process, and no longer. Rings are of all
// projects, so the number is told as a digest with a secret: no project can count what happens in others.

import type { Bell } from '../../execution/bell.ts';
import { digestOf } from '../../support/digest.ts';
import { secureBytes } from '../../support/random.ts';

const SECRET_BYTES = 32;
const DIGEST_SHOWN = 16;

export class Hints {
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
