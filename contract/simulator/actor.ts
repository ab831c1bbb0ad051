// An actor is a program that runs in one process at a time. A crash ends the process; a restart runs
// the program again in a new one.

import type { StoreLink } from './link.ts';
import type { SimulatedProcess } from './process.ts';
import type { World } from './world.ts';

/** One life of an actor. */
export interface Life {
  readonly process: SimulatedProcess;
  readonly link: StoreLink;
  readonly world: World;
  /** The code that it runs. A deploy may bring the other one. */
  readonly build: 'old' | 'new';
}

/** A program that can stop in good order. */
interface Stoppable {
  close(): Promise<unknown>;
  stop(): Promise<unknown>;
}

const STOP_MS_MAX = 2_000;

/** Starts the program in a new process. */
export type Start<Inside> = (life: Life) => Promise<Inside>;

export class Actor<Inside> {
  readonly name: string;
  readonly #world: World;
  readonly #start: Start<Inside>;
  #life: Life | undefined;
  #inside: Inside | undefined;

  constructor(world: World, name: string, start: Start<Inside>) {
    this.#world = world;
    this.name = name;
    this.#start = start;
  }

  get life(): Life | undefined {
    return this.#life?.process.state === 'dead' ? undefined : this.#life;
  }

  /** The object that the program opened; undefined while it starts, and while it is dead. */
  get inside(): Inside | undefined {
    return this.life === undefined ? undefined : this.#inside;
  }

  /** Starts it, unless it lives. */
  revive(): void {
    if (this.life !== undefined) return;
    const { process, link } = this.#world.process(this.name);
    const random = this.#world.stream(`build of ${process.name}`);
    const build = random.next() < 0.5 ? 'old' : 'new';
    const life: Life = { process, link, world: this.#world, build };
    this.#life = life;
    this.#inside = undefined;
    this.#world.note(`${life.process.name} starts.`);
    // The first event of the process.
    this.#world.scheduler.after(0, life.process, () => {
      this.#start(life).then(
        (inside) => {
          if (this.#life === life) this.#inside = inside;
        },
        () => {
          // It could not start: a supervisor tries again.
          this.crash(500);
        },
      );
    });
  }

  /** Stops the program, and then its process. If that takes too long, a supervisor kills it. */
  replace(restartAfterMs: number): void {
    const { life, inside } = this;
    const { close, stop = close } = (inside ?? {}) as Partial<Stoppable>;
    if (life === undefined || stop === undefined) {
      this.crash(restartAfterMs);
      return;
    }
    this.#world.note(`${life.process.name} stops.`);
    const end = (): void => {
      if (this.life === life) this.crash(restartAfterMs);
    };
    this.#world.run(life.process, () => stop.call(inside).then(end));
    this.#world.after(STOP_MS_MAX, end);
  }

  /** Kills its process. A supervisor starts it again after a while. */
  crash(restartAfterMs: number): void {
    const life = this.life;
    if (life === undefined) return;
    this.#world.note(`${life.process.name} crashes.`);
    life.process.crash();
    this.#world.disturb(restartAfterMs);
    this.#world.links.delete(life.link);
    this.#world.scheduler.after(restartAfterMs, undefined, () => this.revive());
  }
}
