// The faults. Each one happens, lasts, and is over when its promise resolves.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { PRESENT_BUILD } from '../server/build.ts';
import { packedBuild } from '../upgrade/packed-build.ts';
import { type Stage, type StageOptions, TTL_MS } from './stage.ts';

/** A seeded choice. */
export type Choose = <Item>(items: readonly Item[]) => Item;

export interface Fault {
  readonly name: string;
  /** The store is away meanwhile, so recovery counts from its return. */
  readonly isOfStore?: true;
  /** It needs a right that this machine may lack. */
  readonly needsDisk?: true;
  run(stage: Stage, choose: Choose): Promise<void>;
  /** Prepares the next fault, once the store responds again. */
  repair?(stage: Stage): Promise<void>;
}

const CLOCK_STEP_S = 600;
const REPLACED_AT_ONCE = 3;

/** Workers that hold a session. A push endpoint has none. */
const sessionsOf = (stage: Stage): readonly string[] =>
  stage.owners.filter((owner) => !owner.startsWith('push'));
const coordinatorOf = (stage: Stage, choose: Choose): number =>
  choose([...stage.coordinators.keys()]);

export const FAULTS: readonly Fault[] = [
  {
    name: 'worker killed',
    async run(stage, choose) {
      const owner = choose(stage.owners);
      await stage.end(owner, 'SIGKILL');
      await pause(1_000);
      await stage.startWorker(owner);
    },
  },
  {
    name: 'worker frozen',
    async run(stage, choose) {
      const owner = choose(sessionsOf(stage));
      stage.signal(owner, 'SIGSTOP');
      await pause(2 * TTL_MS);
      stage.signal(owner, 'SIGCONT');
    },
  },
  {
    name: 'coordinator killed',
    async run(stage, choose) {
      const nth = coordinatorOf(stage, choose);
      await stage.end(`coordinator-${nth}`, 'SIGKILL');
      await pause(1_000);
      await stage.startCoordinator(nth);
    },
  },
  {
    name: 'coordinator frozen',
    async run(stage, choose) {
      const name = `coordinator-${coordinatorOf(stage, choose)}`;
      stage.signal(name, 'SIGSTOP');
      await pause(2 * TTL_MS);
      stage.signal(name, 'SIGCONT');
    },
  },
  {
    name: 'network cut',
    run: (stage, choose) => onProxy(stage, choose, (proxy) => proxy.cut()),
  },
  {
    name: 'replies lost',
    run: (stage, choose) => onProxy(stage, choose, (proxy) => proxy.mute()),
  },
  {
    name: 'network slow',
    run: (stage, choose) => onProxy(stage, choose, (proxy) => proxy.delay(500)),
  },
  {
    name: 'clock step',
    async run(stage, choose) {
      const name = choose([
        ...stage.owners,
        ...stage.coordinators.map((_, n) => `coordinator-${n}`),
      ]);
      await stage.shiftClock(name, choose([-CLOCK_STEP_S, CLOCK_STEP_S]));
      await pause(2 * TTL_MS);
      await stage.shiftClock(name, 0);
    },
  },
  {
    name: 'disk full',
    isOfStore: true,
    needsDisk: true,
    async run({ pair }) {
      await pair.fillDisk();
      await pause(2 * TTL_MS);
      await pair.freeDisk();
    },
  },
  {
    name: 'statistics reset',
    async run({ pair }) {
      await pair.query('delete from pg_statistic; select pg_stat_reset()');
    },
  },
  {
    name: 'old snapshot',
    async run({ pair }) {
      const holder = new pg.Client({ connectionString: pair.primaryUrl });
      await holder.connect();
      await holder.query(
        'begin isolation level repeatable read; select 1 from holdfast.execution limit 1',
      );
      await pause(2 * TTL_MS);
      await holder.end();
    },
  },
  {
    name: 'primary killed, standby promoted',
    isOfStore: true,
    async run({ pair, plant }) {
      // An asynchronous standby that lags loses what only the primary acknowledged.
      if (plant === 'lost-commit') {
        await pair.detachStandby();
        await pause(1_000);
      }
      await pair.failOver();
    },
    repair: ({ pair }) => pair.addStandby(),
  },
  {
    name: 'rolling deploy',
    run: (stage) => replaceWorkers(stage, stage.owners),
  },
];

/**
 * Each process becomes one of the build before this one, workers first, and then of this one again.
 * The build before has no streams, and other names for the methods of gRPC.
 */
export const UPGRADE: Fault = {
  name: 'previous build, and this one again',
  async run(stage) {
    const owners = stage.owners.filter((owner) => !/^(stream|grpc)/.test(owner));
    for (const build of [await packedBuild('previous'), PRESENT_BUILD]) {
      stage.build = build;
      await replaceWorkers(stage, owners);
      for (const nth of stage.coordinators.keys()) {
        await stage.end(`coordinator-${nth}`, 'SIGTERM');
        await stage.startCoordinator(nth);
      }
    }
  },
};

/** Faults of PostgreSQL under Patroni. No step of Holdfast's operator is among them. */
const PATRONI_FAULTS: readonly Fault[] = [
  {
    name: 'failover by Patroni',
    isOfStore: true,
    run: ({ patroni }) => patroni.killPrimary(),
    repair: ({ patroni }) => patroni.untilWhole(),
  },
  {
    name: 'switchover by Patroni',
    isOfStore: true,
    run: ({ patroni }) => patroni.switchOver(),
    repair: ({ patroni }) => patroni.untilWhole(),
  },
];

/** What only an asynchronous standby allows: the primary goes on without it. */
const FAILOVER_BEHIND: Fault = {
  name: 'failover by Patroni, standby 1 s behind',
  isOfStore: true,
  run: ({ patroni }) => patroni.killPrimary({ behindMs: 1_000 }),
  repair: ({ patroni }) => patroni.untilWhole(),
};

export function faultsFor(patroni: StageOptions['patroni']): readonly Fault[] {
  if (patroni === undefined) return FAULTS;
  return patroni === 'synchronous' ? PATRONI_FAULTS : [...PATRONI_FAULTS, FAILOVER_BEHIND];
}

/** Some at a time, so that the others carry on. */
async function replaceWorkers(stage: Stage, owners: readonly string[]): Promise<void> {
  for (let from = 0; from < owners.length; from += REPLACED_AT_ONCE) {
    const replaced = owners.slice(from, from + REPLACED_AT_ONCE);
    await Promise.all(
      replaced.map(async (owner) => {
        await stage.end(owner, 'SIGTERM');
        await stage.startWorker(owner);
      }),
    );
  }
}

async function onProxy(
  stage: Stage,
  choose: Choose,
  harm: (proxy: Stage['coordinators'][number]['proxy']) => void,
): Promise<void> {
  const { proxy } = stage.coordinators[coordinatorOf(stage, choose)] ?? assert.fail();
  harm(proxy);
  await pause(TTL_MS);
  proxy.restore();
}
