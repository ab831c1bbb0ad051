import assert from 'node:assert/strict';
import { StepError } from '../../../src/engine/failures.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Behaviour } from '../stage.ts';

/** Doubles, then adds one, unless that step is broken. */
function adder(log: string[], isBroken: () => boolean) {
  return pipeline<number, number>({
    name: 'adder',
    async run(ctx, input) {
      const doubled = await ctx.step('double', ({ idempotencyKey }) => {
        log.push(idempotencyKey);
        return input * 2;
      });
      return ctx.step(
        'add',
        ({ idempotencyKey }) => {
          log.push(idempotencyKey);
          if (isBroken()) throw new Error('down');
          return doubled + 1;
        },
        { retry: { attempts: 2, initialMs: 1 } },
      );
    },
  });
}

/** Three pages, each followed by a checkpoint; the third is broken. */
function pager(log: string[], isBroken: () => boolean) {
  return pipeline<undefined, number>({
    name: 'pager',
    async run(ctx) {
      let page = (ctx.restored as { readonly page: number } | undefined)?.page ?? 1;
      for (; page <= 3; page += 1) {
        const read = ({ idempotencyKey }: { readonly idempotencyKey: string }): void => {
          log.push(`${page} ${idempotencyKey}`);
          if (page === 3 && isBroken()) throw new Error('down');
        };
        await ctx.step('page', read, { retry: { attempts: 2, initialMs: 1 } });
        await ctx.checkpoint({ page: page + 1 });
      }
      return page;
    },
  });
}

export const REPAIRING: readonly Behaviour[] = [
  {
    name: 'Y-20, Y-25: a re-drive continues after the last checkpoint, whatever the names of earlier calls',
    async run(stage) {
      const log: string[] = [];
      let isBroken = true;
      const failing = pager(log, () => isBroken);
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [failing]);
      const handle = await holdfast.submit(failing, undefined);
      await assert.rejects(handle.result(), { status: 'failed' });
      const third = `3 ${handle.id}/2/step:page#1`;
      assert.deepEqual(log.splice(0).slice(2), [third, third]);
      const again = await holdfast.repair.redrive(handle.id);
      await assert.rejects(holdfast.result(again.id), { status: 'failed' });
      assert.deepEqual(log.splice(0), [third, third]);
      isBroken = false;
      const named = await holdfast.repair.redrive(again.id, { from: 'page' });
      assert.equal(await holdfast.result(named.id), 4);
      assert.deepEqual(log, [third]);
    },
  },
  {
    name: 'Y-10: a failed execution leaves a dead letter with its step, reason and attempts',
    async run(stage) {
      const failing = adder([], () => true);
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [failing]);
      const handle = await holdfast.submit(failing, 4);
      await assert.rejects(handle.result(), { status: 'failed' });
      const { items } = await holdfast.repair.deadLetters({ pipeline: 'adder' });
      const { at, ...letter } = items[0] ?? { at: 0 };
      assert.ok(at > 0);
      assert.deepEqual(letter, {
        execution: handle.id,
        project: 'default',
        pipeline: 'adder',
        status: 'failed',
        category: 'retryable',
        code: 'Error',
        reason: 'down',
        step: 'step:add#1',
        attempts: 2,
      });
      const [group] = await holdfast.repair.deadLetterGroups();
      assert.deepEqual([group?.pipeline, group?.step, group?.count], ['adder', 'step:add#1', 1]);
    },
  },
  {
    name: 'Y-20: a re-drive reuses finished steps, with the same idempotency keys and fresh budgets',
    async run(stage) {
      const log: string[] = [];
      let isBroken = true;
      const failing = adder(log, () => isBroken);
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [failing]);
      const handle = await holdfast.submit(failing, 4);
      await assert.rejects(handle.result(), { status: 'failed' });
      const before = [...log];
      isBroken = false;
      const again = await holdfast.repair.redrive(handle.id, {
        actor: 'olga',
        reason: 'is up again',
      });
      assert.equal(await holdfast.result(again.id), 9);
      assert.deepEqual(log.slice(before.length), [before[1]]);
      const record = await holdfast.read(again.id);
      assert.equal(record?.redriveOf, handle.id);
      const [submitted] = await holdfast.history(again.id, { limit: 1 });
      assert.deepEqual(JSON.parse(submitted?.body ?? ''), {
        redriveOf: handle.id,
        by: 'olga',
        reason: 'is up again',
      });
      const old = await holdfast.read(handle.id);
      assert.equal(old?.status, 'failed');
    },
  },
  {
    name: 'Y-26: a re-drive with an edited input keeps the results before its start, and records the edit',
    async run(stage) {
      const log: string[] = [];
      let isBroken = true;
      const failing = pipeline<{ readonly a: number; readonly at: Date }, string>({
        name: 'editable',
        async run(ctx, { a, at }) {
          const first = await ctx.step('first', ({ idempotencyKey }) => {
            log.push(idempotencyKey);
            return `first ${a}`;
          });
          return ctx.step('second', ({ idempotencyKey }) => {
            log.push(idempotencyKey);
            if (isBroken) throw new StepError('down', { category: 'permanent' });
            return `${first}, second ${a} ${at.getUTCFullYear()}`;
          });
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [failing]);
      await holdfast.templates.put({
        id: 'ones',
        version: 1,
        pipeline: failing,
        defaults: { a: 1 },
      });
      const handle = await holdfast.submit({ template: 'ones' }, { at: new Date(0) });
      await assert.rejects(holdfast.result(handle.id), { status: 'failed' });
      isBroken = false;
      const edited = { a: 2, at: new Date('2026-01-01') };
      const who = { actor: 'olga', reason: 'wrong amount' };
      const kept = await holdfast.repair.redrive(handle.id, { input: edited, ...who });
      assert.equal(await holdfast.result(kept.id), 'first 1, second 2 2026');
      assert.deepEqual(log.splice(0), [
        `${handle.id}/0/step:first#1`,
        ...[`${handle.id}/0/step:second#1`, `${handle.id}/0/step:second#1`],
      ]);
      const all = await holdfast.repair.redrive(kept.id, { from: 'first', input: edited });
      assert.equal(await holdfast.result(all.id), 'first 2, second 2 2026');
      const same = await holdfast.repair.redrive(all.id, { from: 'second' });
      assert.equal(await holdfast.result(same.id), 'first 2, second 2 2026');
      const [submitted] = await holdfast.history(kept.id, { limit: 1 });
      assert.deepEqual(JSON.parse(submitted?.body ?? ''), {
        ...{ redriveOf: handle.id, by: 'olga', reason: 'wrong amount', inputEdited: true },
      });
      const [unedited] = await holdfast.history(same.id, { limit: 1 });
      assert.equal(JSON.parse(unedited?.body ?? '').inputEdited, undefined);
      const target = { kind: 'execution', id: handle.id } as const;
      const [record] = (await holdfast.audit.list({ target })).items;
      assert.deepEqual([record?.actor, record?.after?.['inputEdited']], ['olga', true]);
      const templates = [handle.id, kept.id].map(async (id) => (await holdfast.read(id))?.template);
      assert.deepEqual(await Promise.all(templates), [{ id: 'ones', version: 1 }, undefined]);
    },
  },
  {
    name: 'Y-26: an input that leads to other calls before the start blocks the execution and does none of them',
    async run(stage) {
      const log: string[] = [];
      const branching = pipeline<string, string>({
        name: 'branching',
        async run(ctx, way) {
          await ctx.step(way, () => void log.push(way));
          return ctx.step('end', () => {
            log.push('end');
            if (log.length === 2) throw new StepError('down', { category: 'permanent' });
            return way;
          });
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [branching]);
      const handle = await holdfast.submit(branching, 'left');
      await assert.rejects(handle.result(), { status: 'failed' });
      const turned = await holdfast.repair.redrive(handle.id, { input: 'right' });
      await stage.until(holdfast, turned.id, ({ holds }) => holds.includes('blocked'));
      assert.deepEqual(log, ['left', 'end']);
      await holdfast.cancel(turned.id);
      const again = await holdfast.repair.redrive(handle.id, { input: 'right', from: 'left' });
      assert.equal(await holdfast.result(again.id), 'right');
      assert.deepEqual(log, ['left', 'end', 'right', 'end']);
    },
  },
  {
    name: 'Y-26: the input of a compensation or of a bulk job cannot be edited',
    async run(stage) {
      const holdfast = stage.holdfast();
      const failing = adder([], () => true);
      await stage.worker(holdfast, [failing]);
      const handle = await holdfast.submit(failing, 4);
      await assert.rejects(handle.result(), { status: 'failed' });
      await assert.rejects(
        holdfast.repair.redrive(handle.id, { mode: 'compensate', input: 5 }),
        /input cannot be edited with mode "compensate"/,
      );
      const job = await holdfast.bulk.cancel({ filter: { pipeline: 'none' } });
      await job.result();
      await assert.rejects(
        holdfast.repair.redrive(job.id, { input: { filter: {} }, from: 'page' }),
        { code: 'redrive-impossible', message: /belongs to the engine/ },
      );
    },
  },
  {
    name: 'Y-20, Y-24: a re-drive from a chosen step repeats that step and the later ones',
    async run(stage) {
      const log: string[] = [];
      let isBroken = true;
      const failing = adder(log, () => isBroken);
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [failing]);
      const handle = await holdfast.submit(failing, 4);
      await assert.rejects(handle.result(), { status: 'failed' });
      isBroken = false;
      log.length = 0;
      const again = await holdfast.repair.redrive(handle.id, { from: 'double' });
      assert.equal(await holdfast.result(again.id), 9);
      assert.equal(log.length, 2);
      await assert.rejects(
        holdfast.repair.redrive(again.id),
        /It completed, so there is nothing to do again/,
      );
      const third = await holdfast.repair.redrive(again.id, { from: 'add' });
      assert.equal(await holdfast.result(third.id), 9);
      await assert.rejects(holdfast.repair.redrive(handle.id, { from: 'nothing' }), {
        name: 'RedriveImpossible',
      });
    },
  },
  {
    name: 'Y-21: an execution has one open re-drive at a time, and needs to have ended',
    async run(stage) {
      const failing = pipeline<undefined, unknown>({
        name: 'failing',
        async run(ctx) {
          const { n } = await ctx.receive<{ n: number }>('go');
          if (n === 1) throw new Error('no');
          return n;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [failing]);
      const handle = await holdfast.submit(failing, undefined);
      await assert.rejects(holdfast.repair.redrive(handle.id), {
        name: 'OperationRefused',
        code: 'not-ended',
      });
      await holdfast.signal(handle.id, { name: 'go', value: { n: 1 } });
      await assert.rejects(handle.result(), { status: 'failed' });
      const again = await holdfast.repair.redrive(handle.id, { from: 'go' });
      await assert.rejects(holdfast.repair.redrive(handle.id), { code: 'redrive-open' });
      await holdfast.signal(again.id, { name: 'go', value: { n: 2 } });
      assert.equal(await holdfast.result(again.id), 2);
      await assert.rejects(holdfast.repair.redrive('00000000-0000-7000-8000-000000000000'), {
        code: 'execution-unknown',
      });
    },
  },
  {
    name: 'a bulk re-drive is a job with a dry run, an outcome per item and counts; its key makes it repeatable',
    async run(stage) {
      let isBroken = true;
      const failing = adder([], () => isBroken);
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [failing]);
      const handles = await Promise.all(
        Array.from({ length: 250 }, (_, n) => holdfast.submit(failing, n)),
      );
      await Promise.all(handles.map((handle) => assert.rejects(handle.result())));
      isBroken = false;
      const filter = { pipeline: 'adder', open: true };
      const dry = await holdfast.bulk.redrive({ filter, dryRun: true });
      assert.deepEqual(await dry.result(), { seen: 250, outcomes: { 'would-submit': 250 } });
      const job = await holdfast.bulk.redrive({ filter, actor: 'olga', key: 'tuesday' });
      assert.deepEqual(await job.result(), { seen: 250, outcomes: { submitted: 250 } });
      const same = await holdfast.bulk.redrive({ filter, actor: 'olga', key: 'tuesday' });
      assert.equal(same.id, job.id);
      const items = await holdfast.bulk.items(job.id);
      const targets = handles.map(({ id }) => id).sort();
      assert.deepEqual(
        items.map(({ target }) => target),
        targets,
      );
      const outputs = await Promise.all(items.map(({ made }) => holdfast.result(made as string)));
      assert.deepEqual(
        outputs.toSorted((a, b) => Number(a) - Number(b)),
        handles.map((_, n) => n * 2 + 1),
      );
      assert.deepEqual((await holdfast.repair.deadLetters({ open: true })).items, []);
    },
  },
  {
    name: 'a bulk cancel is a job too',
    async run(stage) {
      const waiting = pipeline({ name: 'waiting', run: (ctx) => ctx.receive('never') });
      const holdfast = stage.holdfast();
      const handles = await Promise.all(
        Array.from({ length: 30 }, () => holdfast.submit(waiting, undefined)),
      );
      const other = await holdfast.submit('another', undefined);
      await stage.worker(holdfast, [waiting]);
      const job = await holdfast.bulk.cancel({ filter: { pipeline: 'waiting' }, actor: 'olga' });
      const { seen } = await job.result();
      assert.equal(seen, 30);
      for (const handle of handles) {
        await assert.rejects(handle.result(), { status: 'cancelled' });
      }
      assert.equal((await holdfast.read(other.id))?.status, 'queued');
    },
  },
  {
    name: 'a bulk job takes only items that its dry run could count',
    async run(stage) {
      const lateOf = (name: string) =>
        pipeline({
          name,
          async run(ctx) {
            await ctx.receive('go');
            throw new StepError('down', { category: 'permanent' });
          },
        });
      const [one, two, three] = [lateOf('one'), lateOf('two'), lateOf('three')];
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [one, two, three]);
      const fail = async (id: string): Promise<void> => {
        await holdfast.signal(id, { name: 'go', value: true });
        await assert.rejects(holdfast.result(id), { status: 'failed' });
      };
      const targetsOf = async (job: { readonly id: string }): Promise<readonly string[]> =>
        (await holdfast.bulk.items(job.id)).map(({ target }) => target);
      const redrives = [
        [one, { pipeline: 'one', open: true }],
        [two, { pipeline: 'two', status: 'failed', redriven: false }],
      ] as const;
      for (const [late, filter] of redrives) {
        const { id: counted } = await holdfast.submit(late, undefined);
        const { id: endsLater } = await holdfast.submit(late, undefined);
        await fail(counted);
        const dry = await holdfast.bulk.redrive({ filter, dryRun: true });
        assert.equal((await dry.result()).seen, 1);
        await fail(endsLater);
        await fail((await holdfast.submit(late, undefined)).id);
        const job = await holdfast.bulk.redrive({ filter, countedBy: dry.id });
        await job.result();
        assert.deepEqual(await targetsOf(job), [counted]);
      }
      const filter = { pipeline: 'three' };
      const { id: counted } = await holdfast.submit(three, undefined);
      const dry = await holdfast.bulk.cancel({ filter, dryRun: true });
      assert.equal((await dry.result()).seen, 1);
      const later = await holdfast.submit(three, undefined);
      const job = await holdfast.bulk.cancel({ filter, countedBy: dry.id });
      await job.result();
      assert.deepEqual(await targetsOf(job), [counted]);
      const unknown = holdfast.bulk.cancel({ filter, countedBy: later.id });
      await assert.rejects(unknown, { code: 'execution-unknown' });
    },
  },
];
