import assert from 'node:assert/strict';
import { TERMINAL, type TerminalStatus } from '../../../src/execution/execution.ts';
import { expectKind, whyOf } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  claimIds,
  commanding,
  mustClaim,
  mustFinish,
  mustGiveBack,
  mustPark,
  mustRead,
  mustRecord,
  mustSubmit,
  nextId,
  OTHER_PROJECT,
  payload,
  running,
  step,
  submitting,
  worker,
} from '../worker.ts';
import { COMPENSATING, ended, letter, mustRedrive, redriving } from './repairing.ts';

export const redriveCases: readonly ExecutionCase[] = [
  {
    upholds: 'Y-20, X-10',
    name: 'a re-drive is a new execution that starts with the given history',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const old = await ended(store, ann, { deadLetter: letter() });
      await advance(10);
      const given = redriving(old, { events: [step('pay'), step('ship')] });
      const request = { ...given, submit: { ...given.submit, deadlineMs: 700 } };
      const { id } = request.submit;
      const result = await store.executions.redrive(request);
      assert.deepEqual(result, { kind: 'submitted', id, existing: false });
      const { body, ...submission } = request.submit;
      assert.deepEqual(await mustRead(store, id), {
        ...submission,
        ...{ status: 'queued', submittedAt: now(), readyAt: now(), deadlineAt: now() + 700 },
        ...{ holds: [], gated: false, hasSlot: false, compensable: false, compensating: false },
        ...{ claimsWithoutProgress: 0, seq: 3, inboxCount: 0, wakeAfter: 0 },
      });
      const at = now();
      assert.deepEqual(await store.executions.history({ id, after: 0, limit: 9 }), [
        { seq: 1, at, kind: 'submitted', body },
        { ...step('pay'), seq: 2, at },
        { ...step('ship'), seq: 3, at },
      ]);
      const { claimed, ...held } = await mustClaim(store, ann, id);
      assert.deepEqual([claimed.previous, held.seq], ['given-back', 5], 'it has history to read');
      await mustFinish(store, await mustRecord(store, held, step('bill')));
    },
  },
  ...([...TERMINAL] as readonly TerminalStatus[]).map(
    (status): ExecutionCase => ({
      upholds: 'Y-20, X-2',
      name: `an execution that ended as ${status} can be re-driven and does not change by it`,
      async run({ store, advance }) {
        const ann = await worker(store);
        const old = await ended(store, ann, { status, key: 'order-17', intent: 'a' });
        const [before, history] = [
          await mustRead(store, old),
          await store.executions.history({ id: old, after: 0, limit: 9 }),
        ];
        await advance(10);
        const id = await mustRedrive(store, old);
        await mustFinish(store, await mustClaim(store, ann, id));
        assert.deepEqual(await mustRead(store, old), before);
        assert.deepEqual(await store.executions.history({ id: old, after: 0, limit: 9 }), history);
        // The ended execution keeps its key.
        const again = submitting({ key: 'order-17', intent: 'a' });
        const found = await leavesUnchanged(store, () => store.executions.submit(again));
        assert.deepEqual(found, { kind: 'submitted', id: old, existing: true });
      },
    }),
  ),
  {
    upholds: 'Y-20, X-10',
    name: 'repeating a re-drive returns the execution that it created, even after that has ended',
    async run({ store, advance }) {
      const ann = await worker(store);
      const request = redriving(await ended(store, ann), { events: [step('pay')] });
      await store.executions.redrive(request);
      const again = async (): Promise<void> => {
        await advance(10);
        const result = await leavesUnchanged(store, () => store.executions.redrive(request));
        assert.deepEqual(result, { kind: 'submitted', id: request.submit.id, existing: true });
      };
      await again();
      await mustFinish(store, await mustClaim(store, ann));
      await again();
    },
  },
  {
    upholds: 'Y-20, X-10, X-21',
    name: 'a re-drive of an unknown or foreign execution, or under a taken id, is refused',
    async run({ store }) {
      const ann = await worker(store);
      const old = await ended(store, ann);
      const other = await ended(store, ann, { project: OTHER_PROJECT });
      const taken = await mustSubmit(store);
      const operation = store.executions;
      for (const [why, request] of [
        ['execution-unknown', redriving(nextId())],
        ['execution-unknown', redriving(other)],
        ['execution-unknown', redriving(old, { project: OTHER_PROJECT })],
        ['id-taken', redriving(old, { submit: submitting({ id: taken, redriveOf: old }) })],
        ['id-taken', redriving(old, { submit: submitting({ id: old, redriveOf: old }) })],
      ] as const) {
        await expectRefusedUnchanged(store, why, () => operation.redrive(request));
      }
    },
  },
  {
    upholds: 'Y-20, X-12',
    name: 'a delayed re-drive starts later, and a re-drive with a concurrency key waits for a slot',
    async run({ store, advance }) {
      const ann = await worker(store);
      const concurrency = { key: 'k', limit: 1 };
      const [one, two] = [await ended(store, ann), await ended(store, ann)];
      const busy = await running(store, ann, { concurrency });
      const late = redriving(one);
      await store.executions.redrive({ ...late, submit: { ...late.submit, delayMs: 50 } });
      const gated = redriving(two);
      await store.executions.redrive({ ...gated, submit: { ...gated.submit, concurrency } });
      assert.deepEqual(await claimIds(store, ann), []);
      await advance(50);
      await mustFinish(store, await mustClaim(store, ann, late.submit.id));
      await mustFinish(store, busy);
      await mustClaim(store, ann, gated.submit.id);
    },
  },
  {
    upholds: 'Y-20, X-12',
    name: 'the last re-drive sets the limit of its concurrency key, as the last submit does',
    async run({ store }) {
      const ann = await worker(store);
      const old = await ended(store, ann);
      await running(store, ann, { concurrency: { key: 'k', limit: 1 } });
      const { submit, ...rest } = redriving(old);
      const concurrency = { key: 'k', limit: 2 };
      await store.executions.redrive({ ...rest, submit: { ...submit, concurrency } });
      await mustClaim(store, ann, submit.id);
    },
  },
  {
    upholds: 'Y-21',
    name: 'while a re-drive is open, in any state, another one is refused',
    async run({ store }) {
      const ann = await worker(store);
      const old = await ended(store, ann, { deadLetter: letter() });
      const open = await mustRedrive(store, old);
      const refuse = async (): Promise<void> => {
        const result = await leavesUnchanged(store, () => store.executions.redrive(redriving(old)));
        assert.deepEqual(result, { kind: 'refused', why: 'redrive-open', id: old, open });
      };
      await refuse();
      const held = await mustClaim(store, ann, open);
      await refuse();
      await mustPark(store, held, { wakeInMs: 0 });
      await refuse();
      const again = await mustClaim(store, ann, open);
      await mustGiveBack(store, again);
      await refuse();
      await store.executions.cancel(commanding(open));
      const next = await mustRedrive(store, old);
      assert.equal((await mustRead(store, next)).redriveOf, old);
      await mustRedrive(store, open);
    },
  },
  {
    upholds: 'Y-21, Y-20',
    name: 'an execution that has not ended cannot be re-driven',
    async run({ store }) {
      const ann = await worker(store);
      const waiting = await running(store, ann);
      await mustPark(store, waiting);
      const busy = await running(store, ann);
      const queued = await mustSubmit(store);
      for (const [id, status] of [
        [waiting.id, 'waiting'],
        [busy.id, 'running'],
        [queued, 'queued'],
      ] as const) {
        const result = await leavesUnchanged(store, () => store.executions.redrive(redriving(id)));
        assert.deepEqual(result, { kind: 'refused', why: 'not-ended', id, status });
      }
    },
  },
  {
    upholds: 'Y-21',
    needs: 'two-clients',
    name: 'when several re-drives race, one is created, and the others are refused with its id',
    async run({ store, another }) {
      const stores = [store, await another()];
      const ann = await worker(store);
      for (let round = 0; round < 6; round += 1) {
        const old = await ended(store, ann, { deadLetter: letter() });
        const results = await Promise.all(
          Array.from({ length: 5 }, (_, nth) =>
            (stores[nth % 2] ?? store).executions.redrive(
              redriving(old, { events: [step('pay')] }),
            ),
          ),
        );
        const made = results.filter(({ kind }) => kind === 'submitted');
        assert.equal(made.length, 1, JSON.stringify(results));
        const { id: open } = expectKind(made[0] as (typeof results)[number], 'submitted');
        const lost = { kind: 'refused', why: 'redrive-open', id: old, open };
        assert.deepEqual(
          results.filter((each) => whyOf(each) !== 'submitted'),
          Array(4).fill(lost),
        );
        assert.equal((await store.executions.deadLetter(old))?.redrivenBy, open);
        await mustFinish(store, await mustClaim(store, ann, open));
      }
    },
  },
  {
    upholds: 'Y-22, Y-2',
    name: 'a re-drive that compensates starts as compensating, with the given cause',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const old = await ended(store, ann, { status: 'quarantined', deadLetter: letter() });
      const events = [step('pay', { saga: true }), COMPENSATING];
      const given = redriving(old, { events, compensating: true });
      const request = { ...given, submit: { ...given.submit, deadlineMs: 100 } };
      const { id } = request.submit;
      expectKind(await store.executions.redrive(request), 'submitted');
      const row = await mustRead(store, id);
      assert.deepEqual(
        [row.status, row.compensating, row.compensable, row.deadlineAt, row.readyAt, row.seq],
        ['queued', true, false, undefined, now(), 3],
      );
      await advance(100);
      assert.deepEqual((await store.executions.maintain({ limit: 9 })).overdue, []);
      const no = await leavesUnchanged(store, () => store.executions.cancel(commanding(id)));
      assert.deepEqual(no, { kind: 'no-change', status: 'queued' });
      const { claimed, ...held } = await mustClaim(store, ann, id);
      assert.deepEqual([claimed.previous, claimed.execution.compensating], ['given-back', true]);
      await mustFinish(store, held, { status: 'compensated' });
    },
  },
  {
    upholds: 'Y-22, Y-10',
    name: 'a dead letter has a mark for its newest re-drive, and nothing else of it changes',
    async run({ store, advance }) {
      const ann = await worker(store);
      const old = await ended(store, ann, { deadLetter: letter() });
      const before = await store.executions.deadLetter(old);
      assert.equal(before?.redrivenBy, undefined);
      await advance(10);
      const first = await mustRedrive(store, old);
      const marked = await store.executions.deadLetter(old);
      assert.deepEqual(marked, { ...before, redrivenBy: first });
      const held = await mustClaim(store, ann, first);
      const body = payload({ failure: {} });
      await mustFinish(store, held, {
        ...{ status: 'failed', deadLetter: letter(), events: [{ kind: 'failed', body }] },
      });
      const second = await mustRedrive(store, old);
      assert.deepEqual(await store.executions.deadLetter(old), { ...before, redrivenBy: second });
      assert.equal((await store.executions.deadLetter(first))?.redrivenBy, undefined);
    },
  },
  {
    upholds: 'Y-22',
    name: 'an execution without a dead letter can be re-driven',
    async run({ store }) {
      const old = await ended(store, await worker(store), { status: 'cancelled' });
      await mustRedrive(store, old);
      assert.equal(await store.executions.deadLetter(old), undefined);
    },
  },
];
