import assert from 'node:assert/strict';
import type { NewEvent } from '../../../src/execution/history.ts';
import { expectKind } from '../../lease/expect.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  claimAll,
  claimIds,
  commanding,
  endSessionOf,
  kindsOf,
  later,
  mustClaim,
  mustFinish,
  mustGiveBack,
  mustPark,
  mustRead,
  mustRecord,
  running,
  step,
  worker,
  writing,
} from '../worker.ts';
import { COMPENSATING, mustTurnBack, undoing } from './repairing.ts';

const GIVEN_BACK: NewEvent = { kind: 'given-back' };

export const sagaCases: readonly ExecutionCase[] = [
  {
    upholds: 'Y-2, X-15',
    name: 'an owner starts compensation: the execution is compensating, has no deadline and is ready at once',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const held = await running(store, ann, { deadlineMs: 1_000 });
      await advance(10);
      await mustTurnBack(store, held);
      const row = await mustRead(store, held.id);
      assert.deepEqual(
        [row.status, row.readyAt, row.compensating, row.compensable, row.deadlineAt],
        ['queued', now(), true, false, undefined],
      );
      assert.equal(row.deadlineMs, 1_000, 'the submitted deadline never changes');
      const [event] = await store.executions.history({ id: held.id, after: 2, limit: 9 });
      assert.deepEqual(event, { ...COMPENSATING, seq: 3, at: now(), fence: held.fence });
      const next = await mustClaim(store, ann, held.id);
      assert.deepEqual(
        [next.claimed.previous, next.claimed.execution.compensating],
        ['given-back', true],
      );
      assert.ok(next.fence > held.fence, 'compensation has a claim of its own');
    },
  },
  {
    upholds: 'Y-2, X-4',
    name: 'repeating the write that starts compensation changes nothing',
    async run({ store, advance }) {
      const held = await running(store, await worker(store));
      await mustTurnBack(store, held);
      await advance(10);
      const request = { ...writing(held, COMPENSATING), compensating: true };
      const again = await leavesUnchanged(store, () => store.executions.giveBack(request));
      expectKind(again, 'given-back');
    },
  },
  {
    upholds: 'Y-2, X-1',
    name: 'an owner that has lost its claim cannot start compensation',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustGiveBack(store, held);
      await mustClaim(store, ann, held.id);
      const request = { ...writing(later(held, 2), COMPENSATING), compensating: true };
      await expectRefusedUnchanged(store, 'superseded', () => store.executions.giveBack(request));
    },
  },
  {
    upholds: 'Y-2, X-20',
    name: 'a compensating execution does not fail by its deadline',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await running(store, ann, { deadlineMs: 1_000 });
      await mustTurnBack(store, held);
      await advance(5_000);
      const swept = await leavesUnchanged(store, () => store.executions.maintain({ limit: 9 }));
      assert.deepEqual(swept, { overdue: [], cancelled: 0, forgotten: 0, more: false });
      const next = await mustClaim(store, ann, held.id);
      await mustPark(store, next, { wakeInMs: 10 });
      await advance(10);
      const again = await leavesUnchanged(store, () => store.executions.maintain({ limit: 9 }));
      assert.deepEqual(again.overdue, []);
    },
  },
  {
    upholds: 'Y-2, Y-7',
    name: 'a compensating execution stays so when it is parked, given back or lost, whatever its owner sends',
    async run({ store }) {
      const ann = await worker(store);
      const held = await undoing(store, ann);
      const stays = async (): Promise<void> => {
        const { compensating, compensable } = await mustRead(store, held.id);
        assert.deepEqual([compensating, compensable], [true, false]);
      };
      await stays();
      await mustPark(store, held, { wakeInMs: 0, compensable: true });
      await stays();
      const second = await mustClaim(store, ann, held.id);
      const request = { ...writing(second, GIVEN_BACK), compensable: true, compensating: false };
      expectKind(await store.executions.giveBack(request), 'given-back');
      await stays();
      const bob = await worker(store, 'bob');
      const third = await mustClaim(store, bob, held.id);
      await mustRecord(store, third, step('undo'));
      await endSessionOf(store, bob);
      const fourth = await mustClaim(store, ann, held.id);
      assert.equal(fourth.claimed.previous, 'lost');
      await stays();
      await mustFinish(store, fourth, { status: 'compensated' });
      await stays();
    },
  },
  {
    upholds: 'Y-2, Y-3, Y-8',
    name: 'a cancel of a compensating execution changes nothing, whether it is queued, running or waiting',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustTurnBack(store, held);
      const refuse = async (status: string): Promise<void> => {
        const result = await leavesUnchanged(store, () =>
          store.executions.cancel(commanding(held.id)),
        );
        assert.deepEqual(result, { kind: 'no-change', status });
      };
      await refuse('queued');
      const next = await mustClaim(store, ann, held.id);
      await refuse('running');
      await mustPark(store, next);
      await refuse('waiting');
    },
  },
  {
    upholds: 'Y-2, X-2',
    name: 'a compensating execution ends as compensated or quarantined',
    async run({ store }) {
      const ann = await worker(store);
      for (const status of ['compensated', 'quarantined'] as const) {
        const held = await undoing(store, ann);
        await mustFinish(store, held, { status });
        assert.deepEqual(await kindsOf(store, held.id), [
          ...['submitted', 'claimed', 'compensating', 'claimed', status],
        ]);
        assert.equal((await mustRead(store, held.id)).status, status);
      }
    },
  },
  {
    upholds: 'Y-3, X-15',
    name: 'an execution is compensable if its last owner declared it',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const expectCompensable = async (compensable: boolean): Promise<void> => {
        assert.equal((await mustRead(store, held.id)).compensable, compensable);
      };
      await expectCompensable(false);
      await mustPark(store, held, { wakeInMs: 0, compensable: true });
      await expectCompensable(true);
      const second = await mustClaim(store, ann, held.id);
      await expectCompensable(true);
      await mustPark(store, second, { wakeInMs: 0 });
      await expectCompensable(false);
      const third = await mustClaim(store, ann, held.id);
      const request = { ...writing(third, GIVEN_BACK), compensable: true };
      expectKind(await store.executions.giveBack(request), 'given-back');
      await expectCompensable(true);
      const fourth = await mustClaim(store, ann, held.id);
      await mustGiveBack(store, fourth);
      await expectCompensable(false);
      const fifth = await mustClaim(store, ann, held.id);
      await mustPark(store, fifth, { wakeInMs: 0, compensable: true });
      await mustFinish(store, await mustClaim(store, ann, held.id));
      await expectCompensable(false);
    },
  },
  {
    upholds: 'Y-3, X-4',
    name: 'repeating a park that declares compensations changes nothing',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustPark(store, held, { compensable: true });
      await leavesUnchanged(store, () => mustPark(store, held, { compensable: true }));
    },
  },
  {
    upholds: 'Y-2, X-5',
    name: 'messages from before the compensation are there for the next owner',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await store.executions.cancel(commanding(held.id));
      await mustTurnBack(store, held);
      const next = await mustClaim(store, ann, held.id);
      assert.equal(next.claimed.execution.inboxCount, 1);
      assert.deepEqual(
        (await allMessages(store, held.id)).map(({ kind }) => kind),
        ['cancel'],
      );
    },
  },
  {
    upholds: 'Y-2, X-18',
    name: 'a paused execution that compensates waits until it is resumed',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustTurnBack(store, held);
      await store.executions.pause(commanding(held.id));
      assert.deepEqual(await claimIds(store, ann), []);
      await store.executions.resume(commanding(held.id));
      const [claimed, ...more] = await claimAll(store, ann);
      assert.deepEqual([claimed?.execution.compensating, more], [true, []]);
    },
  },
];
