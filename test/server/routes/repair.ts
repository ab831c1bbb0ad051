import assert from 'node:assert/strict';
import { Holdfast, pipeline, type Schema } from '../../../src/index.ts';
import { nameIn, refusedWith, type TestCoordinator, until } from '../coordinator.ts';
import type { Case } from './case.ts';

const fails = pipeline({
  name: 'fails',
  retry: { attempts: 1 },
  async run(ctx) {
    await ctx.step('first', () => 1);
    await ctx.step('second', () => {
      throw Object.assign(new Error('as asked'), { code: 'as-asked' });
    });
  },
});

async function failed(coordinator: TestCoordinator, many: number): Promise<readonly string[]> {
  await coordinator.worker([fails]);
  const client = await coordinator.client(['submit'], 'default');
  const submitted = await Promise.all(
    Array.from({ length: many }, () => client.executions.submit({ pipeline: 'fails' })),
  );
  const ids = submitted.map(({ id }) => id);
  for (const id of ids) assert.equal((await client.executions.result(id)).status, 'failed');
  return ids;
}

const letters: Case = {
  name: 'dead letters are listed, grouped and read, by their own project only',
  async run(coordinator) {
    const ids = await failed(coordinator, 3);
    const client = await coordinator.client(['operate'], 'default');
    const { items } = await client.deadLetters.list();
    assert.deepEqual(items.map((each) => each.execution).sort(), [...ids].sort());
    const first = await client.deadLetters.list({ limit: 2, code: 'as-asked' });
    const rest = await client.deadLetters.list({ limit: 2, cursor: first.cursor ?? '' });
    assert.deepEqual([first.items.length, rest.items.length, rest.cursor], [2, 1, undefined]);
    const [group] = await client.deadLetters.groups();
    assert.deepEqual([group?.code, group?.count, group?.pipeline], ['as-asked', 3, 'fails']);
    const [id = ''] = ids;
    assert.equal((await client.deadLetters.read(id)).reason, 'as asked');
    const other = await coordinator.client(['operate'], 'other');
    await assert.rejects(other.deadLetters.read(id), refusedWith('not-found', 404));
    assert.deepEqual((await other.deadLetters.list()).items, []);
    assert.deepEqual(await other.deadLetters.groups(), []);
  },
};

const redriven: Case = {
  name: 'an execution is re-driven, with actor and reason',
  async run(coordinator) {
    const [id = ''] = await failed(coordinator, 1);
    const client = await coordinator.client(['operate'], 'default');
    const made = await client.executions.redrive(id, { reason: 'fixed' });
    assert.equal((await client.executions.result(made.id)).status, 'failed');
    assert.equal((await client.executions.read(made.id)).redriveOf, id);
    const [submitted] = await client.executions.history(made.id, { limit: 1 });
    const { by, ...rest } = (submitted?.body ?? {}) as { readonly by?: string };
    assert.deepEqual(rest, { redriveOf: id, reason: 'fixed' });
    assert.equal(nameIn(by), 'operate of default');
    await assert.rejects(
      client.executions.redrive(id, { from: 'nothing' }),
      refusedWith('redrive-impossible', 409),
    );
    const other = await coordinator.client(['operate'], 'other');
    await assert.rejects(other.executions.redrive(id), refusedWith('execution-unknown', 404));
  },
};

const edited: Case = {
  name: 'a re-drive takes an edited input from a key that may submit, with its types',
  async run(coordinator) {
    const dated = pipeline({
      name: 'dated',
      async run(ctx, { at, fails: isFailing }: { readonly at: Date; readonly fails: boolean }) {
        const first = await ctx.step('first', () => at.getUTCFullYear());
        if (isFailing) throw Object.assign(new Error('as asked'), { code: 'as-asked' });
        return [first, at.getUTCFullYear()];
      },
    });
    await coordinator.worker([dated]);
    const client = await coordinator.client(['operate', 'submit'], 'default');
    const old = { at: new Date('2020-01-01'), fails: true };
    const { id } = await client.executions.submit({ pipeline: 'dated', input: old });
    assert.equal((await client.executions.result(id)).status, 'failed');
    const input = { at: new Date('2026-01-01'), fails: false };
    const operator = await coordinator.client(['operate'], 'default');
    await assert.rejects(
      operator.executions.redrive(id, { input }),
      refusedWith('role-missing', 403),
    );
    await assert.rejects(
      client.executions.redrive(id, { input, mode: 'compensate' }),
      refusedWith('invalid-input', 400),
    );
    const made = await client.executions.redrive(id, { input });
    assert.deepEqual((await client.executions.result(made.id)).output, [2020, 2026]);
    const [submitted] = await client.executions.history(made.id, { limit: 1 });
    assert.equal(Object(submitted?.body).inputEdited, true);
  },
};

/** Like a schema of a library: it validates, and it has a JSON Schema. */
const PARCEL: Schema<{ readonly to: string; readonly fails?: boolean }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof Object(value).to === 'string'
        ? { value: value as { readonly to: string } }
        : { issues: [{ message: 'must be text', path: ['to'] }] },
    ...{
      jsonSchema: {
        input: () => ({
          type: 'object',
          properties: { to: { type: 'string' }, fails: { type: 'boolean' } },
          required: ['to'],
        }),
      },
    },
  },
};

const refusedInput: Case = {
  name: 'an input that the contract of its release refuses is not written, by a submit or a re-drive',
  async run(coordinator) {
    const parcel = pipeline({
      name: 'parcel',
      input: PARCEL,
      retry: { attempts: 1 },
      run: (ctx, { to, fails: isFailing }) =>
        ctx.step('send', () => {
          if (isFailing === true) throw Object.assign(new Error('as asked'), { code: 'as-asked' });
          return to;
        }),
    });
    const client = await coordinator.client(['operate', 'submit'], 'default');
    const { executions } = client;
    const holdfast = new Holdfast({ store: coordinator.store });
    const release = { artifact: 'parcel:1', digest: 'sha256:01' };
    await holdfast.releases.register({ pipeline: parcel, name: 'v1', ...release });
    await coordinator.worker([parcel], { release: { name: 'v1', digest: release.digest } });
    // Without an active release no contract decides. It fails on the worker, and the advice is about the input.
    const unpinned = await holdfast.submit('parcel', { town: 'east' });
    const { status, failure } = await executions.result(unpinned.id);
    assert.deepEqual([status, failure?.code], ['failed', 'input-refused']);
    const { advice = '' } = await executions.explain(unpinned.id);
    assert.match(advice, /^Re-drive it with an input that its code accepts: .* --input <json>/);
    await holdfast.releases.activate('parcel', 'v1');
    const input = { to: 'east', fails: true };
    const { id } = await executions.submit({ pipeline: 'parcel', input, key: 'parcel/1' });
    assert.equal((await executions.result(id)).status, 'failed');
    const before = (await executions.list({ pipeline: 'parcel' })).items.length;
    for (const [wrong, why] of [
      [{ town: 'east' }, /"to" is required/],
      [{ to: 17 }, /"to" must be string; got number 17/],
      ['east', /it must be object; got "east"/],
    ] as const) {
      const refused = (error: Error): boolean =>
        refusedWith('invalid-input', 400)(error) &&
        why.test(error.message) &&
        /in release "v1".*Nothing was written\./.test(error.message);
      await assert.rejects(executions.submit({ pipeline: 'parcel', input: wrong }), refused);
      await assert.rejects(executions.redrive(id, { input: wrong }), refused);
    }
    assert.equal((await executions.list({ pipeline: 'parcel' })).items.length, before);
    assert.equal((await client.deadLetters.read(id)).redrivenBy, undefined);
    // The same submit finds its execution, also if a contract refuses it since.
    const other = pipeline({ name: 'parcel', input: { ...PARCEL, ...narrower }, run: () => 1 });
    const next = { artifact: 'parcel:2', digest: 'sha256:02' };
    await holdfast.releases.register({ pipeline: other, name: 'v2', ...next });
    await holdfast.releases.activate('parcel', 'v2', { force: true, reason: 'a test' });
    const again = await executions.submit({ pipeline: 'parcel', input, key: 'parcel/1' });
    assert.deepEqual([again.id, again.existing], [id, true]);
    const made = await executions.redrive(id, { input: { to: 'west' }, release: 'v1' });
    assert.equal((await executions.result(made.id)).output, 'west');
    // The first execution keeps the key, and the re-drive names it.
    const { key, lineageKey } = await executions.read(made.id);
    assert.deepEqual([key, lineageKey], [undefined, 'parcel/1']);
    const listed = (await executions.list({ pipeline: 'parcel' })).items;
    assert.equal(listed.find((each) => each.id === made.id)?.lineageKey, 'parcel/1');
    await holdfast.close();
  },
};

const narrower = {
  '~standard': {
    ...PARCEL['~standard'],
    jsonSchema: { input: () => ({ type: 'object', required: ['weight'] }) },
  },
};

const undone: Case = {
  name: 'a compensation that fails is tried again at once, or skipped with a reason',
  async run(coordinator) {
    let isBroken = true;
    const saga = pipeline({
      name: 'saga',
      retry: { attempts: 1 },
      async run(ctx) {
        const retry = { attempts: 100, initialMs: 3_600_000, maxMs: 3_600_000 };
        const undo = (): void => {
          if (isBroken) throw new Error('not yet');
        };
        await ctx.step('one', () => 1, { compensate: { run: undo, retry } });
        await ctx.step('two', () => 2, {
          compensate: {
            retry,
            run: () => {
              throw new Error('never');
            },
          },
        });
        throw new Error('back');
      },
    });
    await coordinator.worker([saga]);
    const client = await coordinator.client(['operate', 'submit'], 'default');
    const { id } = await client.executions.submit({ pipeline: 'saga' });
    const isWaiting = async (step: string): Promise<true | undefined> => {
      const events = await client.executions.history(id);
      return events.some(({ kind, body }) => {
        return kind.includes('fail') && JSON.stringify(body).includes(step) ? true : undefined;
      })
        ? true
        : undefined;
    };
    await until(() => isWaiting('two'));
    await client.executions.skipCompensation(id, { step: 'two', reason: 'cannot be' });
    await until(() => isWaiting('one'));
    isBroken = false;
    await client.executions.retryCompensation(id, { step: 'one' });
    const { status } = await client.executions.result(id);
    assert.equal(status, 'compensated');
    await assert.rejects(
      client.executions.skipCompensation(id, { step: 'two', reason: '' }),
      refusedWith('invalid-input', 400),
    );
  },
};

const jobs: Case = {
  name: 'a job re-drives many executions, with counts and an outcome for each',
  async run(coordinator) {
    const ids = await failed(coordinator, 5);
    const client = await coordinator.client(['operate', 'submit'], 'default');
    const dry = await client.jobs.redrive({ dryRun: true, filter: { code: 'as-asked' } });
    await client.executions.result(dry.id);
    const would = await client.jobs.read(dry.id);
    assert.deepEqual([would.dryRun, would.seen, would.outcomes], [true, 5, { 'would-submit': 5 }]);
    assert.equal((await client.deadLetters.list()).items.length, 5);
    assert.deepEqual([would.filter, would.expected], [{ code: 'as-asked' }, undefined]);
    const all = {
      ...{ status: 'queued' as const, where: ['total>=17', 'region="eu"'], topLevel: true },
      submittedFrom: '2026-11-17T09:00:00.000Z',
    };
    const none = await client.jobs.cancel({ filter: all, countedBy: dry.id });
    const { filter, expected } = await client.jobs.read(none.id);
    assert.deepEqual([filter, expected], [{ ...all, status: ['queued'] }, 5]);
    await client.executions.result(none.id);
    const { id } = await client.jobs.redrive({ reason: 'fixed', key: 'job' });
    assert.equal((await client.jobs.redrive({ reason: 'fixed', key: 'job' })).id, id);
    await client.executions.result(id);
    const job = await client.jobs.read(id);
    assert.deepEqual(
      [job.action, nameIn(job.actor), job.reason],
      ['redrive', 'operate+submit of default', 'fixed'],
    );
    assert.deepEqual([job.status, job.seen, job.outcomes], ['completed', 5, { submitted: 5 }]);
    const first = await client.jobs.items(id, { limit: 3 });
    const rest = await client.jobs.items(id, { limit: 3, cursor: first.cursor ?? '' });
    const targets = [...first.items, ...rest.items].map((each) => each.target);
    assert.deepEqual(targets.sort(), [...ids].sort());
    assert.equal((await client.jobs.list()).items.length, 3);
    await assert.rejects(client.jobs.stop(id), refusedWith('already-ended', 409));
    const other = await coordinator.client(['operate'], 'other');
    await assert.rejects(other.jobs.read(id), refusedWith('execution-unknown', 404));
    await assert.rejects(client.jobs.read(ids[0] ?? ''), refusedWith('not-found', 404));
  },
};

const cancels: Case = {
  name: 'a job is paused, resumed and stopped, and cancels executions of its own project only',
  async run(coordinator) {
    const client = await coordinator.client(['operate', 'submit'], 'default');
    const other = await coordinator.client(['submit'], 'other');
    const theirs = await other.executions.submit({ pipeline: 'nobody' });
    const ours = await client.executions.submit({ pipeline: 'nobody' });
    const { id } = await client.jobs.cancel({ filter: { pipeline: 'nobody' } });
    await client.executions.result(id);
    assert.equal((await client.executions.read(ours.id)).status, 'cancelled');
    assert.equal((await other.executions.read(theirs.id)).status, 'queued');
    await assert.rejects(
      client.jobs.cancel({ filter: { tag: 'a\0b' } }),
      refusedWith('invalid-input', 400),
    );
    for (let nth = 0; nth < 20; nth += 1) await client.executions.submit({ pipeline: 'nobody' });
    const slow = await client.jobs.cancel({ filter: { pipeline: 'nobody' }, perSecond: 1 });
    await client.jobs.pause(slow.id, 'look first');
    await until(async () => ((await client.jobs.read(slow.id)).paused ? true : undefined));
    await client.jobs.resume(slow.id);
    await client.jobs.stop(slow.id, 'enough');
    await client.executions.result(slow.id);
    assert.equal((await client.jobs.read(slow.id)).status, 'cancelled');
  },
};

export const repairCases: readonly Case[] = [
  ...[letters, redriven, edited, refusedInput, undone, jobs, cancels],
];
