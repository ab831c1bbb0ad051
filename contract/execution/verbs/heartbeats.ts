// Heartbeats of steps: the row keeps them for the next attempt and for operators.

import assert from 'node:assert/strict';
import type { StepHeartbeat } from '../../../src/execution/execution.ts';
import type { CallKey, ExecutionId } from '../../../src/execution/names.ts';
import type { CoordinatorStore, OwnerWrite } from '../../../src/store/contract/execution-store.ts';
import type { Instant } from '../../../src/support/clock.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  endSessionOf,
  finishing,
  type Held,
  later,
  mustClaim,
  mustGiveBack,
  mustPark,
  mustRead,
  mustRecord,
  mustSubmit,
  parking,
  payload,
  running,
  signalling,
  step,
  worker,
  writing,
} from '../worker.ts';

function beat(name: string, details?: unknown): StepHeartbeat {
  const plain = { key: `step:${name}#1` as CallKey, attempt: 1, at: 1_700_000_000_000 as Instant };
  return details === undefined ? plain : { ...plain, details: payload({ v: details }) };
}

/** A write that contains nothing but heartbeats. */
function beating(held: Held, ...heartbeats: readonly StepHeartbeat[]): OwnerWrite {
  return { ...writing(held), events: [], heartbeats };
}

async function mustBeat(
  store: CoordinatorStore,
  held: Held,
  ...steps: readonly StepHeartbeat[]
): Promise<void> {
  expectKind(await store.executions.record(beating(held, ...steps)), 'recorded');
}

async function stored(store: CoordinatorStore, id: ExecutionId): Promise<unknown> {
  return (await mustRead(store, id)).heartbeats;
}

export const heartbeatCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-97, X-13',
    name: 'the row keeps the last heartbeats, and an empty list removes them',
    async run({ store, advance, now }) {
      const held = await running(store, await worker(store));
      const before = await mustRead(store, held.id);
      assert.equal(before.heartbeats, undefined);
      await advance(70);
      const both = [beat('copy', { row: 7 }), beat('count')];
      assert.deepEqual(await store.executions.record(beating(held, ...both)), {
        kind: 'recorded',
        inboxCount: 0,
        at: now(),
      });
      assert.deepEqual(await mustRead(store, held.id), { ...before, heartbeats: both });
      await mustBeat(store, held, beat('copy', { row: 8 }));
      assert.deepEqual(await stored(store, held.id), [beat('copy', { row: 8 })]);
      // A write without heartbeats leaves them, and the end of the step removes them.
      await mustRecord(store, held, step('count'));
      assert.deepEqual(await stored(store, held.id), [beat('copy', { row: 8 })]);
      const end = { ...writing(later(held), step('copy')), heartbeats: [] };
      expectKind(await store.executions.record(end), 'recorded');
      assert.equal(await stored(store, held.id), undefined);
      const history = await store.executions.history({ id: held.id, after: 2, limit: 9 });
      assert.deepEqual(
        history.map(({ name }) => name),
        ['count', 'copy'],
      );
    },
  },
  {
    upholds: 'X-97, X-5',
    name: 'a heartbeat returns the number of messages, like every record',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await store.executions.signal(signalling(held.id));
      const reply = await store.executions.record(beating(held, beat('copy')));
      assert.equal(expectKind(reply, 'recorded').inboxCount, 1);
    },
  },
  {
    upholds: 'X-97',
    name: 'the next claim gets the heartbeats, after a loss, a park and a give-back',
    async run({ store }) {
      const ann = await worker(store, 'ann');
      const held = await running(store, ann);
      await mustBeat(store, held, beat('copy', { row: 7 }));
      await endSessionOf(store, ann);
      const bob = await worker(store, 'bob');
      const lost = await mustClaim(store, bob, held.id);
      assert.deepEqual(lost.claimed.execution.heartbeats, [beat('copy', { row: 7 })]);
      await mustPark(store, lost, { wakeInMs: 0 });
      const parked = await mustClaim(store, bob, held.id);
      assert.deepEqual(parked.claimed.execution.heartbeats, [beat('copy', { row: 7 })]);
      await mustGiveBack(store, parked);
      const back = await mustClaim(store, bob, held.id);
      assert.deepEqual(back.claimed.execution.heartbeats, [beat('copy', { row: 7 })]);
      const carried = await store.executions.carried({ session: bob.id, after: 0, limit: 9 });
      assert.deepEqual(carried[0]?.execution.heartbeats, [beat('copy', { row: 7 })]);
    },
  },
  {
    upholds: 'X-97, X-13',
    name: 'every write of an owner may contain heartbeats',
    async run({ store }) {
      const ann = await worker(store);
      const first = await running(store, ann);
      const { executions } = store;
      const of = (name: string) => ({ heartbeats: [beat(name)] });
      expectKind(
        await executions.park({ ...parking(first, { wakeInMs: 0 }), ...of('a') }),
        'parked',
      );
      const second = await mustClaim(store, ann, first.id);
      assert.deepEqual(second.claimed.execution.heartbeats, [beat('a')]);
      const back = writing(second, { kind: 'given-back' });
      expectKind(await executions.giveBack({ ...back, ...of('b') }), 'given-back');
      const third = await mustClaim(store, ann, first.id);
      assert.deepEqual(third.claimed.execution.heartbeats, [beat('b')]);
      expectKind(await executions.finish({ ...finishing(third), ...of('c') }), 'finished');
      assert.deepEqual(await stored(store, first.id), [beat('c')]);
    },
  },
  ...(
    [
      {
        what: 'was replaced',
        why: 'superseded',
        async before(store, ann, held) {
          await endSessionOf(store, ann);
          await mustClaim(store, await worker(store, 'bob'), held.id);
        },
      },
      { what: 'has parked', why: 'not-running', before: (store, _, held) => mustPark(store, held) },
      { what: 'has ended', why: 'claim-ended', before: (store, ann) => endSessionOf(store, ann) },
    ] satisfies readonly {
      readonly what: string;
      readonly why: string;
      before(
        store: CoordinatorStore,
        ann: Awaited<ReturnType<typeof worker>>,
        held: Held,
      ): Promise<unknown>;
    }[]
  ).map(
    ({ what, why, before }): ExecutionCase => ({
      upholds: 'X-97, X-1, X-51',
      name: `a heartbeat of a worker whose claim ${what} is refused`,
      async run({ store }) {
        const ann = await worker(store, 'ann');
        const held = await running(store, ann);
        await mustBeat(store, held, beat('copy', { row: 7 }));
        await before(store, ann, held);
        const late = beating(held, beat('copy', { row: 9 }));
        const reply = expectKind(await store.executions.record(late), 'refused');
        assert.equal(reply.why, why);
        assert.deepEqual(await stored(store, held.id), [beat('copy', { row: 7 })]);
      },
    }),
  ),
  {
    upholds: 'X-97, X-1',
    name: 'a heartbeat with the session of another worker is refused',
    async run({ store }) {
      const held = await running(store, await worker(store, 'ann'));
      const bob = await worker(store, 'bob');
      const wrong = beating({ ...held, session: bob.id }, beat('copy'));
      assert.equal(expectKind(await store.executions.record(wrong), 'refused').why, 'claim-ended');
      assert.equal(await stored(store, held.id), undefined);
    },
  },
  {
    upholds: 'X-97, X-4',
    name: 'heartbeats of a record that is refused for its seq are not kept',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const ahead = { ...writing(later(held, 3)), heartbeats: [beat('copy')] };
      assert.equal(expectKind(await store.executions.record(ahead), 'refused').why, 'seq-taken');
      assert.equal(await stored(store, held.id), undefined);
    },
  },
  {
    upholds: 'X-53, X-99',
    name: 'heartbeats alone are no progress of a claim, and an event beside them is',
    async run({ store, advance }) {
      const id = await mustSubmit(store);
      const counts: number[] = [];
      for (const [nth, hasEvent] of [false, false, true, false].entries()) {
        const who = await worker(store, `worker ${nth}`);
        await advance(1_000);
        const held = await mustClaim(store, who, id);
        counts.push(held.claimed.execution.claimsWithoutProgress);
        const events = hasEvent ? [{ kind: 'progressed' } as const] : [];
        const write = { ...beating(held, beat('copy', nth)), events };
        expectKind(await store.executions.record(write), 'recorded');
        await endSessionOf(store, who);
      }
      assert.deepEqual(counts, [0, 1, 2, 1]);
    },
  },
];
