import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { StoreUnavailable } from '../../src/index.ts';
import type { WorkerApi } from './children/worker-api.ts';
import { allSaved, assertNothingLost, hold, inspect, newestGrant } from './holders.ts';
import { Stage } from './stage/stage.ts';
import type { StoreAddress } from './stage/store-address.ts';
import { until } from './stage/until.ts';

const TTL_MS = 1_500;
const KEYS = ['one', 'two', 'three'] as const;
/** Checkpoints that show that a holder works, before and after the outage. */
const SAVES = 20;

/** A server that a test may end and start again, with stores on it. */
export interface FragileServer {
  readonly name: string;
  start(): Promise<void>;
  address(store: string): StoreAddress;
  /** Like a crash; the server comes up again on the same data. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  end(): Promise<void>;
}

export function registerOutage(server: FragileServer): void {
  describe(`an outage of the ${server.name} server`, () => {
    before(() => server.start());
    after(() => server.end());

    test('P3, T-3: a server that crashes and recovers under load loses no lease, fence or acknowledged checkpoint', () =>
      crashUnderLoad(server));

    test('E-6: after a server was away for longer than the TTL, every holder gets a fair chance', () =>
      beAway(server));
  });
}

async function crashUnderLoad(server: FragileServer): Promise<void> {
  await using stage = await Stage.at(server.address('crash'));
  const holders = await Promise.all(KEYS.map((key) => hold(stage, key, TTL_MS)));
  await allSaved(holders, SAVES);
  const newestBefore = newestGrant(holders);
  await server.kill();
  await server.restart();
  await allSaved(holders, SAVES);
  await reconnected(stage);
  await until('a fence was granted after the outage', () => newestGrant(holders) > newestBefore);
  await assertNothingLost(stage, holders);
}

/** The test has its own client, which reconnects in its own time. */
async function reconnected(stage: Stage): Promise<void> {
  await until('the test reaches the server again', () =>
    inspect(stage, KEYS[0]).then(
      () => true,
      (error: unknown) => {
        if (error instanceof StoreUnavailable) return false;
        throw error;
      },
    ),
  );
}

async function beAway(server: FragileServer): Promise<void> {
  await using stage = await Stage.at(server.address('away'));
  const holders = await Promise.all(KEYS.map((key) => hold(stage, key, TTL_MS)));
  const vulture = stage.start<WorkerApi>('children/worker.ts');
  await vulture.call('open', { store: stage.address, owner: 'vulture', ttlMs: 60_000 });
  const taking = KEYS.map((key) => vulture.call('acquire', { key, wait: true }));
  await until('the vulture is in every queue', async () => {
    const seen = await Promise.all(KEYS.map((key) => inspect(stage, key)));
    return seen.every(({ waiting }) => waiting === 1);
  });
  await allSaved(holders, SAVES);

  await server.kill();
  const stoppedAt = performance.now();
  await until('the TTL is long over', () => performance.now() - stoppedAt > 2 * TTL_MS);
  await server.restart();
  await allSaved(holders, SAVES);
  await reconnected(stage);
  for (const { reports } of holders) assert.ok(reports.some(({ kind }) => kind === 'rejoined'));
  await assertNothingLost(stage, holders);
  const taken = await Promise.race([...taking, Promise.resolve('nothing')]);
  assert.equal(taken, 'nothing', 'no other process was let in');
}
