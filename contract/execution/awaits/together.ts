import assert from 'node:assert/strict';
import type { AnswerTaken } from '../../../src/features/awaits/port.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import { claimAll, mustClaim, worker } from '../worker.ts';
import { answering, interactionId, parkedOn, settlementsOf, statesOf } from './awaiting.ts';

function kindsOf(taken: readonly AnswerTaken[]): readonly string[] {
  return taken.map((each) => {
    if (each.kind === 'refused') return each.why;
    return each.settled ? `${each.kind}, settled` : each.kind;
  });
}

export const togetherCases: readonly ExecutionCase[] = [
  {
    upholds: 'W-16',
    name: 'answers to all items of an await settle it once; those beyond the quorum are late',
    async run({ store }) {
      const ann = await worker(store);
      const { id } = await parkedOn(store, ann, { items: 4, needed: 2 });
      const answers = [0, 1, 2, 3].map((item) => answering(interactionId(id, item)));
      const taken = await store.executions.answerAll(answers);
      const won = kindsOf(taken).filter((kind) => kind.startsWith('answered'));
      assert.deepEqual(won.toSorted(), ['answered', 'answered, settled']);
      assert.equal(kindsOf(taken).filter((kind) => kind === 'answer-late').length, 2);
      const [status, ...items] = await statesOf(store, id);
      const each = items.toSorted();
      assert.deepEqual([status, ...each], ['answered', 'answered', 'answered', 'closed', 'closed']);
      const [settlement, ...more] = await settlementsOf(store, id);
      assert.deepEqual([settlement?.answers.length, more], [2, []]);
      await mustClaim(store, ann, id);
    },
  },
  {
    upholds: 'W-16, W-4',
    name: 'the same answers to several executions again change nothing',
    async run({ store }) {
      const ann = await worker(store);
      const held = [await parkedOn(store, ann), await parkedOn(store, ann)];
      const answers = held.map(({ id }) => answering(interactionId(id)));
      // The same answer twice in one request counts once.
      const request = [...answers, ...answers].toReversed();
      const taken = kindsOf(await store.executions.answerAll(request)).toSorted();
      const both = ['answered, settled', 'answered, settled', 'existing', 'existing'];
      assert.deepEqual(taken, both);
      const again = await leavesUnchanged(store, () => store.executions.answerAll(answers));
      assert.deepEqual(kindsOf(again), ['existing', 'existing']);
      const claimed = (await claimAll(store, ann)).map(({ execution }) => execution.id);
      assert.deepEqual(claimed.toSorted(), held.map(({ id }) => id).toSorted());
    },
  },
  {
    upholds: 'W-16',
    name: 'each answer has a result of its own, in the order of the request',
    async run({ store }) {
      const ann = await worker(store);
      const [open, signed] = [
        await parkedOn(store, ann),
        await parkedOn(store, ann, { signed: true }),
      ];
      const unknown = answering(interactionId(open.id, 7));
      const answers = [signed, open].map(({ id }) => answering(interactionId(id)));
      const taken = await store.executions.answerAll([unknown, ...answers]);
      assert.deepEqual(kindsOf(taken), ['await-unknown', 'link-required', 'answered, settled']);
      assert.deepEqual(await statesOf(store, signed.id), ['open', 'open']);
    },
  },
];
