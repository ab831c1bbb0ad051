// After an unknown outcome, the caller repeats the call and gets the first reply.

import assert from 'node:assert/strict';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  childOf,
  endSessionOf,
  finishing,
  kindsOf,
  later,
  mustClaim,
  mustPark,
  mustRead,
  mustRecord,
  parking,
  payload,
  running,
  signalling,
  statusOf,
  step,
  worker,
  writing,
} from '../worker.ts';
import { REPEATABLE } from './owner-verbs.ts';

export const replayCases: readonly ExecutionCase[] = [
  ...REPEATABLE.map(
    ({ verb, done, operation }): ExecutionCase => ({
      upholds: 'X-4',
      name: `repeating a ${verb} returns the first answer and changes nothing`,
      async run({ store, advance }) {
        const held = await running(store, await worker(store));
        const first = expectKind(await operation(store, held), done);
        await advance(1_000);
        assert.deepEqual(await leavesUnchanged(store, () => operation(store, held)), first);
      },
    }),
  ),
  ...REPEATABLE.map(
    ({ verb, done, operation }): ExecutionCase => ({
      upholds: 'X-4, X-1',
      name: `repeating a ${verb} is a replay even if its session has ended since`,
      async run({ store }) {
        const ann = await worker(store);
        const held = await running(store, ann);
        expectKind(await operation(store, held), done);
        await endSessionOf(store, ann);
        expectKind(await leavesUnchanged(store, () => operation(store, held)), done);
      },
    }),
  ),
  ...REPEATABLE.filter(({ verb }) => verb === 'giveBack' || verb === 'record').map(
    ({ verb, done, operation }): ExecutionCase => ({
      upholds: 'X-4, X-1',
      name: `repeating a ${verb} is a replay even if another worker owns the execution by now`,
      async run({ store }) {
        const ann = await worker(store);
        const held = await running(store, ann);
        expectKind(await operation(store, held), done);
        await endSessionOf(store, ann);
        await mustClaim(store, await worker(store, 'bob'), held.id);
        expectKind(await leavesUnchanged(store, () => operation(store, held)), done);
        assert.equal(await statusOf(store, held.id), 'running');
      },
    }),
  ),
  {
    upholds: 'X-4',
    name: 'a replayed park does not put a woken execution to sleep again',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await mustPark(store, held);
      expectKind(await store.executions.signal(signalling(held.id)), 'done');
      await leavesUnchanged(store, () => store.executions.park(parking(held)));
      assert.equal(await statusOf(store, held.id), 'queued');
    },
  },
  {
    upholds: 'X-4',
    name: 'a different event at a stored seq is refused, whichever part differs',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await mustRecord(store, held, step('pay', 1));
      for (const event of [
        step('pay', 2),
        step('ship', 1),
        { kind: 'step-failed', name: 'pay', body: payload(1) } as const,
        { kind: 'step-completed', name: 'pay' } as const,
        { kind: 'step-completed', body: payload(1) } as const,
      ]) {
        await expectRefusedUnchanged(store, 'seq-taken', () =>
          store.executions.record(writing(held, event)),
        );
      }
    },
  },
  {
    upholds: 'X-4',
    name: 'a write that is stored only in part is refused as a whole',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await mustRecord(store, held, step('pay'));
      for (const events of [
        [step('pay'), step('ship')],
        [step('ship'), step('pay')],
      ]) {
        await expectRefusedUnchanged(store, 'seq-taken', () =>
          store.executions.record(writing(held, ...events)),
        );
      }
    },
  },
  {
    upholds: 'X-4',
    name: 'repeating a part of a stored write is a replay of that part',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await mustRecord(store, held, step('pay'), step('ship'), step('bill'));
      const again = writing(later(held), step('ship'));
      expectKind(await leavesUnchanged(store, () => store.executions.record(again)), 'recorded');
    },
  },
  ...REPEATABLE.map(
    ({ verb, operation }): ExecutionCase => ({
      upholds: 'X-4',
      name: `${verb} is refused if its seq leaves a gap or lies before its claim`,
      async run({ store }) {
        const held = await running(store, await worker(store));
        await mustRecord(store, held, step('pay'));
        for (const seq of [held.seq + 2, held.seq + 50, held.seq, 2, 1]) {
          await expectRefusedUnchanged(store, 'seq-taken', () =>
            operation(store, { ...held, seq }),
          );
        }
      },
    }),
  ),
  {
    upholds: 'X-4',
    name: 'equal events of another claim are refused, not taken for a replay',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustRecord(store, held, step('pay'));
      await endSessionOf(store, ann);
      const next = await mustClaim(store, await worker(store, 'bob'), held.id);
      await expectRefusedUnchanged(store, 'seq-taken', () =>
        store.executions.record(writing({ ...next, seq: held.seq }, step('pay'))),
      );
    },
  },
  {
    upholds: 'X-4, X-52',
    name: 'recorded events are not taken for a finish, a park or a give-back',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await mustRecord(store, held, step('pay'));
      const { events } = writing(held, step('pay'));
      for (const operation of [
        () => store.executions.finish(finishing(held, { events })),
        () => store.executions.park(parking(held, { events })),
        () => store.executions.giveBack({ ...writing(held), events }),
      ]) {
        await expectRefusedUnchanged(store, 'seq-taken', operation);
      }
      assert.equal(await statusOf(store, held.id), 'running');
    },
  },
  {
    upholds: 'X-4, X-14, X-52',
    name: 'repeating a finish with another status or result is refused',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const done = finishing(held);
      expectKind(await store.executions.finish(done), 'finished');
      for (const other of [
        finishing(held, { status: 'failed' }),
        { ...done, status: 'failed' } as const,
        finishing(held, { events: [{ kind: 'completed', body: payload('other') }] }),
      ]) {
        const result = await leavesUnchanged(store, () => store.executions.finish(other));
        assert.equal(result.kind, 'refused', JSON.stringify(result));
      }
    },
  },
  {
    upholds: 'X-4, X-13',
    name: 'a replayed write adds its children and attachments once',
    async run({ store, advance }) {
      const held = await running(store, await worker(store));
      const child = childOf(held.id, 'child:ship#1');
      const request = {
        ...writing(held, { kind: 'child-spawned', name: 'ship' }),
        children: [child],
        attachments: [{ name: 'note', type: 'text/plain', bytes: new Uint8Array([1, 2]) }],
      };
      expectKind(await store.executions.record(request), 'recorded');
      await advance(1_000);
      expectKind(await leavesUnchanged(store, () => store.executions.record(request)), 'recorded');
      assert.deepEqual(await kindsOf(store, child.id), ['submitted']);
    },
  },
  {
    upholds: 'X-4',
    name: 'the reply to a replayed record has the current number of messages',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const request = writing(held);
      assert.equal(expectKind(await store.executions.record(request), 'recorded').inboxCount, 0);
      await store.executions.signal(signalling(held.id));
      assert.equal(expectKind(await store.executions.record(request), 'recorded').inboxCount, 1);
    },
  },
  {
    upholds: 'X-4',
    needs: 'two-clients',
    name: 'the same write sent several times at once is stored once',
    async run({ store, another }) {
      const other = await another();
      const held = await running(store, await worker(store));
      for (let round = 0; round < 8; round += 1) {
        const request = writing(later(held, round), step(`round ${round}`));
        const results = await Promise.all(
          Array.from({ length: 6 }, (_, nth) =>
            (nth % 2 === 0 ? store : other).executions.record(request),
          ),
        );
        for (const result of results) expectKind(result, 'recorded');
      }
      assert.equal((await kindsOf(store, held.id)).length, 10);
    },
  },
  {
    upholds: 'X-4',
    needs: 'two-clients',
    name: 'when different writes for one seq race, one is stored and the others are refused',
    async run({ store, another }) {
      const other = await another();
      const held = await running(store, await worker(store));
      for (let round = 0; round < 8; round += 1) {
        const results = await Promise.all(
          Array.from({ length: 6 }, (_, nth) =>
            (nth % 2 === 0 ? store : other).executions.record(
              writing(later(held, round), step(`round ${round} by ${nth}`)),
            ),
          ),
        );
        const kinds = results.map((result) => ('why' in result ? result.why : result.kind));
        assert.deepEqual(kinds.toSorted(), ['recorded', ...Array(5).fill('seq-taken')]);
      }
      assert.equal((await kindsOf(store, held.id)).length, 10);
    },
  },
  {
    upholds: 'X-4',
    needs: 'durable',
    name: 'an acknowledged write is there after the store is reopened',
    async run({ store, reopen }) {
      const ann = await worker(store);
      const held = await mustRecord(store, await running(store, ann), step('pay'));
      const before = await mustRead(store, held.id);
      const again = await reopen();
      assert.deepEqual(await mustRead(again, held.id), before);
      assert.deepEqual(await kindsOf(again, held.id), ['submitted', 'claimed', 'step-completed']);
      await mustRecord(again, held, step('ship'));
    },
  },
];
