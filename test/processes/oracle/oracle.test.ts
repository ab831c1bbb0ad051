import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { sqliteBackend } from '../stage/backend.ts';
import { Stage } from '../stage/stage.ts';
import { OracleClient } from './client.ts';
import {
  type OracleMode,
  type OracleRecord,
  outOfOrder,
  overlaps,
  sharedFences,
} from './record.ts';

const FENCES = [5, 7, 7, 6, 9];

describe('the oracle', () => {
  const backend = sqliteBackend();
  after(() => backend.end());

  async function recorded(mode: OracleMode): Promise<readonly OracleRecord[]> {
    await using stage = await Stage.on(backend);
    const oracle = await stage.oracle(mode);
    const client = await OracleClient.connect(oracle.port);
    for (const fence of FENCES) await client.write({ fence, effect: 'write', who: 'somebody' });
    client.close();
    return oracle.records();
  }

  test('P1: an oracle that checks refuses a fence lower than the highest it has seen', async () => {
    const records = await recorded('checked');
    assert.deepEqual(
      records.map(({ fence, accepted }) => [fence, accepted]),
      [
        [5, true],
        [7, true],
        [7, true],
        [6, false],
        [9, true],
      ],
    );
    assert.deepEqual(outOfOrder(records), []);
  });

  test('P1: an oracle without the check accepts everything, and its verdict names what was out of order', async () => {
    const records = await recorded('unchecked');
    assert.equal(records.length, FENCES.length);
    assert.deepEqual(
      outOfOrder(records).map((record) => record.fence),
      [6],
    );
  });

  test('T-3: the verdict names fences that two writers used', () => {
    const record = (fence: number, who: string): OracleRecord => ({
      ...{ fence, who, effect: 'write', wallMs: 0, accepted: true },
    });
    assert.deepEqual(sharedFences([record(1, 'a'), record(1, 'a'), record(2, 'b')]), []);
    assert.deepEqual(sharedFences([record(1, 'a'), record(1, 'b'), record(2, 'b')]), [1]);
  });

  test('P2: the verdict names writes between another writer’s enter and leave', () => {
    const record = (fence: number, effect: string): OracleRecord => ({
      ...{ fence, effect, who: 'a', wallMs: 0, accepted: true },
    });
    const apart = [record(1, 'enter'), record(1, 'leave'), record(2, 'enter'), record(2, 'leave')];
    assert.deepEqual(overlaps(apart), []);
    const [first, second, third, fourth] = apart;
    assert.ok(first && second && third && fourth);
    assert.deepEqual(overlaps([first, third, second, fourth]), [third, second]);
  });
});
