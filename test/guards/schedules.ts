// Every guard has to pass this test: random schedules of holders that are paused and replaced.
//
// Two or three holders are granted a resource one after the other, with rising fences. Each admits
// itself and then writes, in small steps. A seeded scheduler chooses the next step and freezes
// holders at any point, above all between check and write. Meanwhile it may grant the successor. An
// effect is stale if its holder sends it after a higher fence was admitted.

import type { Fenced } from '../../src/guards/mark.ts';
import { FENCE_ORIGIN, toFence } from '../../src/lease/fence.ts';
import { seededRandom } from '../../src/support/random.ts';

/** `guarded` goes through the guard; `unguarded` just writes; `read-first` reads, then writes. */
export type Mode = 'guarded' | 'unguarded' | 'read-first';

/** One holder, as the resource sees it. */
export interface Holder {
  readonly index: number;
  readonly fenced: Fenced;
  readonly mode: Mode;
  /** From the schedule's seed: for choices of the resource, such as the isolation level. */
  readonly choose: <Option>(options: readonly Option[]) => Option;
  /** The scheduler may freeze the holder here, for any time. */
  pause(): Promise<void>;
  /** Right before the message that causes the effect leaves. */
  sending(): void;
}

export interface Resource {
  /** False if the guard returned stale. In the unguarded modes nothing has to happen. */
  admit(holder: Holder): Promise<boolean>;
  /** One effect, with pauses inside. False if the guard returned stale. */
  write(holder: Holder): Promise<boolean>;
  /** The fences of the effects that happened, in the order of the resource itself. */
  effects(key: string): Promise<readonly number[]>;
  /** Long enough for a step to finish, unless it waits for another holder. */
  breathe(): Promise<void>;
}

export interface Tally {
  schedules: number;
  effects: number;
  refused: number;
  stale: number;
}

interface Actor {
  readonly holder: Holder;
  /** Set while the actor stands at a pause. */
  resume: (() => void) | undefined;
  frozenFor: number;
  done: boolean;
  /** The highest fence admitted when this holder last sent off an effect. */
  newestWhenSent: number;
}

const FREEZE_CHANCE = 0.25;
const FREEZE_ROUNDS_MAX = 8;
const BREATHS = 2;
const TURNS = 20;

class Schedule {
  readonly #actors: Actor[] = [];
  readonly #random: () => number;
  #granted = 0;
  #newest = 0;
  #arrived: () => void = () => undefined;
  readonly tally: Tally = { schedules: 1, effects: 0, refused: 0, stale: 0 };

  constructor(seed: number, key: string, mode: Mode) {
    const random = seededRandom(seed);
    this.#random = () => random.next();
    const count = 2 + this.#below(2);
    for (let index = 0; index < count; index += 1) {
      const fence = toFence(FENCE_ORIGIN + 1 + index);
      this.#actors.push(this.#actor(index, { key, fence }, mode));
    }
  }

  async run(resource: Resource): Promise<Tally> {
    const lives = this.#actors.map((actor) => this.#live(actor, resource));
    const all = Promise.all(lives);
    while (this.#actors.some((actor) => !actor.done)) {
      this.#release();
      await this.#untilSettled(resource, all);
    }
    await all;
    return this.tally;
  }

  #actor(index: number, fenced: Fenced, mode: Mode): Actor {
    const actor: Actor = {
      resume: undefined,
      frozenFor: 0,
      done: false,
      newestWhenSent: 0,
      holder: {
        index,
        fenced,
        mode,
        choose: (options) => options[this.#below(options.length)] ?? missing(),
        pause: () => this.#pause(actor),
        sending: () => {
          actor.newestWhenSent = this.#newest;
        },
      },
    };
    return actor;
  }

  async #live(actor: Actor, resource: Resource): Promise<void> {
    const { holder } = actor;
    const { fence } = holder.fenced;
    try {
      await holder.pause();
      // Granted: the store has minted the fence. The resource does not know yet.
      this.#granted += 1;
      await holder.pause();
      if (!(await resource.admit(holder))) return;
      this.#newest = Math.max(this.#newest, fence);
      const writes = 1 + this.#below(2);
      for (let count = 0; count < writes; count += 1) {
        await holder.pause();
        if (!(await resource.write(holder))) {
          this.tally.refused += 1;
          return;
        }
        this.tally.effects += 1;
        if (actor.newestWhenSent > fence) this.tally.stale += 1;
      }
    } finally {
      actor.done = true;
      this.#arrived();
    }
  }

  #pause(actor: Actor): Promise<void> {
    return new Promise((resolve) => {
      actor.resume = resolve;
      this.#arrived();
    });
  }

  /** Lets one holder take its next step; fences rise in the order of grants. */
  #release(): void {
    const able = this.#actors.filter(
      ({ resume, holder }) => resume !== undefined && holder.index <= this.#granted,
    );
    for (const actor of able) actor.frozenFor = Math.max(0, actor.frozenFor - 1);
    const awake = able.filter((actor) => actor.frozenFor === 0);
    const candidates = awake.length > 0 ? awake : able;
    const chosen = candidates[this.#below(candidates.length)];
    if (chosen === undefined) return;
    if (candidates.length > 1 && this.#random() < FREEZE_CHANCE) {
      chosen.frozenFor = 1 + this.#below(FREEZE_ROUNDS_MAX);
      return;
    }
    const { resume } = chosen;
    chosen.resume = undefined;
    resume?.();
  }

  /** Waits until all holders stand at a pause, are done, or seem to wait for one that is paused. */
  async #untilSettled(resource: Resource, all: Promise<unknown>): Promise<void> {
    for (let breaths = 0; breaths < BREATHS || this.#withoutPause(); breaths += 1) {
      // Most steps need no more than a few turns of the promise queue.
      for (let turns = 0; turns < TURNS; turns += 1) {
        if (!this.#actors.some(isAtWork)) return;
        await undefined;
      }
      const arrival = new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
      await Promise.race([arrival, resource.breathe(), all]);
    }
  }

  #withoutPause(): boolean {
    return this.#actors.every((actor) => actor.resume === undefined);
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

export interface SchedulesPlan {
  readonly resource: (lane: number) => Promise<Resource> | Resource;
  readonly mode: Mode;
  readonly schedules: number;
  /** How many run side by side, each on its own resource. */
  readonly lanes?: number;
  readonly firstSeed?: number;
}

/** Runs the schedules and counts. Effects out of order in the resource's own record are stale too. */
export async function runSchedules(plan: SchedulesPlan): Promise<Tally> {
  const total: Tally = { schedules: 0, effects: 0, refused: 0, stale: 0 };
  const first = plan.firstSeed ?? 1;
  let next = first;
  const runLane = async (lane: number) => {
    const resource = await plan.resource(lane);
    while (next < first + plan.schedules) {
      const seed = next;
      next += 1;
      const tally = await runOne(resource, seed, plan.mode);
      total.schedules += 1;
      total.effects += tally.effects;
      total.refused += tally.refused;
      total.stale += tally.stale;
    }
  };
  await Promise.all(Array.from({ length: plan.lanes ?? 1 }, (_, lane) => runLane(lane)));
  return total;
}

async function runOne(resource: Resource, seed: number, mode: Mode): Promise<Tally> {
  const key = `${mode}/${seed}`;
  const tally = await new Schedule(seed, key, mode).run(resource);
  const recorded = await resource.effects(key);
  if (recorded.length !== tally.effects) {
    throw new Error(
      `seed ${seed}: ${tally.effects} effects were answered, ${recorded.length} are recorded`,
    );
  }
  return { ...tally, stale: Math.max(tally.stale, outOfOrder(recorded)) };
}

/** Effects that came after one with a higher fence. */
export function outOfOrder(fences: readonly number[]): number {
  let newest = 0;
  let found = 0;
  for (const fence of fences) {
    if (fence < newest) found += 1;
    newest = Math.max(newest, fence);
  }
  return found;
}

function isAtWork({ resume, done }: Actor): boolean {
  return resume === undefined && !done;
}

function missing(): never {
  throw new Error('there is nothing to choose from');
}
