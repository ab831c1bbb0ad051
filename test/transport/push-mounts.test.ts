// Handlers mounted in web frameworks: the test mounts the guide's code, and a coordinator calls it.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { kindsOf } from '../../contract/execution/worker.ts';
import { pipeline } from '../../src/index.ts';
import { pushHandler } from '../../src/worker/push-handler.ts';
import { until } from '../server/coordinator.ts';
import { MOUNTS } from './push-mounts.ts';
import { onEndpoint, SIGNING } from './push-stand.ts';

const PARTS = 30;
const PART = 'x'.repeat(60_000);

const three = pipeline({
  name: 'three',
  async run(ctx, n: number) {
    const one = await ctx.step('one', () => n + 1);
    const two = await ctx.step('two', () => one * 2);
    return ctx.step('three', () => two + 1);
  },
});

/** Its second call has 2 MiB of history, more than frameworks accept by default. */
const long = pipeline({
  name: 'long',
  async run(ctx) {
    let size = 0;
    for (let n = 0; n < PARTS; n += 1) size += (await ctx.step(`part ${n}`, () => PART)).length;
    return `${size} ${await ctx.receive<string>('go')}`;
  },
});

const THREE = ['submitted', 'claimed', ...Array(3).fill('step-completed'), 'completed'];
const handler = {
  at: (audience: string) => pushHandler({ pipelines: [three, long], signing: SIGNING, audience }),
};
const pipelines = ['three', 'long'];

for (const [name, mount] of Object.entries(MOUNTS)) {
  test(`M-12, M-15: a handler in ${name} gets its executions, and their steps are recorded`, async () => {
    await onEndpoint({ handler, mount, pipelines }, async ({ store, holdfast }) => {
      const handles = await Promise.all([1, 2, 3].map((n) => holdfast.submit(three, n)));
      assert.deepEqual(await Promise.all(handles.map((each) => each.result())), [5, 7, 9]);
      for (const { id } of handles) assert.deepEqual(await kindsOf(store, id), THREE);
    });
  });

  test(`M-12, M-15: a handler in ${name} is called again with a history of more than a mebibyte`, async () => {
    await onEndpoint({ handler, mount, pipelines }, async ({ store, holdfast }) => {
      const handle = await holdfast.submit(long, undefined);
      await until(async () =>
        (await holdfast.read(handle.id))?.status === 'waiting' ? true : undefined,
      );
      await holdfast.signal(handle.id, { name: 'go', value: 'gone' });
      assert.equal(await handle.result(), `${PARTS * PART.length} gone`);
      const claims = (await kindsOf(store, handle.id)).filter((kind) => kind === 'claimed');
      assert.equal(claims.length, 2);
    });
  });
}

test('M-15: a handler without an audience is refused, and a wrong one is named in the answer', async () => {
  const given = { pipelines: [three], signing: SIGNING };
  assert.throws(() => pushHandler(given as never), /audience is required: pass the URL/);
  const other = pushHandler({ ...given, audience: 'https://other.example/holdfast' });
  const answers: string[] = [];
  const kept = async (request: Request): Promise<Response> => {
    const answer = await other(request);
    answers.push(await answer.clone().text());
    return answer;
  };
  await onEndpoint({ handler: kept, pipelines }, async () => {
    const reply = await until(async () => answers[0]);
    assert.match(reply, /this endpoint is https:\/\/other\.example\/holdfast/);
  });
});

test('the guide’s example for Express and Fastify is mounted here', async () => {
  const guide = await readFile(
    new URL('../../docs/guides/push-endpoints.md', import.meta.url),
    'utf8',
  );
  const mounts = linesOf(await readFile(new URL('./push-mounts.ts', import.meta.url), 'utf8'));
  const shown = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)]
    .map(([, code = '']) => code)
    .find((code) => code.includes("from 'express'"));
  assert.ok(shown !== undefined, 'the guide has lost its example');
  for (const begin of ['const called', 'const app', 'const other']) {
    const block = linesOf(shown.slice(shown.indexOf(begin)).split('\n\n')[0] ?? '');
    assert.ok(mounts.includes(block), `The guide shows what is not mounted here:\n${block}`);
  }
});

function linesOf(code: string): string {
  return code
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .trim();
}
