import assert from 'node:assert/strict';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  type Held,
  later,
  mustClaim,
  mustFinish,
  mustRead,
  OTHER_PIPELINE,
  OTHER_PROJECT,
  parking,
  payload,
  running,
  signalling,
  submitting,
  transacting,
  worker,
  writing,
} from '../worker.ts';
import {
  answering,
  CALL,
  interactionId,
  mustFind,
  mustOpen,
  OPENED,
  OTHER_CALL,
  opening,
  parkedOn,
  settlementsOf,
  statesOf,
} from './awaiting.ts';

interface OpeningVerb {
  readonly verb: string;
  readonly status: string;
  operation(store: CoordinatorStore, held: Held): Promise<{ readonly kind: string }>;
}

/** Every write that can open awaits. */
const REPEATABLE: readonly OpeningVerb[] = [
  {
    verb: 'record',
    status: 'running',
    operation: ({ executions }, held) =>
      executions.record({ ...writing(held, OPENED), awaits: [opening(held.id, { items: 2 })] }),
  },
  {
    verb: 'park',
    status: 'waiting',
    operation: ({ executions }, held) =>
      executions.park({
        ...parking(held, { events: [OPENED, { kind: 'parked' }] }),
        awaits: [opening(held.id, { items: 2 })],
      }),
  },
  {
    verb: 'giveBack',
    status: 'queued',
    operation: ({ executions }, held) =>
      executions.giveBack({
        ...writing(held, OPENED, { kind: 'given-back' }),
        awaits: [opening(held.id, { items: 2 })],
      }),
  },
];

const OPENING_VERBS: readonly OpeningVerb[] = [
  ...REPEATABLE,
  {
    verb: 'transact',
    status: 'running',
    operation: ({ executions }, held) =>
      executions.transact({
        ...transacting(held, () => undefined, OPENED),
        awaits: [opening(held.id, { items: 2 })],
      }),
  },
];

export const openingCases: readonly ExecutionCase[] = [
  {
    upholds: 'W-1',
    name: 'a unit and its interactions are stored as they were opened',
    async run({ store, now }) {
      const held = await running(store, await worker(store));
      const start = submitting({ pipeline: OTHER_PIPELINE });
      const reminders = [{ afterMs: 400, start }];
      const settings = { timeoutMs: 1_000, reminders, signed: true, checked: true };
      const more = { defaultAnswer: payload('no'), needed: 1, name: 'sign-off' };
      await mustOpen(store, held, { items: 2, assignee: 'olga', ...settings, ...more });
      for (const item of [0, 1]) {
        const id = interactionId(held.id, item);
        const { interaction, unit } = await mustFind(store, id);
        assert.deepEqual(interaction, {
          ...{ id, execution: held.id, call: CALL, project: 'default', item, status: 'open' },
          ...{ request: payload({ item }), assignee: 'olga', late: 0 },
        });
        assert.deepEqual(unit, {
          ...{ execution: held.id, call: CALL, project: 'default', pipeline: 'orders' },
          ...{ name: 'sign-off', items: 2, needed: 1, answered: 0, status: 'open' },
          ...{ openedAt: now(), dueAt: now() + 1_000, nextAt: now() + 400, reminders },
          ...{ signed: true, checked: true, defaultAnswer: payload('no') },
        });
      }
    },
  },
  {
    upholds: 'W-1',
    name: 'a unit without timeout and reminders is never due',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await mustOpen(store, held);
      const { unit } = await mustFind(store, interactionId(held.id));
      assert.deepEqual([unit?.dueAt, unit?.nextAt, unit?.settledAt], Array(3).fill(undefined));
      assert.deepEqual(await store.executions.expireAwaits({ limit: 9 }), {
        ...{ settled: 0, started: 0, more: false },
      });
    },
  },
  ...OPENING_VERBS.map(
    ({ verb, status, operation }): ExecutionCase => ({
      upholds: 'W-1',
      name: `${verb} opens the unit that comes with it`,
      async run({ store }) {
        const held = await running(store, await worker(store));
        assert.ok((await operation(store, held)).kind !== 'refused');
        assert.deepEqual(await statesOf(store, held.id), ['open', 'open', 'open']);
        const { status: now, inboxCount } = await mustRead(store, held.id);
        assert.deepEqual([now, inboxCount], [status, 0]);
        const [event] = await store.executions.history({ id: held.id, after: 2, limit: 1 });
        assert.deepEqual([event?.kind, event?.fence], ['await-opened', held.fence]);
      },
    }),
  ),
  ...OPENING_VERBS.map(
    ({ verb, operation }): ExecutionCase => ({
      upholds: 'W-1, X-1',
      name: `a refused ${verb} opens no unit`,
      async run({ store }) {
        const held = await running(store, await worker(store));
        const ahead = later(held, 3);
        await expectRefusedUnchanged(store, 'seq-taken', () => operation(store, ahead));
        await mustFinish(store, held);
        await expectRefusedUnchanged(store, 'not-running', () => operation(store, later(held)));
      },
    }),
  ),
  ...REPEATABLE.map(
    ({ verb, operation }): ExecutionCase => ({
      upholds: 'W-1, X-4',
      name: `a repeated ${verb} does not open its unit again, whatever the unit’s state`,
      async run({ store, advance }) {
        const held = await running(store, await worker(store));
        await operation(store, held);
        await advance(10);
        await leavesUnchanged(store, () => operation(store, held));
        expectKind(await store.executions.answer(answering(interactionId(held.id))), 'answered');
        await leavesUnchanged(store, () => operation(store, held));
        const last = answering(interactionId(held.id, 1));
        expectKind(await store.executions.answer(last), 'answered');
        await leavesUnchanged(store, () => operation(store, held));
      },
    }),
  ),
  {
    upholds: 'W-1, X-5',
    name: 'a park that has not seen all messages opens no unit',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await store.executions.signal(signalling(held.id));
      await expectRefusedUnchanged(store, 'unread-messages', () =>
        store.executions.park({ ...parking(held), awaits: [opening(held.id)] }),
      );
    },
  },
  {
    upholds: 'W-1, X-23',
    name: 'a transaction whose work throws opens no unit',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const fail = (): never => {
        throw new Error('no');
      };
      const request = { ...transacting(held, fail, OPENED), awaits: [opening(held.id)] };
      const answer = await leavesUnchanged(store, () => store.executions.transact(request));
      assert.equal(answer.kind, 'threw');
    },
  },
  {
    upholds: 'W-1, W-4',
    name: 'opening an existing unit again, with any content, leaves it as it is',
    async run({ store }) {
      const held = await mustOpen(store, await running(store, await worker(store)), { items: 2 });
      await store.executions.answer(answering(interactionId(held.id)));
      const again = await mustOpen(store, held, { items: 2, name: 'other' });
      const { unit } = await mustFind(store, interactionId(held.id));
      assert.deepEqual([unit?.name, unit?.answered], ['approval', 1]);
      await store.executions.answer(answering(interactionId(held.id, 1)));
      await mustOpen(store, again, { items: 2 });
      assert.deepEqual(await statesOf(store, held.id), ['answered', 'answered', 'answered']);
      assert.equal((await settlementsOf(store, held.id)).length, 1);
    },
  },
  {
    upholds: 'W-1',
    name: 'one write opens several units, and each settles by itself',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const awaits = [opening(held.id), opening(held.id, { call: OTHER_CALL, items: 2 })];
      const request = { ...writing(held, OPENED, OPENED), awaits };
      expectKind(await store.executions.record(request), 'recorded');
      await store.executions.answer(answering(interactionId(held.id)));
      assert.deepEqual(await statesOf(store, held.id), ['answered', 'answered']);
      assert.deepEqual(await statesOf(store, held.id, OTHER_CALL), ['open', 'open', 'open']);
      assert.equal((await settlementsOf(store, held.id)).length, 1);
    },
  },
  {
    upholds: 'W-1, X-21, W-11',
    name: 'two executions with equal business keys never share an interaction',
    async run({ store }) {
      const ann = await worker(store);
      const same = { key: 'order-17', intent: 'a', input: payload({ order: 17 }) };
      const one = await running(store, ann, same);
      const other = await running(store, ann, { ...same, project: OTHER_PROJECT });
      await mustOpen(store, one);
      await mustOpen(store, other);
      const id = interactionId(other.id);
      // The id of one execution does not work with the project of the other.
      for (const request of [
        answering(id),
        answering(interactionId(one.id), 'yes', { project: OTHER_PROJECT }),
      ]) {
        await expectRefusedUnchanged(store, 'await-unknown', () =>
          store.executions.answer(request),
        );
      }
      expectKind(await store.executions.answer(answering(interactionId(one.id))), 'answered');
      assert.deepEqual(await settlementsOf(store, other.id), []);
      const found = await store.executions.interaction({ project: OTHER_PROJECT, id });
      assert.equal(found?.interaction.status, 'open');
    },
  },
  {
    upholds: 'W-1, X-14, W-11',
    name: 'a successor under the same key has its own interactions',
    async run({ store }) {
      const ann = await worker(store);
      const first = await running(store, ann, { key: 'order-17', intent: 'a' });
      const opened = await mustOpen(store, first);
      await store.executions.answer(answering(interactionId(first.id), 'yes'));
      const successor = submitting();
      await mustFinish(store, opened, { successor, leavesAwaits: true });
      await mustOpen(store, await mustClaim(store, ann, successor.id));
      assert.deepEqual(await statesOf(store, successor.id), ['open', 'open']);
      const answer = await store.executions.answer(answering(interactionId(successor.id), 'no'));
      assert.deepEqual(answer, { kind: 'answered', settled: true });
    },
  },
  {
    upholds: 'W-1',
    name: 'each of several executions that wait for the same name is woken by its own answer',
    async run({ store }) {
      const ann = await worker(store);
      const waiting = [];
      for (let nth = 0; nth < 4; nth += 1) waiting.push(await parkedOn(store, ann));
      for (const [nth, { id }] of waiting.entries()) {
        await store.executions.answer(answering(interactionId(id), nth));
        await mustClaim(store, ann, id);
        const [settlement] = await settlementsOf(store, id);
        assert.deepEqual(settlement?.answers, [[0, nth]]);
      }
    },
  },
  {
    upholds: 'W-1, W-11',
    name: 'an await whose id is taken leaves the other execution’s question as it is',
    async run({ store }) {
      const ann = await worker(store);
      const asked = await running(store, ann);
      await mustOpen(store, asked);
      const id = interactionId(asked.id);
      await store.executions.answer(answering(id, 'yes'));
      const before = await mustFind(store, id);
      const other = await running(store, ann, { project: OTHER_PROJECT });
      const items = [{ id, request: payload('forged'), assignee: 'mallory' }];
      const awaits = [{ ...opening(other.id), items }];
      expectKind(await store.executions.record({ ...writing(other, OPENED), awaits }), 'recorded');
      assert.deepEqual(await mustFind(store, id), before);
    },
  },
];
