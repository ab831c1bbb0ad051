import assert from 'node:assert/strict';
import type { ExecutionFailed } from '../../../src/engine/failures.ts';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { interactionId } from '../../../src/engine/ids.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { aesCodec } from '../../../src/engine/values/aes-codec.ts';
import type { Schema } from '../../../src/engine/values/schema.ts';
import type { Answered } from '../../../src/features/awaits/api.ts';
import { question } from '../../../src/features/awaits/question-api.ts';
import type { Behaviour, Stage } from '../stage.ts';
import { waits } from './awaiting.ts';

const SECRETS = { old: 'o'.repeat(32), new: 'n'.repeat(32) };

/** Like a schema library: it keeps an amount and drops everything else. */
const Amount: Schema<{ readonly amount: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate(value) {
      const { amount } = (value ?? {}) as { readonly amount?: unknown };
      return typeof amount === 'number'
        ? { value: { amount } }
        : { issues: [{ message: 'must be a number', path: ['amount'] }] };
    },
  },
};

interface Offer {
  readonly customer: string;
  readonly limit: number;
}

const offer = question({
  name: 'offer',
  schema: Amount,
  project(request: Offer, { amount }, { actor, id }) {
    if (amount > request.limit) throw new Error(`${amount} is above ${request.limit}`);
    return { customer: request.customer, amount, actor, id };
  },
});

const offering = pipeline({
  name: 'offering',
  awaits: [offer],
  async run(ctx) {
    const outcome = await ctx.await(offer, { request: { customer: 'ann', limit: 10 } });
    return outcome.kind === 'answered' ? outcome.value : undefined;
  },
});

/** An execution that waits for a signed answer, and the process that runs it. */
async function signing(
  stage: Stage,
): Promise<{ readonly holdfast: Holdfast; readonly id: string; result(): Promise<unknown> }> {
  const signed = pipeline({
    name: 'signed',
    async run(ctx) {
      const outcome = await ctx.await<string>('signed', { signed: true });
      return outcome.kind === 'answered' ? [outcome.value, outcome.actor ?? null] : outcome.kind;
    },
  });
  const holdfast = stage.holdfast({ links: { keys: SECRETS, current: 'new' } });
  await stage.worker(holdfast, [signed]);
  const handle = await holdfast.submit(signed, undefined);
  await waits(stage, holdfast, handle.id);
  return { holdfast, ...handle };
}

function whyOf(answered: Answered): string {
  return answered.kind === 'refused' ? answered.why : answered.kind;
}

const paying = pipeline({
  name: 'paying',
  async run(ctx, { payment, twice }: { readonly payment: string; readonly twice?: boolean }) {
    const paid = await ctx.await<string>('paid', { correlation: payment });
    if (twice === true) await ctx.await('paid', { correlation: payment });
    return paid.kind === 'answered' ? paid.value : paid.kind;
  },
});

export const ANSWERING: readonly Behaviour[] = [
  {
    name: 'W-14: an answer finds its question by correlation, and counts once',
    async run(stage) {
      const holdfast = stage.holdfast();
      const target = 'correlation:pay/17';
      assert.equal(whyOf(await holdfast.awaits.answer(target, 'yes')), 'await-unknown');
      await stage.worker(holdfast, [paying]);
      const { id, result } = await holdfast.submit(paying, { payment: 'pay/17' });
      await waits(stage, holdfast, id);
      assert.equal((await holdfast.awaits.get(target))?.correlation, 'pay/17');
      await holdfast.awaits.assign(target, 'olga');
      assert.equal((await holdfast.awaits.get({ execution: id, name: 'paid' }))?.assignee, 'olga');
      const elsewhere = await holdfast.awaits.answer(target, 'yes', { project: 'other' });
      assert.equal(whyOf(elsewhere), 'await-unknown');
      assert.equal(whyOf(await holdfast.awaits.answer(target, 'yes')), 'answered');
      assert.equal(await result(), 'yes');
      assert.equal(whyOf(await holdfast.awaits.answer(target, 'yes')), 'existing');
      assert.equal(whyOf(await holdfast.awaits.answer(target, 'no')), 'answer-conflict');
    },
  },
  {
    name: 'W-15: an await is refused while another question of an open execution has its correlation',
    async run(stage) {
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [paying]);
      const first = await holdfast.submit(paying, { payment: 'p-1', twice: true });
      await waits(stage, holdfast, first.id);
      const second = await holdfast.submit(paying, { payment: 'p-1' });
      const isTaken = ({ failure }: ExecutionFailed) => failure?.code === 'correlation-taken';
      await assert.rejects(second.result(), isTaken);
      await holdfast.awaits.answer('correlation:p-1', 'yes');
      await assert.rejects(first.result(), isTaken);
      const third = await holdfast.submit(paying, { payment: 'p-1' });
      await waits(stage, holdfast, third.id);
      await holdfast.awaits.answer('correlation:p-1', 'again');
      assert.equal(await third.result(), 'again');
    },
  },
  {
    name: 'an answer is validated and projected before it is stored; an invalid one leaves the question open',
    async run(stage) {
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [offering]);
      const { id, result } = await holdfast.submit(offering, undefined);
      await waits(stage, holdfast, id);
      const target = interactionId({ execution: id, name: 'offer' });
      await assert.rejects(holdfast.awaits.answer(target, { amount: 'ten' }), {
        name: 'InvalidInput',
        message: 'The answer to "offer" is not valid: amount: must be a number',
      });
      await assert.rejects(holdfast.awaits.answer(target, { amount: 11 }), {
        name: 'InvalidInput',
        message: /11 is above 10/,
      });
      await assert.rejects(holdfast.awaits.answer(target, { amount: () => 1 }), {
        message: /value\.amount is a function/,
      });
      assert.equal((await holdfast.awaits.get(target))?.status, 'open');
      // A field that the answering person must not set is dropped.
      const sent = { amount: 9, customer: 'mallory' };
      assert.equal((await holdfast.awaits.answer(target, sent, { actor: 'bob' })).kind, 'answered');
      assert.equal((await holdfast.awaits.answer(target, sent)).kind, 'existing');
      assert.equal(whyOf(await holdfast.awaits.answer(target, { amount: 9 })), 'answer-conflict');
      assert.deepEqual(await result(), { customer: 'ann', amount: 9, actor: 'bob', id: target });
    },
  },
  {
    name: 'a process without the question refuses an answer with the fix; one with the pipeline accepts it',
    async run(stage) {
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [offering]);
      const { id, result } = await holdfast.submit(offering, undefined);
      await waits(stage, holdfast, id);
      const target = { execution: id, name: 'offer' };
      const refused = await stage.holdfast().awaits.answer(target, { amount: 1 });
      assert.deepEqual(refused, {
        ...{ kind: 'refused', why: 'question-unknown', pipeline: 'offering' },
        id: interactionId(target),
      });
      const web = stage.holdfast({ pipelines: [offering] });
      assert.equal((await web.awaits.answer(target, { amount: 1 })).kind, 'answered');
      assert.equal((await result())?.amount, 1);
    },
  },
  {
    name: 'an early answer is validated too, and refused if that is impossible',
    async run(stage) {
      const checking = pipeline({
        name: 'checking',
        awaits: [question({ name: 'n', schema: Amount })],
        run: (ctx) => ctx.await('n'),
      });
      const holdfast = stage.holdfast({ pipelines: [checking, offering] });
      const { id, result } = await holdfast.submit(checking, undefined);
      const target = { execution: id, name: 'n' };
      await assert.rejects(holdfast.awaits.answer(target, {}), /amount: must be a number/);
      assert.equal(whyOf(await stage.holdfast().awaits.answer(target, {})), 'question-unknown');
      assert.equal((await holdfast.awaits.answer(target, { amount: 1, more: 2 })).kind, 'kept');
      const projected = await holdfast.submit(offering, undefined);
      const early = { execution: projected.id, name: 'offer' };
      assert.equal(whyOf(await holdfast.awaits.answer(early, { amount: 1 })), 'answer-too-early');
      await stage.worker(holdfast, [checking, offering]);
      const outcome = await result();
      assert.deepEqual(outcome.kind === 'answered' && outcome.value, { amount: 1 });
    },
  },
  {
    name: 'an undeclared question and unknown options are mistakes',
    async run(stage) {
      const sloppy = pipeline({
        name: 'sloppy',
        async run(ctx) {
          const wrong = [
            () => ctx.await(offer, { request: { customer: 'x', limit: 1 } }),
            () => ctx.await('x', { timeout: 7 } as never),
            () => ctx.await('x', { schema: Amount } as never),
            () => ctx.await('x', { items: [1, 2], need: 3 }),
            () => ctx.await('x', { items: [1], assignee: ['a', 'b'] }),
            () => ctx.await('x', { request: () => 1 }),
            () => ctx.await('x', { reminders: [{ afterMs: -1, pipeline: 'y' }] }),
            () => ctx.await('x', 7 as never),
            () => ctx.await(undefined as never),
          ];
          const messages: string[] = [];
          for (const each of wrong) {
            await each().catch((error: Error) => messages.push(`${error.name}: ${error.message}`));
          }
          return messages;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [sloppy]);
      const messages = await (await holdfast.submit(sloppy, undefined)).result();
      const hints = [
        ...[/declare the question "offer"/, /timeoutMs/, /is an option of question/, /need/],
        ...[/2 entries for 1 items/, /a function/, /afterMs/, /options must be an object/, /name/],
      ];
      assert.equal(messages.length, hints.length);
      for (const [index, hint] of hints.entries()) {
        assert.match(messages[index] ?? '', /^InvalidInput: /);
        assert.match(messages[index] ?? '', hint);
      }
    },
  },
  {
    name: 'requests, answers and defaults go through the codec, and large ones are kept apart',
    async run(stage) {
      const codec = aesCodec([{ id: '1', key: new Uint8Array(32).fill(7) }]);
      const secret = pipeline({
        name: 'secret',
        async run(ctx) {
          const given = await ctx.await<string>('given', { request: { pin: 'pin-1234' } });
          const taken = await ctx.await('taken', { timeoutMs: 30, default: 'pin-5678' });
          return [given, taken].map((each) => each.kind === 'answered' && each.value);
        },
      });
      const holdfast = stage.holdfast({ codec, payloads: { inlineBytesMax: 256 } });
      await stage.worker(holdfast, [secret]);
      const { id, result } = await holdfast.submit(secret, undefined);
      await waits(stage, holdfast, id);
      const target = { execution: id, name: 'given' };
      assert.deepEqual((await holdfast.awaits.get(target))?.request, { pin: 'pin-1234' });
      const large = 'pin-'.repeat(1_000);
      await holdfast.awaits.answer(target, large);
      assert.deepEqual(await result(), [large, 'pin-5678']);
      assert.equal((await holdfast.awaits.get(target))?.answer?.value, large);
      const query = { project: 'default' as never, limit: 10 };
      const stored = JSON.stringify([
        await holdfast.history(id),
        await stage.store.executions.interactions(query),
      ]);
      assert.equal(stored.includes('pin-'), false);
    },
  },
  {
    name: 'W-7: a signed await takes answers by link only, and each link answers once',
    async run(stage) {
      const { holdfast, id, result } = await signing(stage);
      const target = { execution: id, name: 'signed' };
      assert.equal(whyOf(await holdfast.awaits.answer(target, 'x')), 'link-required');
      const token = holdfast.awaits.link(interactionId(target), { expiresInMs: 60_000 });
      assert.match(token, /^[\w-]+\.[\w-]+$/);
      const by = { actor: 'ann' };
      assert.equal((await holdfast.awaits.answerByLink(token, 'yes', by)).kind, 'answered');
      assert.equal((await holdfast.awaits.answerByLink(token, 'yes')).kind, 'existing');
      assert.equal(whyOf(await holdfast.awaits.answerByLink(token, 'no')), 'answer-conflict');
      assert.deepEqual(await result(), ['yes', 'ann']);
      assert.deepEqual(await holdfast.awaits.lateAnswers(target), []);
    },
  },
  {
    name: 'W-7: an early answer to a signed await counts only if it came by link',
    async run(stage) {
      const early = pipeline({
        name: 'signed early',
        async run(ctx) {
          const outcome = await ctx.await<string>('it', { items: [1, 2], signed: true });
          return outcome.kind === 'answered' && outcome.values;
        },
      });
      const links = { keys: SECRETS, current: 'new' };
      const holdfast = stage.holdfast({ links, pipelines: [early] });
      const { id, result } = await holdfast.submit(early, undefined);
      const item = (which: number) => ({ execution: id, name: 'it', item: which });
      const link = (which: number) => holdfast.awaits.link(item(which), { expiresInMs: 60_000 });
      assert.equal((await holdfast.awaits.answerByLink(link(0), 'linked')).kind, 'kept');
      assert.equal((await holdfast.awaits.answer(item(1), 'not linked')).kind, 'kept');
      await stage.worker(holdfast, [early]);
      await waits(stage, holdfast, id);
      assert.equal((await holdfast.awaits.get(item(1)))?.status, 'open');
      assert.equal((await holdfast.awaits.answerByLink(link(1), 'linked too')).kind, 'answered');
      assert.deepEqual(await result(), ['linked', 'linked too']);
    },
  },
  {
    name: 'W-7: a link that was tampered with, has expired or has a removed key is refused',
    async run(stage) {
      const { holdfast, id, result } = await signing(stage);
      const target = { execution: id, name: 'signed' };
      const token = holdfast.awaits.link(target, { expiresInMs: 60_000 });
      const [encoded = '', signature = ''] = token.split('.');
      const claims = JSON.parse(Buffer.from(encoded, 'base64url').toString()) as object;
      const forged = (change: object) =>
        `${Buffer.from(JSON.stringify({ ...claims, ...change })).toString('base64url')}.${signature}`;
      const bad = [
        forged({ exp: 9e15 }),
        forged({ interaction: interactionId({ execution: id, name: 'other' }) }),
        forged({ kid: 'old' }),
        forged({ kid: 'nobody' }),
        ...[
          `${encoded}.`,
          `${token}.x`,
          `${token}=`,
          encoded,
          '',
          '.',
          `${encoded}.${signature.slice(1)}`,
        ],
      ];
      for (const each of bad) {
        assert.equal(whyOf(await holdfast.awaits.answerByLink(each, 'x')), 'link-invalid', each);
      }
      const open = { keys: SECRETS, current: 'old' };
      const old = stage.holdfast({ links: open }).awaits.link(target, { expiresInMs: 60_000 });
      const { old: _, ...rotated } = SECRETS;
      const after = stage.holdfast({ links: { keys: rotated, current: 'new' } });
      assert.equal(whyOf(await after.awaits.answerByLink(old, 'x')), 'link-invalid');
      const clock = { wallMs: () => Date.now() + 60_001, monotonicMs: () => performance.now() };
      const later = stage.holdfast({ links: open, clock });
      assert.equal(whyOf(await later.awaits.answerByLink(token, 'x')), 'link-expired');
      assert.equal((await holdfast.awaits.get(target))?.status, 'open');
      // Signed with the key before the current one, which is still valid.
      assert.equal((await holdfast.awaits.answerByLink(old, 'ok')).kind, 'answered');
      assert.deepEqual(await result(), ['ok', null]);
    },
  },
];
