// Writes that fail for reasons that the engine cannot know. No execution stays running without an
// owner: it continues, or an operator sees the reason.

import assert from 'node:assert/strict';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { ExecutionStore, OwnerWrite } from '../../../src/store/contract/execution-store.ts';
import { Fault } from '../../../src/support/fault.ts';
import { type Behaviour, type Stage, turns } from '../stage.ts';

const waiting = pipeline({
  name: 'waiting',
  async run(ctx) {
    const first = await ctx.step('first', () => 'recorded');
    await ctx.receive('go');
    return `${first}, and received`;
  },
});

/** Another writer uses the same claim once, just before this verb. */
function intruded(stage: Stage, verb: 'record' | 'park' | 'finish'): Holdfast {
  let isDone = false;
  const intrude = async (executions: ExecutionStore, request: OwnerWrite): Promise<void> => {
    if (isDone) return;
    isDone = true;
    const { id, fence, session, seq } = request;
    const events = [{ kind: 'progressed', name: 'intruder' }] as const;
    const answer = await executions.record({ id, fence, session, seq, events });
    assert.equal(answer.kind, 'recorded');
  };
  return stage.holdfastWith((executions) => ({
    [verb]: async (request: never) => {
      await intrude(executions, request);
      return executions[verb](request);
    },
  }));
}

async function whyBlocked(stage: Stage, holdfast: Holdfast, id: string): Promise<string> {
  await stage.until(holdfast, id, ({ holds }) => holds.includes('blocked'));
  const last = (await holdfast.history(id)).at(-1);
  assert.equal(last?.kind, 'blocked');
  return (JSON.parse(last.body ?? '{}') as { why: string }).why;
}

export const REFUSALS: readonly Behaviour[] = [
  ...(['record', 'park', 'finish'] as const).map(
    (verb): Behaviour => ({
      name: `X-4: an execution is blocked if its history has an event of another writer (${verb})`,
      async run(stage) {
        const holdfast = intruded(stage, verb);
        const worker = await stage.worker(holdfast, [waiting]);
        const { id, result } = await holdfast.submit(waiting, undefined);
        await holdfast.signal(id, { name: verb === 'park' ? 'not yet' : 'go' });
        assert.match(await whyBlocked(stage, holdfast, id), /history.*another event at \d+/);
        // The stored event is visible before its owner gets the answer.
        while (!stage.reports.some(({ kind }) => kind === 'blocked')) await turns();
        if (verb === 'park') await holdfast.signal(id, { name: 'go' });
        await holdfast.resume(id);
        assert.equal(await result(), 'recorded, and received');
        while (worker.running > 0) await turns();
      },
    }),
  ),
  {
    name: 'an execution that can be neither recorded nor ended is blocked as soon as that can be stored',
    async run(stage) {
      let failures = 3;
      const rejected = async (): Promise<never> => {
        throw new Fault('store-rejected', 'Not this one.');
      };
      const holdfast = stage.holdfastWith((executions) => ({
        record: (request) => (failures > 0 ? rejected() : executions.record(request)),
        finish: (request) => (failures > 0 ? rejected() : executions.finish(request)),
        giveBack: (request) => {
          failures -= 1;
          return failures > 0 ? rejected() : executions.giveBack(request);
        },
      }));
      const plain = pipeline({ name: 'plain', run: (ctx) => ctx.step('s', () => 'stored') });
      await stage.worker(holdfast, [plain]);
      const { id, result } = await holdfast.submit(plain, undefined);
      assert.match(await whyBlocked(stage, holdfast, id), /Not this one/);
      await holdfast.resume(id);
      assert.equal(await result(), 'stored');
    },
  },
  {
    name: 'an execution with an unreadable history is blocked',
    async run(stage) {
      let isBroken = false;
      const holdfast = stage.holdfastWith((executions) => ({
        history: async (query) => {
          const events = await executions.history(query);
          if (!isBroken) return events;
          return events.map((event) =>
            event.kind === 'step-completed' ? { ...event, body: '{' as never } : event,
          );
        },
      }));
      await stage.worker(holdfast, [waiting]);
      const { id, result } = await holdfast.submit(waiting, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      isBroken = true;
      await holdfast.signal(id, { name: 'go' });
      assert.match(await whyBlocked(stage, holdfast, id), /cannot be read/);
      isBroken = false;
      await holdfast.resume(id);
      assert.equal(await result(), 'recorded, and received');
    },
  },
  {
    name: 'Y-3: an execution that its history blocks can still compensate',
    async run(stage) {
      const undone: string[] = [];
      const saga = pipeline({
        name: 'saga',
        async run(ctx) {
          await ctx.step('charge', () => 1, { compensate: () => undone.push('refund') });
          return ctx.receive('go');
        },
      });
      const holdfast = intruded(stage, 'park');
      await stage.worker(holdfast, [saga]);
      const { id, result } = await holdfast.submit(saga, undefined);
      await whyBlocked(stage, holdfast, id);
      await holdfast.cancel(id);
      await holdfast.resume(id);
      await assert.rejects(result(), { status: 'compensated' });
      assert.deepEqual(undone, ['refund']);
    },
  },
];
