// Attributes that the code changes while the execution runs.

import assert from 'node:assert/strict';
import type { Context } from '../../../src/engine/context.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Behaviour, Stage } from '../stage.ts';

let pipelines = 0;

/** A pipeline of its own name, so that lists of a shared store find only its executions. */
function ofCode(run: (ctx: Context, input: unknown) => Promise<unknown>) {
  pipelines += 1;
  return pipeline({ name: `attributes ${pipelines}`, run });
}

async function foundBy(stage: Stage, name: string, stageName: string): Promise<readonly string[]> {
  const attribute = { name: 'stage', equals: stageName };
  const { items } = await stage.holdfast().list({ pipeline: name, attribute });
  return items.map(({ id }) => id);
}

/** The changes in the history, by their keys. */
async function changes(stage: Stage, id: string): Promise<readonly string[]> {
  const events = await stage.holdfast().history(id);
  return events.flatMap(({ body }) => {
    const { attributes } = JSON.parse(body ?? '{}') as { attributes?: { key: string } };
    return attributes?.key ?? [];
  });
}

export const ATTRIBUTES: readonly Behaviour[] = [
  {
    name: 'X-132: lists find a running execution by the attributes that its code sets, and by no older ones',
    async run(stage) {
      const holdfast = stage.holdfast();
      const open = Promise.withResolvers<void>();
      const packs = ofCode(async (ctx) => {
        ctx.setAttributes({ stage: 'packing', hold: null, rush: undefined });
        await ctx.step('pack', () => open.promise);
        ctx.setAttributes({ stage: 'packed' });
        return ctx.attributes;
      });
      await stage.worker(holdfast, [packs]);
      const attributes = { stage: 'new', hold: true, rush: true, customer: 'c-1' };
      const { id, result } = await holdfast.submit(packs, undefined, { attributes });
      await stage.until(holdfast, id, (execution) => execution.attributes['stage'] === 'packing');
      assert.deepEqual(await foundBy(stage, packs.name, 'packing'), [id]);
      assert.deepEqual(await foundBy(stage, packs.name, 'new'), []);
      open.resolve();
      assert.deepEqual(await result(), { stage: 'packed', customer: 'c-1' });
      assert.deepEqual(await foundBy(stage, packs.name, 'packed'), [id]);
    },
  },
  {
    name: 'X-132: after crashes, each change is recorded once, and code reads the same attributes again',
    async run(stage) {
      const holdfast = stage.holdfast();
      const seen: string[] = [];
      const code = ofCode(async (ctx) => {
        const all = [ctx.attributes['stage']];
        for (const next of ['a', 'b']) {
          ctx.setAttributes({ stage: next });
          all.push(ctx.attributes['stage']);
          await ctx.receive(next);
        }
        seen.push(all.join(' '));
        return all.join(' ');
      });
      let worker = await stage.worker(holdfast, [code]);
      const { id, result } = await holdfast.submit(code, undefined, {
        attributes: { stage: 'new' },
      });
      for (const name of ['a', 'b']) {
        await stage.until(holdfast, id, ({ status, attributes }) => {
          return status === 'waiting' && attributes['stage'] === name;
        });
        await stage.crash(worker);
        worker = await stage.worker(holdfast, [code]);
        await holdfast.signal(id, { name });
      }
      assert.equal(await result(), 'new a b');
      assert.deepEqual(seen, ['new a b']);
      assert.deepEqual(await changes(stage, id), ['attributes:set#1', 'attributes:set#2']);
      assert.deepEqual((await holdfast.read(id))?.attributes, { stage: 'b' });
    },
  },
  {
    name: 'X-132: a change waits for no transaction of its own if the execution parks or ends',
    async run(stage) {
      const holdfast = stage.holdfast();
      const code = ofCode(async (ctx) => {
        ctx.setAttributes({ stage: 'waiting' });
        await ctx.receive('go');
        ctx.setAttributes({ stage: 'done' });
      });
      await stage.worker(holdfast, [code]);
      const { id, result } = await holdfast.submit(code, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      await holdfast.signal(id, { name: 'go' });
      await result();
      const events = await holdfast.history(id);
      const at = (kind: string) => events.findLast((event) => event.kind === kind);
      const lines = events.filter(({ kind }) => kind === 'progressed');
      // What one transaction writes has one time.
      assert.deepEqual(
        lines.map((line) => line.at),
        [at('parked')?.at, at('completed')?.at],
      );
    },
  },
  {
    name: 'X-132: a checkpoint keeps the attributes, and so does the successor of continueAsNew',
    async run(stage) {
      const holdfast = stage.holdfast();
      const code = ofCode(async (ctx, input) => {
        if (input === 'again') return ctx.attributes;
        if (ctx.restored === undefined) {
          ctx.setAttributes({ stage: 'first', n: 1 });
          await ctx.checkpoint('saved');
        }
        ctx.setAttributes({ stage: 'second' });
        await ctx.receive('go');
        return ctx.continueAsNew('again');
      });
      const worker = await stage.worker(holdfast, [code]);
      const { id } = await holdfast.submit(code, undefined, { key: code.name });
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      await stage.crash(worker);
      await stage.worker(holdfast, [code]);
      await holdfast.signal(id, { name: 'go' });
      assert.deepEqual(await holdfast.result(id), { stage: 'second', n: 1 });
      const newest = await holdfast.read(`key:${code.name}`);
      assert.notEqual(newest?.id, id);
      assert.deepEqual(await foundBy(stage, code.name, 'second'), [newest?.id, id]);
    },
  },
  {
    name: 'X-132, Y-20: the code of a re-drive begins with the attributes before its changes',
    async run(stage) {
      const holdfast = stage.holdfast();
      let calls = 0;
      const code = ofCode(async (ctx) => {
        const before = ctx.attributes;
        ctx.setAttributes({ stage: 'charged' });
        const run = (): number => {
          calls += 1;
          if (calls === 1) throw new Error('down');
          return calls;
        };
        await ctx.step('ship', run, { retry: { attempts: 1 } });
        return [before, ctx.attributes];
      });
      await stage.worker(holdfast, [code]);
      const { id, result } = await holdfast.submit(code, undefined, { attributes: { n: 1 } });
      await assert.rejects(result(), /down/);
      const again = await holdfast.repair.redrive(id);
      const expected = [{ n: 1 }, { n: 1, stage: 'charged' }];
      assert.deepEqual(await holdfast.result(again.id), expected);
    },
  },
  {
    name: 'X-132: wrong attributes are refused before anything changes, and so is a call inside a step',
    async run(stage) {
      const holdfast = stage.holdfast();
      const tooMany = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`n${n}`, n]));
      const code = pipeline({
        name: 'wrong attributes',
        isBug: () => false,
        async run(ctx) {
          const refused: string[] = [];
          const wrong = [
            { a: {} },
            { a: Number.NaN },
            { a: 'x'.repeat(300) },
            { '': 1 },
            tooMany,
            7,
          ];
          for (const each of wrong) {
            try {
              ctx.setAttributes(each as never);
              refused.push(`not refused: ${JSON.stringify(each)}`);
            } catch (error) {
              refused.push((error as Error).name);
            }
          }
          const inside = ctx.step('in', () => ctx.setAttributes({ a: 1 }), {
            retry: { attempts: 1 },
          });
          refused.push(await inside.then(String, (error: Error) => error.message));
          return [refused, ctx.attributes];
        },
      });
      await stage.worker(holdfast, [code]);
      const handle = await holdfast.submit(code, undefined, { attributes: { own: true } });
      const [refused, attributes] = (await handle.result()) as [string[], unknown];
      const inside = refused.pop() ?? '';
      assert.deepEqual(refused, Array(6).fill('InvalidInput'));
      assert.match(inside, /attributes:set#1 was called inside a step/);
      assert.deepEqual(attributes, { own: true });
      assert.deepEqual(await changes(stage, handle.id), []);
    },
  },
];
