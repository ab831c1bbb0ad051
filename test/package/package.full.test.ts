import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { Spawned, startHoldfast } from '../cli/spawned.ts';
import { runCommand } from '../services/run-command.ts';
import {
  type InstalledPackage,
  installPackage,
  keepVersions,
  userEnvironment,
} from './installed-package.ts';

const ROOT = join(import.meta.dirname, '../..');
const COMPILER = join(ROOT, 'node_modules/.bin/tsc');
/** Subpaths that need an optional peer, and which. */
const PEERS: Readonly<Record<string, string>> = {
  './store/postgres': 'pg',
  './observe/opentelemetry': '@opentelemetry/api',
  './observe/prometheus': 'prom-client',
};

let installed: InstalledPackage;

before(async () => {
  installed = await installPackage();
});

after(async () => {
  await installed?.remove();
});

function specifiers(): readonly string[] {
  return Object.keys(installed.manifest.exports)
    .filter((subpath) => subpath !== './package.json')
    .map((subpath) => subpath.replace(/^\./, 'holdfast'));
}

async function importWith(specifier: string): Promise<void> {
  const program = `await import(${JSON.stringify(specifier)});`;
  await runCommand(process.execPath, ['--input-type=module', '-e', program], {
    cwd: installed.project,
  });
}

test('the package holds no tests and no leftovers of source specifiers', () => {
  const files = globSync('**/*', { cwd: installed.folder });
  assert.deepEqual(
    files.filter((path) => /\.test\./.test(path)),
    [],
  );
  // The console shows the source of the demo as it is, and `init` writes sources.
  const isCompiled = /^dist\/(?!console\/|cli\/init-templates).*\.js$/;
  const compiled = files.filter((path) => isCompiled.test(path.replaceAll('\\', '/')));
  assert.ok(compiled.length > 0, 'the package must hold compiled files');
  for (const path of compiled) {
    const text = readFileSync(join(installed.folder, path), 'utf8');
    assert.doesNotMatch(text, /(?:from|import)\s*\(?\s*['"]\.[^'"]*\.ts['"]/, path);
  }
});

test('the package holds at most 2,500 files and 8 MB', () => {
  const found = globSync('**/*', { cwd: installed.folder, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile());
  const sizes = files.map(({ parentPath, name }) => statSync(join(parentPath, name)).size);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(files.length <= 2_500, `${files.length} files`);
  assert.ok(bytes <= 8_000_000, `${bytes} bytes`);
});

test('publint and are-the-types-wrong find no problem in the package', async () => {
  const { messages } = await publint({ pkgDir: installed.folder, strict: true, pack: false });
  assert.deepEqual(messages, []);
  const tarball = new Uint8Array(readFileSync(installed.tarball));
  const analysis = await checkPackage(createPackageFromTarballData(tarball));
  // The package has no CommonJS build, and old resolution does not read `exports`.
  const isOurs = (problem: object): boolean =>
    !('resolutionKind' in problem) ||
    problem.resolutionKind === 'node16-esm' ||
    problem.resolutionKind === 'bundler';
  assert.deepEqual(analysis.types && analysis.problems.filter(isOurs), []);
});

test('the package has its license, and those of the console’s dependencies', () => {
  const bundled = join(installed.folder, 'dist/console/licenses.txt');
  assert.match(readFileSync(bundled, 'utf8'), /react-dom[\s\S]*SIL OPEN FONT LICENSE/i);
  assert.ok(globSync('LICENSE', { cwd: installed.folder }).length === 1);
});

test('every subpath without a peer imports with nothing else installed', async () => {
  for (const [subpath] of Object.entries(installed.manifest.exports)) {
    if (subpath !== './package.json' && PEERS[subpath] === undefined) {
      await importWith(subpath.replace(/^\./, 'holdfast'));
    }
  }
});

test('subpaths that need a peer import once it is there, and every subpath has types', async () => {
  for (const name of new Set(Object.values(PEERS))) {
    await installed.addPeer(name);
    await installed.addPeer(`@types/${name}`);
  }
  await installed.addPeer('@types/node');
  for (const specifier of specifiers()) {
    await importWith(specifier);
  }
  const uses = specifiers().map((specifier, index) => `export * as m${index} from '${specifier}';`);
  await writeFile(join(installed.project, 'uses.ts'), `${uses.join('\n')}\n`);
  await runCommand(
    COMPILER,
    ['--noEmit', '--strict', '--module', 'nodenext', '--types', 'node', 'uses.ts'],
    { cwd: installed.project },
  );
});

test('the package contains the console, and its demo runs in separate processes', async () => {
  const main = join(installed.folder, 'dist/cli/main.js');
  const dev = startHoldfast(['dev', '--port', '0'], { main, cwd: installed.project });
  try {
    const url = await dev.url();
    await dev.prints(/"first":"([^"]+)"/);
    assert.match(await dev.prints(/"try":"(.+?)","watch"/), /^npx holdfast submit /);
    const page = await (await fetch(`${url}/console/`)).text();
    const [, script = ''] = /src="(\/console\/assets\/[^"]+\.js)"/.exec(page) ?? [];
    assert.equal((await fetch(`${url}${script}`)).status, 200, page);
    const demo = (await (await fetch(`${url}/v1/demo`)).json()) as { workers: readonly object[] };
    assert.equal(demo.workers.length, 2);
  } finally {
    assert.equal((await dev.stop()).code, 0);
  }
});

test('`holdfast init` creates a project whose test passes and whose types check, once', async () => {
  const main = join(installed.folder, 'dist/cli/main.js');
  const cwd = installed.project;
  await runCommand(process.execPath, [main, 'init', 'shop'], { cwd });
  const shop = join(cwd, 'shop');
  const tested = await runCommand(process.execPath, ['--test', '--test-reporter=tap'], {
    cwd: shop,
    env: userEnvironment(),
  });
  assert.match(tested, /# pass 1\n# fail 0/);
  const { scripts, devDependencies } = manifestIn(shop);
  assert.equal(scripts['check'], 'tsc -p .');
  assert.deepEqual(Object.keys(devDependencies), ['@types/node', 'typescript']);
  assert.ok(Object.values(devDependencies).every((version) => /^\^\d/.test(version)));
  await runCommand(COMPILER, ['-p', '.'], { cwd: shop });
  // The types check: they find a misspelt name before the code runs.
  await writeFile(join(shop, 'slip.ts'), SLIP);
  await assert.rejects(runCommand(COMPILER, ['-p', '.'], { cwd: shop }), /slip\.ts\(3,.* 'slep'/);
  await assert.rejects(
    runCommand(process.execPath, [main, 'init', 'shop'], { cwd }),
    /shop is not empty\. Nothing was written/,
  );
  await assert.rejects(
    runCommand(process.execPath, [main, 'init', 'My Shop'], { cwd }),
    /is not a valid package name/,
  );
});

test('the examples are shipped as JavaScript, find their imports, and run', async () => {
  const examples = join(installed.folder, 'dist/examples');
  const files = globSync('**/*.js', { cwd: examples });
  const sources = globSync('**/*.ts', { cwd: join(ROOT, 'examples') });
  assert.deepEqual(files.sort(), sources.map((file) => file.replace(/ts$/, 'js')).sort());
  const missing = files.flatMap((file) => {
    const text = readFileSync(join(examples, file), 'utf8');
    return [...text.matchAll(/ from '(\.[^']+)'|dirname, '([^']+)'/g)]
      .map(([, module, beside]) => join(examples, dirname(file), module ?? beside ?? ''))
      .filter((path) => !existsSync(path));
  });
  assert.deepEqual(missing, []);
  for (const name of ['hono', '@hono/node-server']) await installed.addPeer(name);
  const ends = globSync(
    '**/{main,order-saga,image-pipeline,restaurant-approval,restaurant-push}.js',
    {
      cwd: examples,
    },
  );
  assert.equal(ends.length, 13);
  for (const file of ends) {
    // Each exits with 0 only if everything happened as it prints.
    await runCommand(process.execPath, [join(examples, file)], {
      cwd: installed.project,
      env: userEnvironment(),
    });
  }
});

const SLIP = `import { pipeline } from 'holdfast';

export const slip = pipeline({ name: 'slip', run: (ctx) => ctx.slep(1) });
`;

test('the README’s steps for your own project run as written, from a checkout', runReadme);

async function runReadme(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-init-'));
  try {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const [, init = '', ...rest] =
      /npm run -s holdfast -- (init \S+) && cd \S+ && (npm install) && (npm test)/.exec(readme) ??
      [];
    assert.deepEqual([init, ...rest], ['init ../shop', 'npm install', 'npm test']);
    const shop = join(folder, 'shop');
    await runCommand('npm', ['run', '-s', 'holdfast', '--', 'init', shop], { cwd: ROOT });
    const { scripts, dependencies } = manifestIn(shop);
    assert.match(dependencies['holdfast'] ?? '', /^file:holdfast-[\d.]+\.tgz$/);
    await keepVersions(shop, ['@types/node', 'typescript']);
    await runCommand('npm', ['install', '--prefer-offline', '--no-audit'], { cwd: shop });
    const env = userEnvironment();
    assert.match(await runCommand('npm', ['test'], { cwd: shop, env }), /pass 1\n\S* ?fail 0/);
    assert.equal(scripts['test'], 'node --test order.test.ts');
    await runCommand('npm', ['run', 'check'], { cwd: shop, env });
    await worksByItself(shop, scripts['dev'] ?? '');
    await endsWithNpm(shop, env);
    // A project from a tarball depends on the tarball.
    await runCommand('npx', ['--no-install', 'holdfast', 'init', '../other'], { cwd: shop, env });
    const other = manifestIn(join(folder, 'other')).dependencies['holdfast'] ?? '';
    assert.match(other, /^file:\.\.\/shop\/holdfast-[\d.]+\.tgz$/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface ProjectManifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

function manifestIn(folder: string): ProjectManifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** `npm run dev`, with its own port, takes an order and begins with it. */
async function worksByItself(shop: string, script: string): Promise<void> {
  const main = join(shop, 'node_modules/holdfast/dist/cli/main.js');
  const [, ...words] = script.split(' ');
  const dev = startHoldfast([...words, '--port', '0'], { main, cwd: shop });
  try {
    const url = await dev.url();
    await dev.prints(/"pipelines":"(order)"/);
    const input = '{"item":"tent","guest":"ann"}';
    const submitted = await runCommand(
      ...([process.execPath, [main, 'submit', 'order', input, '--url', url]] as const),
      { env: userEnvironment() },
    );
    const [id = ''] = submitted.split(' ');
    const watching = startHoldfast(['watch', id, '--url', url, '--json'], { main, cwd: shop });
    await watching.prints(/(sleep)/);
    await watching.stop();
  } finally {
    assert.equal((await dev.stop()).code, 0);
  }
}

/** npm sends SIGTERM to its shell, which does not pass it on; nohup's shell is not npm's. */
async function endsWithNpm(shop: string, env: NodeJS.ProcessEnv): Promise<void> {
  const main = join(shop, 'node_modules/holdfast/dist/cli/main.js');
  const server = startHoldfast(['serve', '--port', '0', '--auth', 'off'], { main, cwd: shop });
  try {
    const given = { cwd: shop, env: { ...env, HOLDFAST_URL: await server.url() } };
    const npm = new Spawned(spawn('npm', ['run', 'worker'], given));
    await npm.prints(/waiting for orders/);
    // Closed only when the last process that holds its output has ended.
    const { out } = await npm.stop();
    assert.match(out, /stopping: the npm that started it has ended/);
    const inBackground = `nohup node worker.ts & echo "pid $!"; read line`;
    const shell = new Spawned(spawn('sh', ['-c', inBackground], given));
    const pid = Number(await shell.prints(/pid (\d+)/));
    await shell.prints(/waiting for orders/);
    shell.child.kill('SIGKILL');
    await once(shell.child, 'exit');
    assert.ok(process.kill(pid, 0), 'it outlives its shell');
    process.kill(pid, 'SIGTERM');
    assert.match((await shell.ended()).out, /stopping: SIGTERM/);
  } finally {
    assert.equal((await server.stop()).code, 0);
  }
}
