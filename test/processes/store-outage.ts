import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { parseLeaseKey } from '../../src/index.ts';
import type { SteadfastApi, Told } from './children/steadfast.ts';
import type { WorkerApi } from './children/worker-api.ts';
import { Stage } from './stage/stage.ts';
import type { StoreAddress } from './stage/store-address.ts';
import { until } from './stage/until.ts';

const TTL_MS = 1_500;
const KEYS = ['one', 'two', 'three'];
/** Work that shows that a holder is at it, before and after the outage. */
const SAVES = 20;

/** A holder and everything it has told, in order. */
interface Holder {
  readonly key: string;
  readonly fence: number;
  readonly told: Told[];
}

/** A server that a test may end and start again, with stores on it. */
export interface FragileServer {
  readonly name: string;
  start(): Promise<void>;
  address(store: string): StoreAddress;
  /** As a crash would; on the same data it comes up again. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  end(): Promise<void>;
}

export function registerOutage(server: FragileServer): void {
  describe(`an outage of the ${server.name} server`, () => {
    before(() => server.start());
    after(() => server.end());

    test('P3, T-3: a server that crashes and recovers under load loses no lease, no fence, no acknowledged checkpoint', () =>
      crashUnderLoad(server));

    test('E-6: a server that is away for longer than the TTL gives everybody a fair chance to go on', () =>
      beAway(server));
  });
}

async function crashUnderLoad(server: FragileServer): Promise<void> {
  await using stage = await Stage.at(server.address('crash'));
  const holders = await Promise.all(KEYS.map((key) => hold(stage, key)));
  await allSaved(holders, SAVES);
  const newestBefore = newestGrant(holders);
  await server.kill();
  await server.restart();
  await allSaved(holders, SAVES);
  await until('a fence was granted after the outage', () => newestGrant(holders) > newestBefore);
  await assertNothingLost(stage, holders);
}

async function beAway(server: FragileServer): Promise<void> {
  await using stage = await Stage.at(server.address('away'));
  const holders = await Promise.all(KEYS.map((key) => hold(stage, key)));
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
  for (const { told } of holders) assert.ok(told.some(({ kind }) => kind === 'rejoined'));
  await assertNothingLost(stage, holders);
  const taken = await Promise.race([...taking, Promise.resolve('nothing')]);
  assert.equal(taken, 'nothing', 'nobody else was let in');
}

async function hold(stage: Stage, key: string): Promise<Holder> {
  const child = stage.start<SteadfastApi>('children/steadfast.ts');
  const told: Told[] = [];
  child.on('told', (detail) => told.push(detail as Told));
  const fence = await child.call('hold', { store: stage.address, key, ttlMs: TTL_MS });
  return { key, fence, told };
}

/** Waits until every holder has been told "saved" so many more times, or one has lost its lease. */
async function allSaved(holders: readonly Holder[], times: number): Promise<void> {
  const goals = holders.map((holder) => savesOf(holder).length + times);
  await until('every holder has saved again', () => {
    const lost = holders.flatMap(({ told }) => told.filter(({ kind }) => kind === 'lost'));
    assert.deepEqual(lost, []);
    return holders.every((holder, index) => savesOf(holder).length >= (goals[index] ?? 0));
  });
}

async function assertNothingLost(stage: Stage, holders: readonly Holder[]): Promise<void> {
  for (const holder of holders) {
    const saves = savesOf(holder);
    const acknowledged = saves.at(-1)?.number ?? 0;
    assert.deepEqual(
      saves.map(({ number }) => number),
      Array.from({ length: saves.length }, (_, index) => index + 1),
      'every checkpoint was answered once, in order',
    );
    const { record, state } = await inspect(stage, holder.key);
    assert.deepEqual([state, record?.fence], ['held', holder.fence], 'the same term goes on');
    const stored = Number(Buffer.from(record?.checkpoint?.bytes ?? []).toString());
    assert.ok(stored >= acknowledged, `${stored} is stored, ${acknowledged} was acknowledged`);
    const fences = grantsOf(holder);
    assert.deepEqual(fences, [...new Set(fences)].sort(numerically), 'T-3: fences rise');
  }
  const all = holders.flatMap(grantsOf);
  assert.equal(new Set(all).size, all.length, 'T-3: no fence was issued twice');
}

function savesOf({ told }: Holder) {
  return told.filter((one) => one.kind === 'saved');
}

function grantsOf({ told }: Holder): readonly number[] {
  return told.filter((one) => one.kind === 'granted').map(({ fence }) => fence);
}

function newestGrant(holders: readonly Holder[]): number {
  return Math.max(0, ...holders.flatMap(grantsOf));
}

function numerically(a: number, b: number): number {
  return a - b;
}

function inspect(stage: Stage, key: string) {
  return stage.store.leases.inspect(parseLeaseKey(key));
}
