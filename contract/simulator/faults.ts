// The faults. Each happens at a time, to the store or to one process, and ends after a while.

import type { Random } from '../../src/support/random.ts';
import type { Actor } from './actor.ts';
import { FAIR_WEATHER } from './link.ts';
import type { PlannedFault } from './plan.ts';
import { ACTIVE_MS, between, pick, type World } from './world.ts';

interface FaultKind {
  /** Its weight in the choice of faults. */
  readonly weight: number;
  readonly details?: (random: Random) => Readonly<Record<string, number>>;
}

interface ProcessFault extends FaultKind {
  readonly inject: (actor: Actor<unknown>, fault: PlannedFault, world: World) => void;
}

interface StoreFault extends FaultKind {
  readonly inject: (world: World, fault: PlannedFault) => void;
}

/** Faults of one process. */
const OF_A_PROCESS: Readonly<Record<string, ProcessFault>> = {
  /** Between any two of its events, so at any await. */
  crash: { weight: 4, inject: (actor, { forMs }) => actor.crash(forMs) },
  /** Before or after one of its next commits. */
  'crash-at-commit': {
    weight: 3,
    details: (random) => ({ nth: between(random, 1, 8), isAfter: between(random, 0, 1) }),
    inject: (actor, { forMs, details }) => {
      const crash = (): void => actor.crash(forMs);
      const left = Number(details['nth']);
      actor.life?.link.crashAt({ left, isAfter: details['isAfter'] === 1, crash });
    },
  },
  /** Another build takes the place of the last one: the program stops in good order and starts again. */
  deploy: { weight: 2, inject: (actor, { forMs }) => actor.replace(forMs) },
  pause: { weight: 2, inject: ({ life }, { forMs }) => life?.process.freeze(forMs, false) },
  /** The machine sleeps: its monotonic clock stands still. */
  sleep: { weight: 1, inject: ({ life }, { forMs }) => life?.process.freeze(forMs, true) },
  /** Its messages are late, and so overtake each other; some are lost or doubled. */
  storm: {
    weight: 4,
    details: (random) => ({
      lateMs: pick(random, [50, 500, 3_000]),
      lost: pick(random, [0, 0.2, 1]),
      doubled: pick(random, [0, 0.3]),
    }),
    inject: ({ life }, { forMs, details }, world) => {
      if (life === undefined) return;
      Object.assign(life.link.weather, details);
      world.after(forMs, () => Object.assign(life.link.weather, FAIR_WEATHER));
    },
  },
  'clock-step': {
    weight: 1,
    details: (random) => ({ ms: between(random, -60_000, 60_000) }),
    inject: ({ life }, { details }) => life?.process.stepWall(Number(details['ms'])),
  },
};

/** Faults of the store, which all processes notice. */
const OF_THE_STORE: Readonly<Record<string, StoreFault>> = {
  'store-clock-step': {
    weight: 1,
    details: (random) => ({ ms: pick(random, [-30_000, -1_000, 1_000, 9_000]) }),
    inject: (world, { details }) => world.stepStoreClock(Number(details['ms'])),
  },
  'store-restart': {
    weight: 2,
    inject: (world, { forMs }) => {
      world.disk.faults.isDown = true;
      world.after(forMs, () => {
        world.disk.faults.isDown = false;
      });
    },
  },
  'disk-full': {
    weight: 1,
    inject: (world, { forMs }) => {
      world.disk.faults.isFull = true;
      world.after(forMs, () => {
        world.disk.faults.isFull = false;
      });
    },
  },
  'unknown-commits': {
    weight: 3,
    details: (random) => ({ share: pick(random, [0.1, 0.5]) }),
    inject: (world, { forMs, details }) => {
      const random = world.stream('unknown commits');
      const isLost = (): boolean => random.next() < Number(details['share']);
      world.disk.faults.loseCommit = () =>
        isLost() ? pick(random, ['applied', 'applied', 'not-applied']) : undefined;
      world.after(forMs, () => {
        world.disk.faults.loseCommit = () => undefined;
      });
    },
  },
  /** A backup is made, and takes the place of the store a while later. */
  restore: {
    weight: 0.4,
    inject: (world, { forMs }) => {
      world.backUp();
      world.after(forMs, () => world.restore());
    },
  },
};

export const FAULT_KINDS: readonly string[] = [
  ...Object.keys(OF_A_PROCESS),
  ...Object.keys(OF_THE_STORE),
];

export function injectFault(world: World, fault: PlannedFault): void {
  const { kind, lot, forMs, details } = fault;
  world.disturb(forMs);
  const more = Object.keys(details).length === 0 ? '' : ` ${JSON.stringify(details)}`;
  const ofStore = OF_THE_STORE[kind];
  if (ofStore !== undefined) {
    world.note(`Fault: ${kind} for ${forMs} ms${more}.`);
    world.cover(kind);
    ofStore.inject(world, fault);
    return;
  }
  const actors = [...world.actors.values()].filter(({ life }) => life !== undefined);
  const actor = actors[Math.floor(lot * actors.length)];
  if (actor === undefined) return;
  world.note(`Fault: ${kind} of ${actor.name} for ${forMs} ms${more}.`);
  world.cover(kind, actor);
  OF_A_PROCESS[kind]?.inject(actor, fault, world);
}

export function planFaults(random: Random): readonly PlannedFault[] {
  return Array.from({ length: between(random, 3, 8) }, () => planFault(random));
}

function planFault(random: Random): PlannedFault {
  const kinds = Object.entries({ ...OF_A_PROCESS, ...OF_THE_STORE });
  const [kind, { details }] = pickWeighted(random, kinds);
  return {
    atMs: between(random, 200, ACTIVE_MS - 1_000),
    kind,
    lot: random.next(),
    forMs: between(random, 100, 3_000),
    details: details?.(random) ?? {},
  };
}

function pickWeighted<Kind extends FaultKind>(
  random: Random,
  kinds: readonly (readonly [string, Kind])[],
): readonly [string, Kind] {
  // A kind of weight 0.4 has two lots, one of weight 3 has fifteen.
  const lots = kinds.flatMap((kind) =>
    Array<typeof kind>(Math.round(kind[1].weight * 5)).fill(kind),
  );
  return pick(random, lots);
}
