import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { parseLeaseKey } from '../../src/index.ts';
import { isFullRun } from '../services/tier.ts';
import type { ContenderApi, Contest } from './children/contender.ts';
import { type OracleRecord, outOfOrder, overlaps, sharedFences } from './oracle/record.ts';
import type { Backend } from './stage/backend.ts';
import { type Oracle, Stage } from './stage/stage.ts';

const CONTENDERS = 4;
const KEY = 'the-one-thing';

interface Race {
  readonly rounds: number;
  readonly roundsMin: number;
  readonly withinMs: number;
  readonly wait: boolean;
}

/** Rounds of all contenders together. A slow machine stops in time, but never before `roundsMin`. */
const CROWD: Race = isFullRun()
  ? { rounds: 40_000, roundsMin: 10_000, withinMs: 300_000, wait: false }
  : { rounds: 2_000, roundsMin: 400, withinMs: 20_000, wait: false };

const QUEUE: Race = isFullRun()
  ? { rounds: 4_000, roundsMin: 1_000, withinMs: 60_000, wait: true }
  : { rounds: 200, roundsMin: 40, withinMs: 6_000, wait: true };

/** `part`: of the rounds, and of their time, for a store whose every write waits for three disks. */
export function registerRace(backend: Backend, part = 1): void {
  describe(`contenders for one key on ${backend.name}`, () => {
    after(() => backend.end());

    test('P1, P2, T-2: every fence has one winner, fences rise in the order of the effects, no update is lost', () =>
      run(backend, partOf(CROWD, part)));

    test('P1, P2, A-7: the same holds when the contenders wait in the queue', () =>
      run(backend, partOf(QUEUE, part)));
  });
}

function partOf({ rounds, roundsMin, withinMs, wait }: Race, part: number): Race {
  return { rounds: rounds * part, roundsMin: roundsMin * part, withinMs: withinMs * part, wait };
}

async function run(backend: Backend, race: Race): Promise<void> {
  await using stage = await Stage.on(backend);
  // It accepts every write; its records show writes out of order.
  const oracle = await stage.oracle('unchecked');
  const rounds = await play(stage, oracle, race);
  assert.ok(rounds >= race.roundsMin);

  const records = await oracle.records();
  assert.equal(records.length, 2 * rounds, 'every effect of every round arrived');
  assert.deepEqual(outOfOrder(records), [], 'P1: no effect after one with a higher fence');
  assert.deepEqual(overlaps(records), [], 'P2: no process acted inside the round of another');
  assert.deepEqual(sharedFences(records), [], 'T-3: no fence had two winners');
  const entered = records.filter((record) => record.effect === 'enter');
  assert.equal(new Set(entered.map((record) => record.fence)).size, rounds, 'one round per fence');
  assertEverybodyWon(entered);

  const { record, state } = await stage.store.leases.inspect(parseLeaseKey(KEY));
  assert.equal(state, 'free');
  assert.equal(Buffer.from(record?.checkpoint?.bytes ?? []).toString(), String(rounds));
  assert.equal(record?.checkpoint?.seq, rounds);
}

/** Returns how many rounds there were. */
async function play(stage: Stage, oracle: Oracle, race: Race): Promise<number> {
  const contest: Contest = {
    store: stage.address,
    oraclePort: oracle.port,
    key: KEY,
    rounds: race.rounds / CONTENDERS,
    roundsMin: race.roundsMin / CONTENDERS,
    withinMs: race.withinMs,
    wait: race.wait,
  };
  const contenders = Array.from({ length: CONTENDERS }, () =>
    stage.start<ContenderApi>('children/contender.ts'),
  );
  const played = await Promise.all(
    contenders.map((contender) => contender.call('contend', contest, 10 * race.withinMs)),
  );
  const refusals = played.reduce((sum, one) => sum + one.refusals, 0);
  if (!race.wait) assert.ok(refusals > 0, 'no acquire was refused: that was not a race');
  return played.reduce((sum, one) => sum + one.rounds, 0);
}

function assertEverybodyWon(entered: readonly OracleRecord[]): void {
  assert.equal(new Set(entered.map((record) => record.who)).size, CONTENDERS);
}
