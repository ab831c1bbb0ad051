import assert from 'node:assert/strict';
import type { StepFailed } from '../../../src/engine/failures.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { aesCodec } from '../../../src/engine/values/aes-codec.ts';
import type { Failure } from '../../../src/execution/failure.ts';
import type { Behaviour } from '../stage.ts';

export const CODE: readonly Behaviour[] = [
  {
    name: 'time, dice and ids are the same in every replay',
    async run(stage) {
      const seen: string[][] = [];
      const steady = pipeline({
        name: 'steady',
        async run(ctx) {
          await ctx.step('one', () => 1);
          seen.push([ctx.now().toISOString(), String(ctx.random()), ctx.uuid(), ctx.uuid()]);
          await ctx.receive('go');
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [steady]);
      const handle = await holdfast.submit(steady, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      await stage.crash(first);
      await stage.worker(holdfast, [steady]);
      await holdfast.signal(handle.id, { name: 'go' });
      await handle.result();
      assert.equal(seen.length, 2);
      assert.deepEqual(seen[0], seen[1]);
      assert.notEqual(seen[0]?.[2], seen[0]?.[3]);
    },
  },
  {
    name: 'the code reads how its execution was submitted, the same in every replay',
    async run(stage) {
      const seen: unknown[] = [];
      const about = pipeline({
        name: 'about',
        async run(ctx, isChild: boolean) {
          const { attributes, tags, submittedAt, parent } = ctx;
          seen.push([attributes, tags, submittedAt.getTime(), parent]);
          await ctx.receive('go');
          const options = { onParentEnd: 'abandon', attributes: { size: 2 } } as const;
          if (!isChild) await ctx.spawn(about.name, true, options);
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [about]);
      const options = { tags: ['blue'], attributes: { customer: 'ann', size: 1 } };
      const { id, result } = await holdfast.submit(about, false, options);
      const { submittedAt } = await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      await holdfast.signal(id, { name: 'go' });
      await result();
      const [child] = await stage.store.executions.children({ parent: id, limit: 1 });
      await stage.until(holdfast, child?.id ?? '', ({ status }) => status === 'waiting');
      const own = [options.attributes, ['blue'], submittedAt, undefined];
      assert.deepEqual(seen.slice(0, 2), [own, own]);
      const [attributes, tags, , parent] = seen[2] as unknown[];
      assert.deepEqual([attributes, tags, parent], [{ size: 2 }, [], id]);
    },
  },
  {
    name: 'continueAsNew continues in a fresh execution, and result follows it',
    async run(stage) {
      const loop = pipeline({
        name: 'loop',
        async run(ctx, n: number) {
          await ctx.step('tick', () => n);
          if (n < 3) ctx.continueAsNew(n + 1);
          return { id: ctx.id, n };
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [loop]);
      const handle = await holdfast.submit(loop, 1, { key: 'only' });
      const { id, n } = (await handle.result()) as { id: string; n: number };
      assert.equal(n, 3);
      assert.notEqual(id, handle.id);
      assert.equal((await holdfast.read(id))?.lineage, id, 'its steps have keys of their own');
      // The key belongs to the newest execution of the chain.
      const again = await holdfast.submit(loop, 1, { key: 'only' });
      assert.equal(again.existing, true);
      assert.equal(again.id, id);
    },
  },
  {
    name: 'attachments, progress and log lines are stored',
    async run(stage) {
      const documented = pipeline({
        name: 'documented',
        async run(ctx) {
          ctx.log('hello', { n: 1 });
          ctx.progress({ done: 1, of: 2 });
          await ctx.attach('report.txt', 'all is well');
          await ctx.attach('raw', new Uint8Array([1, 2, 3]));
          await ctx.receive('go');
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [documented]);
      const handle = await holdfast.submit(documented, undefined);
      const waiting = await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      assert.equal(waiting.progress, '{"v":{"done":1,"of":2}}');
      const text = await holdfast.attachment(handle.id, 'report.txt');
      assert.equal(Buffer.from(text ?? []).toString(), 'all is well');
      const names = (await holdfast.attachments(handle.id)).map(({ name, type }) => [name, type]);
      assert.deepEqual(names.sort(), [
        ['raw', 'application/octet-stream'],
        ['report.txt', 'text/plain'],
      ]);
      await holdfast.signal(handle.id, { name: 'go' });
      await handle.result();
      const logs = stage.reports.filter(({ kind }) => kind === 'log');
      assert.equal(logs.length, 1, 'a log line is reported once, however often the code runs');
    },
  },
  {
    name: 'log lines are in the history, once, also if the code runs again',
    async run(stage) {
      const logging = pipeline({
        name: 'logging',
        async run(ctx) {
          ctx.log('begun');
          await ctx.step('charge', () => ctx.log('charging', { n: 1 }));
          ctx.log('charged', new Error('odd'));
          await ctx.receive('go');
          ctx.log('gone');
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [logging]);
      const handle = await holdfast.submit(logging, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      await holdfast.signal(handle.id, { name: 'noise' });
      await stage.untilHistory(holdfast, handle.id, (events) => {
        return events.filter(({ kind }) => kind === 'parked').length === 2;
      });
      await holdfast.signal(handle.id, { name: 'go' });
      await handle.result();
      const events = await holdfast.history(handle.id);
      const lines = events.filter(({ kind }) => kind === 'progressed').map(({ body }) => body);
      assert.equal(lines.length, 4);
      assert.equal(lines[0], '{"log":"begun"}');
      assert.equal(lines[1], '{"log":"charging","inside":true,"out":{"v":{"n":1}}}');
      assert.match(lines[2] ?? '', /^\{"log":"charged","out":\{"v":"Error: odd/);
      assert.equal(lines[3], '{"log":"gone"}');
    },
  },
  {
    name: 'X-7, X-53: a log line alone is not written and does not count as progress',
    async run(stage) {
      const stuck = pipeline({
        name: 'stuck',
        async run(ctx) {
          ctx.log('begun');
          ctx.progress(1);
          await ctx.step('hang', () => new Promise<void>(() => undefined));
        },
      });
      const holdfast = stage.holdfast();
      const worker = await stage.worker(holdfast, [stuck]);
      const { id } = await holdfast.submit(stuck, undefined);
      await stage.until(holdfast, id, ({ progress }) => progress !== undefined);
      await stage.crash(worker);
      const kinds = (await holdfast.history(id)).map(({ kind }) => kind);
      assert.deepEqual(kinds, ['submitted', 'claimed']);
    },
  },
  {
    name: 'input and output are checked against their schemas',
    async run(stage) {
      const positive = {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value: unknown) =>
            typeof value === 'number' && value > 0
              ? { value }
              : { issues: [{ message: 'must be positive', path: ['n'] }] },
        },
      } as const;
      const checked = pipeline<number, number>({
        name: 'checked',
        input: positive,
        output: positive,
        run: (_ctx, n) => 10 - n,
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [checked]);
      await assert.rejects(holdfast.submit(checked, -1), {
        message: /input .* n: must be positive/,
      });
      assert.equal(await (await holdfast.submit(checked, 3)).result(), 7);
      const wrong = await holdfast.submit(checked, 30);
      await assert.rejects(wrong.result(), { message: /output .* must be positive/ });
    },
  },
  {
    name: 'a write of the user and the record of its step commit together',
    async run(stage) {
      const moved = pipeline({
        name: 'moved',
        async run(ctx) {
          const failed = await ctx
            .transaction('refused', ((connection: Writer) => {
              write(stage.kind, connection, 'insert into account_test values (99)');
              throw new Error('changed my mind');
            }) as never)
            .catch((error: Error) => error.name);
          await ctx.transaction('booked', ((connection: Writer) =>
            write(stage.kind, connection, 'insert into account_test values (1)')) as never);
          return failed;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [moved, setUp(stage.kind)]);
      await (await holdfast.submit('set up', undefined)).result();
      const handle = await holdfast.submit(moved, undefined);
      assert.equal(await handle.result(), 'StepFailed');
      const counted = await holdfast.submit('set up', 'count');
      assert.deepEqual(await counted.result(), 1);
    },
  },
  {
    name: 'X-23: work that ends its transaction fails its step for good, and harms no other execution',
    async run(stage) {
      const ending = pipeline({
        name: 'ending',
        async run(ctx) {
          const trick =
            stage.kind === 'postgres' ? 'commit' : 'insert or rollback into once values (1)';
          const failure = await ctx
            .transaction('ending', ((connection: Writer) => {
              if (stage.kind === 'postgres') return write(stage.kind, connection, trick);
              write(stage.kind, connection, 'create table once (n integer unique)');
              write(stage.kind, connection, 'insert into once values (1)');
              return write(stage.kind, connection, trick);
            }) as never)
            .catch((error: StepFailed) => error.failure);
          return (failure as Failure).category;
        },
      });
      const plain = pipeline({ name: 'plain', run: (ctx, n: number) => ctx.step('s', () => n) });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [ending, plain]);
      const handles = await Promise.all([
        holdfast.submit(plain, 1),
        holdfast.submit(ending, undefined),
        holdfast.submit(plain, 2),
      ]);
      const results = await Promise.all(handles.map(({ result }) => result()));
      assert.deepEqual(results, [1, 'permanent', 2]);
    },
  },
  {
    name: 'a transaction with a wrong name or without a function is refused before it begins',
    async run(stage) {
      const wrong: readonly (readonly [unknown, unknown, RegExp])[] = [
        ['sql', null, /second argument must be a function; got null/],
        ['sql', 'select 1', /second argument must be a function; got "select 1"/],
        [Symbol('sql'), () => 1, /name of a call must be a string; got Symbol\(sql\)/],
        ['', () => 1, /name of a call must not be empty/],
      ];
      const careless = pipeline<number, unknown>({
        name: 'careless',
        run: (ctx, nth) => ctx.transaction(wrong[nth]?.[0] as string, wrong[nth]?.[1] as never),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [careless]);
      for (const [nth, [, , message]] of wrong.entries()) {
        const handle = await holdfast.submit(careless, nth);
        await stage.until(holdfast, handle.id, ({ holds }) => holds.includes('blocked'));
        const events = await holdfast.history(handle.id);
        assert.deepEqual(
          events.map(({ kind }) => kind),
          ['submitted', 'claimed', 'blocked'],
        );
        assert.match(JSON.parse(events.at(-1)?.body ?? '{}').why, message);
      }
    },
  },
  {
    name: 'every round of continueAsNew has its own idempotency keys, and the same deadline',
    async run(stage) {
      const keys: string[] = [];
      const rounds = pipeline({
        name: 'rounds',
        async run(ctx, n: number) {
          await ctx.step('charge', ({ idempotencyKey }) => {
            keys.push(idempotencyKey);
          });
          keys.push(ctx.uuid());
          if (n < 2) ctx.continueAsNew(n + 1);
          return ctx.id;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [rounds]);
      const handle = await holdfast.submit(rounds, 1, { deadlineMs: 60_000 });
      const last = await holdfast.read(String(await handle.result()));
      assert.equal(new Set(keys).size, 4);
      const first = await holdfast.read(handle.id);
      assert.ok(Math.abs((last?.deadlineAt ?? 0) - (first?.deadlineAt ?? 0)) < 5_000);
    },
  },
  {
    name: 'a synchronous codec works for progress too',
    async run(stage) {
      const codec = aesCodec([{ id: 'k', key: new Uint8Array(32).fill(7) }]);
      const holdfast = stage.holdfast({ codec });
      const progressing = pipeline({
        name: 'progressing',
        async run(ctx) {
          ctx.progress({ done: 1 });
          await ctx.receive('go');
        },
      });
      await stage.worker(holdfast, [progressing]);
      const handle = await holdfast.submit(progressing, undefined);
      const { progress } = await stage.until(
        holdfast,
        handle.id,
        (each) => each.progress !== undefined,
      );
      assert.deepEqual(await holdfast.decode(progress ?? ''), { done: 1 });
    },
  },
  {
    name: 'impossible arguments are refused before anything is written',
    async run(stage) {
      const holdfast = stage.holdfast();
      await assert.rejects(holdfast.result('01a1df57-e388-7033-a4ed-a184680e3465'), {
        code: 'execution-unknown',
      });
      assert.throws(
        () => pipeline({ name: 'x', retry: { attempts: 0 }, run: () => 1 }),
        /attempts/,
      );
      await assert.rejects(holdfast.list({ status: 'done' as never }), /status must be one of/);
      await assert.rejects(
        holdfast.list({ attribute: { name: 'n', min: 'a' as never } }),
        /attribute\.min must be a finite number/,
      );
      await assert.rejects(
        holdfast.submit('x', 1, { lane: 'fast' as never }),
        /lane must be one of/,
      );
      const options = { concurency: { key: 'k', limit: 1 } } as never;
      await assert.rejects(holdfast.submit('x', 1, options), /Did you mean "concurrency"/);
    },
  },
  {
    name: 'a schema that changes its values is applied once',
    async run(stage) {
      const toNumber = {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value: unknown) =>
            typeof value === 'string'
              ? { value: Number(value) }
              : { issues: [{ message: 'expected text' }] },
        },
      } as const;
      const doubled = pipeline<number, number>({
        name: 'doubled',
        input: toNumber,
        run: (_ctx, n) => n * 2,
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [doubled]);
      assert.equal(await (await holdfast.submit(doubled, '21' as never)).result(), 42);
    },
  },
  {
    name: 'an observer that throws later, and an object that pipeline() did not create, stop nothing',
    async run(stage) {
      const observer = { report: () => Promise.reject(new Error('not now')) as never };
      const holdfast = stage.holdfast({ observer });
      const plain = pipeline({ name: 'plain', run: (ctx) => ctx.step('s', () => 1) });
      await stage.worker(holdfast, [plain]);
      assert.equal(await (await holdfast.submit(plain, undefined)).result(), 1);
      const raw = { name: 'raw', run: () => 1 } as never;
      await assert.rejects(stage.worker(holdfast, [raw]), /the result of pipeline/);
    },
  },
];

/** Both connections can do this, each in its own way. */
type Writer = {
  prepare(sql: string): { run(): unknown; get(): unknown };
  query(sql: string): Promise<{ rows: readonly { n: number }[] }>;
};

function write(kind: string, connection: Writer, sql: string): unknown {
  if (kind === 'postgres') return connection.query(sql).then(() => null);
  connection.prepare(sql).run();
  return null;
}

function setUp(kind: string) {
  return pipeline<unknown, unknown>({
    name: 'set up',
    run: (ctx, what) =>
      ctx.transaction('sql', ((connection: Writer) => {
        if (what !== 'count')
          return write(kind, connection, 'create table account_test (n integer)');
        const sql = 'select count(*) as n from account_test';
        return kind === 'postgres'
          ? connection.query(sql).then(({ rows }) => Number(rows[0]?.n))
          : (connection.prepare(sql).get() as { n: number }).n;
      }) as never),
  });
}
