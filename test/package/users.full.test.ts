// The installed package in the hands of its users: on other versions of Node, with strict types, and in a bundle.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { build } from 'esbuild';
import { nodeBinary } from '../services/node-binary.ts';
import { runCommand } from '../services/run-command.ts';
import { type InstalledPackage, installPackage, userEnvironment } from './installed-package.ts';

const ROOT = join(import.meta.dirname, '../..');
const COMPILER = join(ROOT, 'node_modules/.bin/tsc');

let installed: InstalledPackage;

before(async () => {
  installed = await installPackage();
});

after(async () => {
  await installed?.remove();
});

const SERVICE = `
import { openHoldfast, pipeline } from 'holdfast';
const order = pipeline({ name: 'order', run: (ctx, item) => ctx.step('ship', () => 'shipped ' + item) });
const holdfast = await openHoldfast({ store: './service.db' });
await holdfast.worker({ pipelines: [order] });
const handle = await holdfast.submit(order, 'tent');
console.log(process.version, await handle.result());
await holdfast.close();
`;

const CLIENT = `
import { HoldfastClient } from 'holdfast/client';
import { openServer } from 'holdfast/server';
import { openSqliteStore } from 'holdfast/store/sqlite';
import { openWorker } from 'holdfast/worker';
import { pipeline } from 'holdfast';
const store = await openSqliteStore({ file: './coordinator.db' });
const server = await openServer({ store, port: 0 });
const of = { url: server.url, key: server.firstKey };
const order = pipeline({ name: 'order', run: (ctx, item) => ctx.step('ship', () => 'shipped ' + item) });
const worker = await openWorker({ ...of, pipelines: [order] });
const client = new HoldfastClient(of);
const { id } = await client.executions.submit({ pipeline: 'order', input: 'tent' });
console.log(process.version, (await client.executions.result(id)).output);
await worker.stop();
await server.close();
await store.close();
`;

async function play(node: string, program: string): Promise<string> {
  const cwd = installed.project;
  await writeFile(join(cwd, 'program.mjs'), program);
  try {
    return await runCommand(node, ['program.mjs'], { cwd, env: userEnvironment() });
  } finally {
    for (const name of ['service', 'coordinator']) {
      for (const end of ['', '-wal', '-shm'])
        await rm(join(cwd, `${name}.db${end}`), { force: true });
    }
  }
}

for (const version of ['22', '24', 'latest']) {
  test(`engine, coordinator, worker, client and command line run on Node ${version}`, async () => {
    const node = await nodeBinary(version);
    const expected =
      version === 'latest'
        ? /^v\d+\.\S+ shipped tent\n$/
        : new RegExp(`^v${version}\\.\\S+ shipped tent\\n$`);
    assert.match(await play(node, SERVICE), expected);
    assert.match(await play(node, CLIENT), expected);
    const main = join(installed.folder, 'dist/cli/main.js');
    const { version: own } = JSON.parse(
      readFileSync(join(installed.folder, 'package.json'), 'utf8'),
    ) as { readonly version: string };
    assert.ok((await runCommand(node, [main, '--version'])).includes(own));
  });
}

test('types resolve without optional peers, and with skipLibCheck off', async () => {
  await installed.addPeer('@types/node');
  const needed = /\/(?:store\/postgres|observe\/(?:opentelemetry|prometheus))$/;
  const entries = Object.keys(installed.manifest.exports).filter(
    (entry) => entry !== './package.json' && !needed.test(entry),
  );
  const uses = entries.map((entry, nth) => `export * as m${nth} from 'holdfast${entry.slice(1)}';`);
  await writeFile(join(installed.project, 'uses.ts'), uses.join('\n'));
  await runCommand(
    COMPILER,
    [
      ...['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', 'nodenext'],
      ...['--target', 'es2024', '--lib', 'es2024,esnext.disposable', '--types', 'node', 'uses.ts'],
    ],
    { cwd: installed.project },
  );
});

async function bundled(options: { readonly external: string[] }): Promise<string> {
  await writeFile(join(installed.project, 'service.mjs'), SERVICE);
  await build({
    ...{ absWorkingDir: installed.project, entryPoints: ['service.mjs'], outfile: 'program.mjs' },
    ...{ bundle: true, platform: 'node', format: 'esm', logLevel: 'silent', ...options },
    // Packages that are CommonJS inside the bundle.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  return readFileSync(join(installed.project, 'program.mjs'), 'utf8');
}

test('a service bundled by esbuild works with holdfast external, as the guide shows', async () => {
  assert.match(
    await play(process.execPath, await bundled({ external: ['holdfast'] })),
    /shipped tent/,
  );
  const guide = readFileSync(join(ROOT, 'docs/guides/bundle.md'), 'utf8');
  assert.match(guide, /--external:holdfast/);
});

test('a service that bundles holdfast itself fails with the setting that helps', async () => {
  const peers = Object.keys(installed.manifest.peerDependencies ?? {});
  const program = await bundled({ external: peers });
  await writeFile(join(installed.project, 'program.mjs'), program);
  const { stderr } = spawnSync(process.execPath, ['program.mjs'], {
    ...{ cwd: installed.project, env: userEnvironment(), encoding: 'utf8' },
  });
  assert.match(stderr, /external.*holdfast|holdfast.*external/i);
});
