// holdfast dev <module>: saving the file is enough.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runModule } from '../../src/cli/dev-module.ts';
import { HoldfastClient } from '../../src/client/client.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { until } from '../server/coordinator.ts';
import { holdfast, type Spawned, startHoldfast } from './spawned.ts';

const INDEX = join(import.meta.dirname, '../../src/index.ts');

let folder = '';
let dev: Spawned;
let client: HoldfastClient;

/** Saves the file as an editor does. */
function save(step: string, word: string): Promise<void> {
  return writeFile(
    join(folder, 'pipelines.ts'),
    `import { pipeline } from ${JSON.stringify(INDEX)};
     export const greet = pipeline({ name: 'greet', async run(ctx) {
       await ctx.step(${JSON.stringify(step)}, () => 1);
       await ctx.receive('go');
       return ${JSON.stringify(word)};
     } });`,
  );
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-dev-'));
  await save('look', 'hello');
  dev = startHoldfast(['dev', 'pipelines.ts', '--port', '0'], { cwd: folder });
  client = new HoldfastClient({ url: await dev.url() });
});

after(async () => {
  await dev.stop('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

async function activeAfter(release: string | undefined): Promise<string> {
  return until(async () => {
    const { active } = await client.releases.rollout('greet');
    return active === release ? undefined : active;
  });
}

async function parked(): Promise<string> {
  const { id } = await client.executions.submit({ pipeline: 'greet' });
  await until(async () =>
    (await client.executions.read(id)).status === 'waiting' ? true : undefined,
  );
  return id;
}

test('RE-13: saving a module adopts a release: executions that fit are repinned, others wait for the old code', async () => {
  const first = await activeAfter(undefined);
  const id = await parked();
  await save('look', 'good morning');
  const second = await activeAfter(first);
  await until(async () =>
    (await client.executions.read(id)).release === second ? true : undefined,
  );
  await client.executions.signal(id, 'go', 1);
  assert.equal((await client.executions.result(id)).output, 'good morning');
  const left = await parked();
  await save('renamed', 'good evening');
  const third = await activeAfter(second);
  const explained = await until(async () => {
    const explained = await client.executions.explain(left);
    return explained.code === 'no-worker' ? explained : undefined;
  });
  assert.match(
    explained.sentence,
    new RegExp(`release "${third}" is incompatible. History has step:look#1`),
  );
  await writeFile(join(folder, 'pipelines.ts'), 'const fine = 1;\nthis is no code');
  const logged = await dev.prints(
    /"level":"error","message":"[^"]*","code":"module-not-loaded","error":"([^"]*)"/,
  );
  assert.match(logged, /pipelines\.ts:2: /);
  await save('look', 'good morning');
  assert.equal(await activeAfter(third), second);
  await dev.prints(/module loaded again/);
  await client.executions.signal(left, 'go', 1);
  assert.equal((await client.executions.result(left)).output, 'good morning');
  const log = await client.releases.log('greet');
  assert.deepEqual(new Set(log.items.map(({ actor }) => actor)), new Set(['dev']));
});

test('RE-13: saving a file that the module imports, at any depth, is enough, also after a failed load', async () => {
  const lib = join(folder, 'lib');
  await mkdir(lib);
  const writeWord = (word: string) =>
    writeFile(join(lib, 'word.cjs'), `module.exports = '${word}';`);
  await writeWord('one');
  await writeFile(join(lib, 'words.ts'), "export { default as word } from './word.cjs';");
  const before = (await client.releases.rollout('greet')).active;
  const main = (from: string) => `import { pipeline } from ${JSON.stringify(INDEX)};
     import { word } from './lib/${from}';
     export const greet = pipeline({ name: 'greet', run: (ctx) => ctx.step('say', () => word) });`;
  await writeFile(join(folder, 'pipelines.ts'), main('words.ts'));
  const output = async () => {
    const { id } = await client.executions.submit({ pipeline: 'greet' });
    return (await client.executions.result(id)).output;
  };
  const first = await activeAfter(before);
  assert.equal(await output(), 'one');
  await writeWord('two');
  const second = await activeAfter(first);
  assert.equal(await output(), 'two');
  // Saves by a rename, as editors do, after a broken import.
  await writeFile(join(lib, 'words.ts'), "export { wrong } from './nowhere.ts';");
  await dev.prints(/module-not-loaded.*nowhere/);
  await writeFile(join(lib, 'draft'), "export const word = 'three';");
  await rename(join(lib, 'draft'), join(lib, 'words.ts'));
  const third = await activeAfter(second);
  assert.equal(await output(), 'three');
  // The file exists under another name, and the import uses that name.
  await rename(join(lib, 'words.ts'), join(lib, 'phrases.ts'));
  await writeFile(join(folder, 'pipelines.ts'), main('phrases.ts'));
  await activeAfter(third);
  assert.equal(await output(), 'three');
});

test('RE-13: a file that is saved while its first worker starts is loaded again', async () => {
  const file = join(folder, 'early.ts');
  const text = (word: string): string =>
    `import { pipeline } from ${JSON.stringify(INDEX)};
     export const early = pipeline({ name: 'early', run: () => ${JSON.stringify(word)} });`;
  writeFileSync(file, text('old'));
  const plain = openMemoryStore();
  const open: typeof plain.sessions.open = (request) => {
    writeFileSync(file, text('new'));
    return plain.sessions.open(request);
  };
  const releases = new Set<unknown>();
  const info = (_: string, about: { readonly release?: unknown } = {}): void => {
    if (about.release !== undefined) releases.add(about.release);
  };
  const log = { info, warn: () => undefined, fault: () => undefined };
  const store = { ...plain, sessions: { ...plain.sessions, open } };
  const running = await runModule(file)(store, log);
  await until(async () => (releases.size === 2 ? true : undefined));
  await running.stop();
});

test('dev logs one line for each failed attempt, each bad end and each log line', async () => {
  const before = (await client.releases.rollout('greet')).active;
  await writeFile(
    join(folder, 'pipelines.ts'),
    `import { pipeline } from ${JSON.stringify(INDEX)};
     export const greet = pipeline({ name: 'greet', retry: { attempts: 1 }, async run(ctx) {
       ctx.log('hello', { n: 1 });
       await ctx.step('look', () => undefined.foo);
     } });`,
  );
  await activeAfter(before);
  const { id } = await client.executions.submit({ pipeline: 'greet' });
  const { failure } = await client.executions.result(id);
  assert.equal(failure?.location, 'pipelines.ts:4');
  await dev.prints(/: failed: TypeError/);
  const problem = "TypeError: Cannot read properties of undefined (reading 'foo') (pipelines.ts:4)";
  for (const [level, text] of [
    ['info', 'hello {\\"n\\":1}'],
    ['warn', `step \\"look\\" failed, attempt 1: ${problem}`],
    ['warn', `failed: ${problem}`],
  ]) {
    assert.ok(dev.out.includes(`"level":"${level}","message":"greet ${id}: ${text}"}`), dev.out);
  }
  const doctor = await holdfast(['doctor', '--url', await dev.url()], { cwd: folder });
  assert.match(doctor.out, /ok +coordinator +http:\S+ responds; its store is sqlite/);
  assert.match(doctor.out, /ok +its listener +no TLS, auth off, admin routes/);
  assert.match(doctor.out, /ok +workers +1, 0 executions ready/);
  assert.doesNotMatch(doctor.out, /ok +(listener|port|configuration) /, 'settings of another one');
  assert.doesNotMatch(doctor.out, /new: the first start creates it/);
  const get = await holdfast(['get', id, '--url', await dev.url()]);
  assert.match(get.out, /failure .*\(pipelines\.ts:4\)/);
  const list = await holdfast(['list', '--status', 'failed', '--url', await dev.url()]);
  assert.match(list.out, /location\n.* TypeError +pipelines\.ts:4/);
  const log = await holdfast(['history', id, '--log', '--url', await dev.url()]);
  assert.match(log.out, /^\d+ +\S+ +log +hello \{"n":1\}\n$/);
});

test('a cancel of a blocked execution names the resume that undoes its steps', async () => {
  const before = (await client.releases.rollout('greet')).active;
  await writeFile(
    join(folder, 'pipelines.ts'),
    `import { pipeline } from ${JSON.stringify(INDEX)};
     export const greet = pipeline({ name: 'greet', async run(ctx) {
       await ctx.step('charge', () => 1, { compensate: () => undefined });
       undefined.foo;
     } });`,
  );
  await activeAfter(before);
  const { id } = await client.executions.submit({ pipeline: 'greet' });
  await until(async () =>
    (await client.executions.read(id)).holds.includes('blocked') ? true : undefined,
  );
  const url = await dev.url();
  const ask = async (...words: readonly string[]) =>
    (await holdfast([...words, '--url', url], { cwd: folder })).out;
  const missing = `it is blocked: run \`holdfast resume ${id}\` to undo its steps\n`;
  assert.equal(await ask('cancel', id, '--reason', 'ordered twice'), `cancelled; ${missing}`);
  assert.equal(await ask('cancel', id), `nothing to change; ${missing}`);
  assert.match(await ask('explain', id), new RegExp(`^Cancelled .*\nRun holdfast resume ${id} to`));
  assert.match(await ask('get', id), /^compensating +true$/m);
  assert.match(await ask('resume', id), /^resumed; its steps (are being|were) undone\n$/);
  await client.executions.result(id);
  const undone = /Cancelled by \S+ \(ordered twice\)\. Its steps were undone at 2\S+Z\.$/m;
  assert.match(await ask('explain', id), undone);
  const get = await ask('get', id);
  assert.match(get, undone);
  assert.doesNotMatch(get, /^compensating +true$/m);
});

test('holdfast dev with a missing file, or without pipelines, prints the problem and ends', async () => {
  const dev = (module: string) => holdfast(['dev', module, '--port', '0'], { cwd: folder });
  const missing = await dev('nosuch.ts');
  assert.equal(missing.code, 2, missing.out);
  assert.match(missing.problems, /There is no file "nosuch\.ts"\. Usage/);
  await writeFile(join(folder, 'empty.ts'), 'export const nothing = 1;');
  const empty = await dev('empty.ts');
  assert.equal(empty.code, 2, empty.out);
  assert.match(empty.problems, /empty\.ts exports no pipeline/);
});

test('holdfast dev with a module on an old Node names the version it needs and ends', async () => {
  const old = new URL('children/old-node.ts', import.meta.url).href;
  const { code, out, problems } = await holdfast(['dev', 'pipelines.ts', '--port', 'none'], {
    cwd: folder,
    env: { NODE_OPTIONS: `--import=${old}` },
  });
  assert.equal(code, 2, out);
  assert.match(
    problems,
    /^pipelines\.ts cannot be run: TypeScript files need Node 22\.18 or newer; this is 20\.19\.0\. .*\n$/,
  );
});
