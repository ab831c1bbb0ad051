// The lease-service suite: acquire and renew through a coordinator in a process of its own, beside
// etcd's lock service on three members. All of them take turns in one run.

import { join } from 'node:path';
import { openSession, type Session } from '../../src/index.ts';
import { openCoordinator } from '../../src/worker/open-coordinator.ts';
import type { CoordinatorApi } from '../../test/processes/children/coordinator.ts';
import { Child } from '../../test/processes/stage/child.ts';
import type { StoreAddress } from '../../test/processes/stage/store-address.ts';
import { startEtcd } from '../../test/services/etcd.ts';
import { startPostgres } from '../../test/services/postgres.ts';
import { alternate, type Contestant, medianRatio, medianRound, type Round } from '../measure.ts';
import type { Result } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Plan, Suite } from '../suite.ts';
import { openEtcdLocks } from './etcd-lock.ts';

const IN_FLIGHT_MAX = 64;
const IN_FLIGHT = [1, IN_FLIGHT_MAX] as const;
/** So long that no session sends a heartbeat during a measurement. */
const TTL_MS = 600_000;

export const leaseServiceSuite: Suite = {
  name: 'lease-service',
  summary: 'Leases through a coordinator, beside the lock service of etcd',
  legend: [
    'acquire: take a key that is free, and release it.',
    'renew: one heartbeat or keep-alive. Each of those in flight has a session, or lease, of its own.',
    'The coordinator is one process, reached by one stream. etcd has three members on this machine.',
    'A coordinator writes each heartbeat to its store; etcd keeps keep-alives in the memory of its leader.',
    'of etcd: rate divided by that of etcd. Ratios are medians of ratios within one round.',
  ],
  run: runLeaseService,
};

interface Subject {
  readonly name: string;
  acquire(worker: number): Promise<unknown>;
  renew(worker: number): Promise<unknown>;
  close(): Promise<unknown>;
}

async function* runLeaseService(plan: Plan): AsyncGenerator<Result, void, void> {
  const subjects: Subject[] = [];
  try {
    plan.progress('opening');
    subjects.push(await etcdSubject());
    for (const kind of ['sqlite', 'postgres'] as const) {
      if (plan.stores.includes(kind)) subjects.push(await coordinatorSubject(kind));
    }
    for (const inFlight of IN_FLIGHT) {
      for (const name of ['acquire', 'renew'] as const) {
        plan.progress(`${name}, ${inFlight} in flight`);
        const contestants = subjects.map((each): Contestant => {
          return { inFlight, operation: (worker) => each[name](worker) };
        });
        const rounds = await alternate(contestants, paceFor(plan));
        yield* reported(`${name}, ${inFlight} in flight`, subjects, rounds);
      }
    }
  } finally {
    for (const each of subjects) await each.close();
  }
}

function paceFor({ quick }: Plan) {
  return quick
    ? { rounds: 3, roundMs: 300, warmUpMs: 200 }
    : { rounds: 7, roundMs: 1_000, warmUpMs: 1_000 };
}

async function etcdSubject(): Promise<Subject> {
  const cluster = await startEtcd();
  const locks = await openEtcdLocks(cluster.endpoints[await cluster.leader()] ?? '', IN_FLIGHT_MAX);
  return {
    name: 'etcd lock service',
    acquire: (worker) => locks.lockOnce(`bench/${worker}`),
    renew: (worker) => locks.renew(worker),
    async close() {
      locks.close();
      await cluster.stop();
    },
  };
}

async function coordinatorSubject(kind: 'sqlite' | 'postgres'): Promise<Subject> {
  const server = kind === 'postgres' ? await startPostgres() : undefined;
  const address: StoreAddress =
    server === undefined
      ? { kind: 'sqlite', file: join(scratchFolder(), 'leases.db') }
      : { kind: 'postgres', url: server.url, schema: 'bench' };
  const child = new Child<CoordinatorApi>('children/coordinator.ts');
  const url = await child.call('serve', { store: address, port: 0 });
  const store = await openCoordinator({ url });
  const opened = Array.from({ length: IN_FLIGHT_MAX }, (_, nth) =>
    openSession({ store, owner: `bench ${nth}`, ttlMs: TTL_MS }),
  );
  const sessions = await Promise.all(opened);
  const sessionOf = (worker: number): Session => sessions[worker % sessions.length] as Session;
  return {
    name: `coordinator on ${kind}`,
    async acquire(worker) {
      const outcome = await sessionOf(worker).acquire(`bench/${worker}`);
      if (outcome.kind !== 'acquired') throw new Error(`Not measured: ${outcome.kind}.`);
      const released = await outcome.lease.release('finished');
      if (released.kind !== 'released') throw new Error(`Not measured: ${released.kind}.`);
    },
    async renew(worker) {
      const { id, owner } = sessionOf(worker);
      const { kind: answer } = await store.sessions.heartbeat({ id, owner });
      if (answer !== 'alive') throw new Error(`Not measured: ${answer}.`);
    },
    async close() {
      await Promise.all(sessions.map((each) => each.close()));
      await store.close();
      await child.kill();
      await server?.stop();
    },
  };
}

function* reported(
  name: string,
  subjects: readonly Subject[],
  rounds: readonly (readonly Round[])[],
): Generator<Result, void, void> {
  const [ofEtcd = []] = rounds;
  for (const [nth, { name: subject }] of subjects.entries()) {
    const own = rounds[nth] ?? [];
    const { perSecond, p50Ms, p99Ms } = medianRound(own);
    const common = { suite: 'lease-service', case: subject, store: name, settings: {} };
    yield { ...common, metric: 'rate', value: perSecond, unit: '/s', p50Ms, p99Ms };
    yield { ...common, metric: 'of etcd', value: medianRatio(own, ofEtcd), unit: '' };
  }
}
