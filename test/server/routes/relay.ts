import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { aesCodec, Holdfast, pipeline, question } from '../../../src/index.ts';
import { nameIn, refusedWith, type TestCoordinator, until } from '../coordinator.ts';
import type { Case } from './case.ts';

const PERCENT = {
  type: 'object',
  properties: { percent: { type: 'number' } },
  required: ['percent'],
};

/** A Standard Schema of one field. */
const percent = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) =>
      typeof (value as { percent?: unknown } | null)?.percent === 'number'
        ? { value: value as { readonly percent: number } }
        : { issues: [{ message: 'must be a number', path: ['percent'] }] },
    jsonSchema: { input: () => PERCENT },
  },
} as const;

const discount = question({
  name: 'discount',
  schema: percent,
  project(request: { readonly price: number }, answer: { readonly percent: number }, about) {
    if (answer.percent > 50) throw new Error('that is too much');
    return { pays: (request.price * (100 - answer.percent)) / 100, by: about.actor };
  },
});

const offer = pipeline({
  name: 'offer',
  awaits: [discount],
  async run(ctx) {
    const answer = await ctx.await(discount, { request: { price: 200 } });
    return answer.kind === 'answered' ? answer.value : answer.kind;
  },
});

/** Lists contain the engine's own executions only if the filter names their pipeline. */
const RELAYED = { pipeline: 'holdfast.answer/offer', tag: 'holdfast.answer' };

async function asked(
  coordinator: TestCoordinator,
): Promise<{ readonly execution: string; readonly id: string }> {
  const client = await coordinator.client(['submit'], 'default');
  const { id: execution } = await client.executions.submit({ pipeline: 'offer' });
  const id = await until(async () => (await client.awaits.list({ execution })).items[0]?.id);
  return { execution, id };
}

const checked: Case = {
  name: 'a worker that has the question validates and projects an answer',
  async run(coordinator) {
    await coordinator.worker([offer]);
    const { execution, id } = await asked(coordinator);
    const client = await coordinator.client(['submit', 'operate'], 'default');
    const wrong = refusedWith('invalid-input', 400);
    await assert.rejects(client.awaits.answer(id, { percent: 'ten' }), wrong);
    await assert.rejects(client.awaits.answer(id, { percent: 60 }), /that is too much/);
    const open = await client.awaits.read(id);
    assert.deepEqual([open.status, open.answerSchema], ['open', PERCENT]);
    assert.deepEqual(await client.awaits.answer(id, { percent: 10 }), {
      kind: 'answered',
      settled: true,
    });
    assert.equal((await client.awaits.answer(id, { percent: 10 })).kind, 'existing');
    const { output } = await client.executions.result(execution);
    const { pays, by } = output as { readonly pays: number; readonly by: string };
    assert.deepEqual([pays, nameIn(by)], [180, 'submit+operate of default']);
    // A refused answer leaves no dead letter.
    assert.deepEqual((await client.deadLetters.list()).items, []);
    const { items } = await client.executions.list(RELAYED);
    assert.ok(items.length >= 4);
  },
};

const early: Case = {
  name: 'an answer that needs a projector is refused as too early before its question',
  async run(coordinator) {
    await coordinator.worker([offer]);
    const client = await coordinator.client(['submit', 'operate'], 'default');
    const body = { pipeline: 'offer', delayMs: 3_600_000 };
    const { id: execution } = await client.executions.submit(body);
    await assert.rejects(
      client.awaits.answer({ execution, name: 'discount' }, { percent: 10 }),
      refusedWith('answer-too-early', 409),
    );
  },
};

const undeclared: Case = {
  name: 'an early answer to a question that the pipeline does not declare is too early',
  given: { limits: { relayAnswersMs: 50 } },
  async run(coordinator) {
    const plain = pipeline({
      name: 'plain',
      async run(ctx) {
        await ctx.receive('go');
        return ctx.await('payment');
      },
    });
    const worker = await coordinator.worker([plain]);
    const client = await coordinator.client(['submit', 'operate'], 'default');
    const { id: execution } = await client.executions.submit({ pipeline: 'plain' });
    const answer = () => client.awaits.answer({ execution, name: 'payment' }, true);
    await assert.rejects(answer(), refusedWith('answer-too-early', 409));
    await assert.rejects(answer(), /declare the question/);
    await worker.stop();
    await assert.rejects(answer(), refusedWith('no-worker', 503));
    await coordinator.worker([plain]);
    await client.executions.signal(execution, 'go');
    await until(async () => (await client.awaits.list({ execution })).items[0]);
    assert.equal((await answer()).kind, 'answered');
  },
};

const sealed: Case = {
  name: 'a relaying coordinator needs no codec: the projected answer is stored as the worker sealed it',
  async run(coordinator) {
    const codec = aesCodec([{ id: 'one', key: randomBytes(32) }]);
    await coordinator.worker([offer], { codec });
    const { execution, id } = await asked(coordinator);
    const client = await coordinator.client(['submit', 'operate'], 'default');
    assert.equal((await client.awaits.read(id)).sealed, true);
    assert.equal((await client.awaits.answer(id, { percent: 50 })).kind, 'answered');
    const { status, sealed } = await client.executions.result(execution);
    assert.deepEqual([status, sealed], ['completed', true]);
    const reader = new Holdfast({ store: coordinator.store, codec });
    type Paid = { readonly pays: number; readonly by: string };
    const { pays, by } = (await reader.result(execution)) as Paid;
    assert.deepEqual([pays, nameIn(by)], [100, 'submit+operate of default']);
    await reader.close();
  },
};

const alone: Case = {
  name: 'without a worker that can validate it, an answer is refused and nothing changes',
  given: { limits: { relayAnswersMs: 50 } },
  async run(coordinator) {
    const worker = await coordinator.worker([offer]);
    const { id } = await asked(coordinator);
    await worker.stop();
    const client = await coordinator.client(['submit', 'operate'], 'default');
    await assert.rejects(client.awaits.answer(id, { percent: 10 }), refusedWith('no-worker', 503));
    assert.equal((await client.awaits.read(id)).status, 'open');
    const { items } = await client.executions.list(RELAYED);
    assert.deepEqual(
      items.map(({ status }) => status),
      ['cancelled'],
    );
  },
};

export const relayCases: readonly Case[] = [checked, early, undeclared, sealed, alone];
