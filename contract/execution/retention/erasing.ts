// An erasure takes the values of one ended execution, and keeps its structure (F-13 … F-16).

import assert from 'node:assert/strict';
import type { Erasure } from '../../../src/execution/execution.ts';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { Erase, Erased } from '../../../src/features/erasure/port.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { digestOf } from '../../../src/support/digest.ts';
import { expectKind } from '../../lease/expect.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
import { expectAudited, expectUnaudited, stamp } from '../audit/auditing.ts';
import { answering, type CALL, interactionId, OPENED, opening } from '../awaits/awaiting.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { ended, letter, redriving } from '../repair/repairing.ts';
import {
  finishing,
  OTHER_PROJECT,
  PROJECT,
  payload,
  running,
  signalling,
  worker,
  writing,
} from '../worker.ts';
import { ARCHIVED, mustRemove, removing } from './keeping.ts';

/** A text that must be gone afterwards. */
const SECRET = 'ada@example.org';

export function erasing(id: ExecutionId, options: Partial<Erase> = {}): Erase {
  return { id, project: PROJECT, audit: stamp('erase'), ...options };
}

export async function mustErase(
  store: CoordinatorStore,
  id: ExecutionId,
  options: Partial<Erase> = {},
): Promise<Erasure> {
  const result = await store.executions.erase(erasing(id, options));
  const { erasure, isNew } = expectKind<Erased, 'erased'>(result, 'erased');
  assert.equal(isNew, true);
  return erasure;
}

/** Ends an execution that has the secret in every field that takes a value. */
async function endedWithValues(
  store: CoordinatorStore,
  who: Pick<OpenedSession, 'id'>,
): Promise<ExecutionId> {
  const out = { v: SECRET };
  const failure = { category: 'permanent', code: 'declined', message: SECRET, stack: SECRET };
  const held = await running(store, who, {
    input: payload(out),
    key: 'order-17',
    tags: [SECRET, 'vip'],
    attributes: { email: SECRET, size: 3, paid: true },
  });
  const { id } = held;
  await store.executions.signal({ ...signalling(id), body: payload({ out }) });
  const bytes = Buffer.from(SECRET);
  const events = [
    { kind: 'step-completed', name: 'pay', body: payload({ key: 'step:pay#1', out, saga: true }) },
    { kind: 'step-failed', name: 'ship', body: payload({ key: 'step:ship#1', failure }) },
    { kind: 'progressed', body: payload({ log: SECRET, out: { enc: 'YWRh', by: 'k' } }) },
    { kind: 'child-ended', body: payload({ key: 'child:a#1', id, status: 'failed', failure }) },
    { kind: 'checkpointed', body: payload({ state: out, unknown: { to: SECRET } }) },
    OPENED,
  ] as const;
  const write = {
    ...writing(held, ...events),
    progress: payload(out),
    heartbeats: [
      { key: 'step:ship#1' as typeof CALL, attempt: 1, at: 0 as never, details: payload(out) },
    ],
    awaits: [{ ...opening(id, { items: 2, needed: 1 }), defaultAnswer: payload(out) }],
    attachments: [
      { name: 'note', type: 'text/plain', bytes },
      {
        name: 'holdfast.published.mail',
        type: 'application/json',
        bytes: Buffer.from(payload({ out })),
      },
    ],
  };
  expectKind(await store.executions.record(write), 'recorded');
  const answer = { digest: 'd1', actor: 'olga' };
  await store.executions.answer(answering(interactionId(id), out, answer));
  const finish = finishing(
    { ...held, seq: held.seq + events.length },
    { status: 'failed', leavesAwaits: true, deadLetter: letter({ reason: SECRET }) },
  );
  const last = { kind: 'failed', body: payload({ failure }) } as const;
  expectKind(await store.executions.finish({ ...finish, events: [last] }), 'finished');
  await store.executions.answer(answering(interactionId(id, 1), out, { digest: 'd2' }));
  return id;
}

/** Everything that reads return about an execution. */
async function everything(store: CoordinatorStore, id: ExecutionId) {
  const { executions } = store;
  const found = await executions.interactions({ project: PROJECT, execution: id, limit: 10 });
  const files = await executions.attachments(id);
  return {
    execution: await executions.read(id),
    history: await executions.history({ id, after: 0, limit: 100 }),
    inbox: await allMessages(store, id),
    found,
    late: await Promise.all(
      found.map(({ interaction }) =>
        executions.lateAnswers({ project: PROJECT, id: interaction.id }),
      ),
    ),
    files: await Promise.all(
      files.map(async ({ name }) => {
        const file = await executions.attachment({ id, name });
        return { ...file, bytes: Buffer.from(file?.bytes ?? []).toString() };
      }),
    ),
    letter: await executions.deadLetter(id),
  };
}

const DIGEST = digestOf(Buffer.from(JSON.stringify(SECRET)));

export const erasingCases: readonly ExecutionCase[] = [
  {
    upholds: 'F-13, X-2',
    name: 'an erasure takes every value of an ended execution, and keeps its structure and digests',
    async run({ store, advance, now }) {
      const id = await endedWithValues(store, await worker(store));
      const before = await everything(store, id);
      assert.ok(JSON.stringify(before).split(SECRET).length > 15, 'the values are there before');
      await advance(5);
      const erasure = await mustErase(store, id);
      assert.deepEqual(erasure, { at: now(), by: 'olga' });
      const after = await everything(store, id);
      assert.doesNotMatch(JSON.stringify(after), new RegExp(SECRET));
      const { execution, history, letter: left } = after;
      const value = { ref: DIGEST, size: SECRET.length + 2, by: 'erased' };
      assert.equal(execution?.input, payload(value));
      assert.equal(execution?.progress, payload(value));
      assert.deepEqual(
        [execution?.status, execution?.key, execution?.tags, execution?.attributes],
        ['failed', 'order-17', [], {}],
      );
      assert.deepEqual(execution?.erased, erasure);
      assert.deepEqual(
        history.map(({ seq, kind, name, at }) => [seq, kind, name, at]),
        before.history.map(({ seq, kind, name, at }) => [seq, kind, name, at]),
      );
      const paid = history.find(({ kind }) => kind === 'step-completed');
      assert.equal(paid?.body, payload({ key: 'step:pay#1', out: value, saga: true }));
      const failed = JSON.parse(history.at(-1)?.body ?? '{}');
      assert.deepEqual(failed, {
        failure: { category: 'permanent', code: 'declined', message: 'erased' },
      });
      assert.deepEqual([left?.code, left?.reason], ['declined', 'erased']);
      assert.deepEqual(
        after.files.map(({ name, sealed, bytes }) => [name, sealed?.by, bytes]),
        [
          ['holdfast.published.mail', undefined, payload({ out: value })],
          ['note', 'erased', digestOf(Buffer.from(SECRET))],
        ],
      );
      for (const filter of [{ tag: 'vip' }, { attributes: [{ name: 'size', min: 1 }] }]) {
        const { ids } = await store.executions.find({ project: PROJECT, limit: 9, ...filter });
        assert.deepEqual(ids, []);
      }
    },
  },
  {
    upholds: 'F-13, J-1',
    name: 'an erasure writes one audit record without values',
    async run({ store }) {
      const id = await endedWithValues(store, await worker(store));
      const audit = stamp('erase');
      const { actor, reason } = audit;
      const record = {
        ...{ id: audit.id, project: PROJECT, actor, action: 'erase' as const, reason },
        target: { kind: 'execution' as const, id },
        ...{ before: { erased: false }, after: { erased: true } },
      };
      await expectAudited(store, record, () => mustErase(store, id, { audit }));
    },
  },
  {
    upholds: 'F-13, X-21',
    name: 'an erasure of an open execution, or of another project’s, is refused and writes nothing',
    async run({ store }) {
      const ann = await worker(store);
      const { id: open } = await running(store, ann);
      const before = await store.executions.read(open);
      const refused = await expectUnaudited(store, () => store.executions.erase(erasing(open)));
      assert.deepEqual(refused, {
        ...{ kind: 'refused', why: 'not-ended', id: open, status: before?.status },
      });
      assert.deepEqual(await store.executions.read(open), before);
      const wrong = erasing(open, { project: OTHER_PROJECT });
      const unknown = await expectUnaudited(store, () => store.executions.erase(wrong));
      assert.deepEqual(unknown, { kind: 'refused', why: 'execution-unknown', id: open });
    },
  },
  {
    upholds: 'F-16',
    name: 'a second erasure changes nothing and returns the first',
    async run({ store, advance }) {
      const id = await endedWithValues(store, await worker(store));
      const erasure = await mustErase(store, id);
      const before = await everything(store, id);
      await advance(5);
      const again = await expectUnaudited(store, () =>
        store.executions.erase(erasing(id, { audit: stamp('erase', { actor: 'otto' }) })),
      );
      assert.deepEqual(again, { kind: 'erased', erasure, isNew: false, archived: false });
      assert.deepEqual(await everything(store, id), before);
    },
  },
  {
    upholds: 'F-16',
    name: 'a re-drive of an erased execution is refused with time and actor',
    async run({ store }) {
      const id = await ended(store, await worker(store));
      const { at, by } = await mustErase(store, id);
      const result = await store.executions.redrive(redriving(id));
      assert.deepEqual(result, { kind: 'refused', why: 'execution-erased', id, at, by });
    },
  },
  {
    upholds: 'F-16',
    name: 'a late answer to an erased execution is counted and not kept',
    async run({ store }) {
      const id = await endedWithValues(store, await worker(store));
      await mustErase(store, id);
      const question = interactionId(id, 1);
      const late = answering(question, { v: SECRET }, { digest: 'd3' });
      expectKind(await store.executions.answer(late), 'refused');
      const found = await store.executions.interaction({ project: PROJECT, id: question });
      assert.equal(found?.interaction.late, 2);
      assert.doesNotMatch(JSON.stringify(await everything(store, id)), new RegExp(SECRET));
    },
  },
  {
    upholds: 'F-14, F-6',
    name: 'documents that were written before an erasure never replace the rows',
    async run({ store }) {
      const id = await ended(store, await worker(store), { status: 'completed' });
      const erasure = await mustErase(store, id);
      const stale = await store.executions.remove(removing(id, { archived: ARCHIVED }));
      assert.deepEqual(stale, { kind: 'kept', why: 'changed' });
      const seen = { late: 0, erased: true } as const;
      await mustRemove(store, id, { archived: { ...ARCHIVED, seen } });
      assert.deepEqual((await store.executions.archived(id))?.erased, erasure);
    },
  },
  {
    upholds: 'F-14',
    name: 'an erasure of an archived execution marks its entry, and takes tags but not words of the key',
    async run({ store, now }) {
      const labels = { key: 'Order-17', tags: ['vip'] };
      const id = await ended(store, await worker(store), { status: 'completed', ...labels });
      const other = await ended(store, await worker(store), { status: 'completed', tags: ['vip'] });
      for (const each of [id, other]) await mustRemove(store, each, { archived: ARCHIVED });
      const erased = { at: now(), by: 'olga', ofArchive: true } as const;
      const erasure = { ...erased, pending: { documents: true } } as const;
      assert.deepEqual(await mustErase(store, id), erasure);
      const entry = await store.executions.archived(id);
      assert.deepEqual(
        [entry?.erased, entry?.tags, entry?.key, entry?.digest],
        [erasure, [], 'Order-17', ARCHIVED.digest],
      );
      const query = { project: PROJECT, limit: 10 };
      const tagged = await store.executions.listArchived({ ...query, tag: 'vip' });
      assert.deepEqual(
        tagged.map((each) => each.id),
        [other],
      );
      const named = await store.executions.listArchived({ ...query, words: ['order', '17'] });
      assert.deepEqual(
        named.map((each) => each.id),
        [id],
      );
      const again = await expectUnaudited(store, () => store.executions.erase(erasing(id)));
      assert.deepEqual(again, { kind: 'erased', erasure, isNew: false, archived: true });
    },
  },
  {
    upholds: 'F-14',
    name: 'an erasure is complete only for a caller that saw what was pending',
    async run({ store }) {
      const ann = await worker(store);
      const [kept, gone] = [
        await ended(store, ann, { input: payload({ ref: 'b'.repeat(64), size: 1 }) }),
        await ended(store, ann, { status: 'completed' }),
      ];
      await mustRemove(store, gone, { archived: ARCHIVED });
      const read = {
        [kept]: async () => (await store.executions.read(kept))?.erased,
        [gone]: async () => (await store.executions.archived(gone))?.erased,
      };
      for (const id of [kept, gone]) {
        const was = await mustErase(store, id);
        assert.ok(was.pending !== undefined);
        const { pending: _, ...now } = was;
        const other = { ...was, pending: { values: ['c'.repeat(64)] } };
        const note = { id, project: PROJECT, now };
        await store.executions.noteErased({ ...note, was: other });
        await store.executions.noteErased({ ...note, was, project: OTHER_PROJECT });
        assert.deepEqual(await read[id]?.(), was);
        await store.executions.noteErased({ ...note, was });
        assert.deepEqual(await read[id]?.(), now);
      }
    },
  },
  {
    upholds: 'F-16',
    name: 'a pending erasure is listed 10 minutes later, until it is complete',
    async run({ store, advance }) {
      const ann = await worker(store);
      const kept = await ended(store, ann, { input: payload({ ref: 'b'.repeat(64), size: 1 }) });
      const gone = await ended(store, ann, { status: 'completed' });
      await mustRemove(store, gone, { archived: ARCHIVED });
      const whole = await ended(store, ann, { status: 'completed' });
      const first = { id: kept, project: PROJECT, was: await mustErase(store, kept) };
      const second = { id: gone, project: PROJECT, was: await mustErase(store, gone) };
      assert.equal((await mustErase(store, whole)).pending, undefined);
      const { noteErased, pendingErasures } = store.executions;
      const due = async () => [
        ...(await pendingErasures({ inArchive: false, limit: 1 })),
        ...(await pendingErasures({ inArchive: true, limit: 10 })),
      ];
      await advance(599_999);
      assert.deepEqual(await due(), []);
      await advance(1);
      assert.deepEqual(await due(), [first, second]);
      const { pending: _, ...complete } = first.was;
      const other = { ...first.was, pending: { values: ['c'.repeat(64)] } };
      await noteErased({ ...first, was: other, now: complete });
      await noteErased({ ...first, was: other, now: other });
      await noteErased({ ...first, project: OTHER_PROJECT, now: complete });
      assert.deepEqual(await due(), [first, second]);
      await noteErased({ ...first, now: complete });
      await noteErased({ ...second, now: second.was });
      assert.deepEqual(await due(), []);
      await advance(600_000);
      assert.deepEqual(await due(), [second]);
    },
  },
  {
    upholds: 'F-16, F-12',
    name: 'a pending erasure stays listed after its execution was removed without an archive',
    async run({ store, advance }) {
      const input = payload({ ref: 'b'.repeat(64), size: 1 });
      const id = await ended(store, await worker(store), { status: 'completed', input });
      const pending = { id, project: PROJECT, was: await mustErase(store, id) };
      await mustRemove(store, id);
      await advance(600_000);
      const query = { inArchive: false, limit: 10 };
      assert.deepEqual(await store.executions.pendingErasures(query), [pending]);
      const { pending: _, ...now } = pending.was;
      await store.executions.noteErased({ ...pending, now });
      await advance(600_000);
      assert.deepEqual(await store.executions.pendingErasures(query), []);
    },
  },
  {
    upholds: 'F-16',
    name: 'when several erasures of one execution race, one is new and writes the record',
    needs: 'two-clients',
    async run({ store, another }) {
      const ann = await worker(store);
      const other = await another();
      const [kept, gone] = [
        await ended(store, ann, { status: 'completed' }),
        await ended(store, ann, { status: 'completed' }),
      ];
      await mustRemove(store, gone, { archived: ARCHIVED });
      for (const id of [kept, gone]) {
        const all = await Promise.all(
          [store, other, store, other].map((each) => each.executions.erase(erasing(id))),
        );
        const isNew = all.map((each) => each.kind === 'erased' && each.isNew);
        assert.deepEqual(isNew.filter(Boolean).length, 1, id);
        const query = { project: PROJECT, execution: id, limit: 10 };
        assert.equal((await store.executions.audit(query)).length, 1);
      }
    },
  },
];
