// Executions that others may still need stay (F-2, F-3).

import assert from 'node:assert/strict';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { ended, letter, mustRedrive, redriving } from '../repair/repairing.ts';
import {
  childOf,
  claimAll,
  finishing,
  type Held,
  heldOf,
  later,
  mustClaim,
  mustFinish,
  mustRecord,
  nextId,
  OTHER_PIPELINE,
  PROJECT,
  payload,
  running,
  step,
  submitting,
  worker,
  writing,
} from '../worker.ts';
import { mustKeep, mustRemove, removableIds } from './keeping.ts';

export const inUseCases: readonly ExecutionCase[] = [
  {
    upholds: 'F-2',
    name: 'an open execution is never removed',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      assert.deepEqual(await removableIds(store), []);
      await mustKeep(store, held.id, { why: 'open' });
      await mustFinish(store, held);
      assert.deepEqual(await removableIds(store), [held.id]);
      await mustRemove(store, held.id);
    },
  },
  {
    upholds: 'F-2',
    name: 'a parent stays while a child is open, and a child while its parent exists',
    async run({ store }) {
      const ann = await worker(store);
      const parent = await running(store, ann);
      const [one, two] = [childOf(parent.id, 'spawn:a#1'), childOf(parent.id, 'spawn:b#1')];
      const request = { ...writing(parent, step('spawn')), children: [one, two] };
      expectKind(await store.executions.record(request), 'recorded');
      const of = { pipelines: [OTHER_PIPELINE] };
      const children = (await claimAll(store, ann, of)).map((each) => heldOf(each, ann));
      await mustFinish(store, children[0] as Held);
      await mustKeep(store, one.id, { why: 'in-use' });
      await mustFinish(store, later(parent));
      await mustKeep(store, parent.id, { why: 'in-use' });
      await mustKeep(store, one.id, { why: 'in-use' });
      assert.deepEqual(await removableIds(store), []);
      await mustFinish(store, children[1] as Held);
      assert.deepEqual(await removableIds(store), [parent.id]);
      await mustRemove(store, parent.id);
      assert.deepEqual(await removableIds(store), [one.id, two.id]);
      await mustRemove(store, one.id);
      await mustRemove(store, two.id);
    },
  },
  {
    upholds: 'F-2',
    name: 'a re-driven execution stays while the re-drive is open, and the re-drive while its original exists',
    async run({ store }) {
      const ann = await worker(store);
      const old = await ended(store, ann, { deadLetter: letter() });
      const again = await mustRedrive(store, old);
      await mustKeep(store, old, { why: 'in-use' });
      assert.deepEqual(await removableIds(store), []);
      const { claimed: _, ...held } = await mustClaim(store, ann, again);
      await mustFinish(store, held);
      await mustKeep(store, again, { why: 'in-use' });
      assert.deepEqual(await removableIds(store), [old]);
      await mustRemove(store, old);
      await mustRemove(store, again);
      assert.equal(await store.executions.deadLetter(old), undefined);
    },
  },
  {
    upholds: 'F-2',
    name: 'a continued execution stays while its successor is open, and the successor while the first exists',
    async run({ store }) {
      const ann = await worker(store);
      const first = await running(store, ann);
      const id = nextId();
      const successor = submitting({ id, body: payload({ continues: first.id }) });
      const body = payload({ continuedAs: id });
      const events = [{ kind: 'completed', body }] as const;
      await mustFinish(store, first, { events, successor });
      await mustKeep(store, first.id, { why: 'in-use' });
      assert.deepEqual(await removableIds(store), []);
      const { claimed: _, ...next } = await mustClaim(store, ann, id);
      await mustFinish(store, next);
      await mustKeep(store, id, { why: 'in-use' });
      assert.deepEqual(await removableIds(store), [first.id]);
      await mustRemove(store, first.id);
      await mustRemove(store, id);
    },
  },
  {
    upholds: 'F-2',
    name: 'an ended execution whose result only looks like a successor can be removed',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const body = payload({ continuedAs: 'not an id, but as long as one is, or longer' });
      const events = [{ kind: 'completed', body }] as const;
      expectKind(await store.executions.finish(finishing(held, { events })), 'finished');
      await mustRemove(store, held.id);
    },
  },
  {
    upholds: 'F-3',
    name: 'an execution with an open dead letter is kept for the letters’ retention, whatever its status’s retention',
    async run({ store, advance }) {
      const ann = await worker(store);
      const id = await ended(store, ann, { deadLetter: letter() });
      await mustKeep(store, id, { why: 'not-due' });
      const page = await store.executions.removable({ limit: 10, endedMs: 0 });
      assert.deepEqual(
        page.items.map((each) => each.hasOpenLetter),
        [true],
      );
      await mustKeep(store, id, { letterMs: 1_000, why: 'not-due' });
      await advance(999);
      await mustKeep(store, id, { letterMs: 1_000, why: 'not-due' });
      await advance(1);
      await mustRemove(store, id, { letterMs: 1_000 });
      assert.deepEqual(await store.executions.deadLetters({ project: PROJECT, limit: 10 }), []);
    },
  },
  {
    upholds: 'F-5',
    name: 'when a re-drive and a removal race, exactly one wins',
    needs: 'two-clients',
    async run({ store, another }) {
      const ann = await worker(store);
      const other = await another();
      for (let round = 0; round < 8; round += 1) {
        const id = await ended(store, ann, { status: 'cancelled' });
        const [removal, redrive] = await Promise.all([
          other.executions.remove({ id, project: PROJECT, keepMs: 0 }),
          store.executions.redrive(redriving(id)),
        ]);
        const isRemoved = removal.kind === 'removed';
        assert.equal(redrive.kind, isRemoved ? 'refused' : 'submitted');
        if (redrive.kind === 'refused') assert.equal(redrive.why, 'execution-unknown');
        if (redrive.kind !== 'submitted') continue;
        assert.deepEqual(removal, { kind: 'kept', why: 'in-use' });
        const { claimed: _, ...held } = await mustClaim(store, ann, redrive.id);
        await mustRecord(store, held);
        await mustFinish(store, later(held));
      }
    },
  },
];
