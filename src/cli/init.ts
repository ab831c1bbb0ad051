// `holdfast init` creates a folder with a pipeline, its test, and its worker.

import { execFile } from 'node:child_process';
import { access, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Fault } from '../support/fault.ts';
import { type CommandSpec, type ExitCode, type Typed, UsageProblem } from './command.ts';
import { leastNode, oldNode } from './node-version.ts';
import { print, printProblem } from './screen.ts';

export const initCommand: CommandSpec = {
  usage: 'holdfast init <folder>',
  flags: {},
  execute,
};

/** A package name that npm accepts. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/;

async function execute({ words }: Typed): Promise<ExitCode> {
  const [folder, ...more] = words;
  if (folder === undefined)
    throw new UsageProblem(`<folder> is required. Usage: ${initCommand.usage}`);
  if (more.length > 0) throw new UsageProblem(`Pass one folder. Usage: ${initCommand.usage}`);
  const name = basename(resolve(folder));
  if (!NAME.test(name)) {
    throw new UsageProblem(
      `"${name}" is not a valid package name: use lower-case letters, digits, ".", "_" and "-". Nothing was written. Choose another folder.`,
    );
  }
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) {
    throw new UsageProblem(`${folder} is not empty. Nothing was written. Choose a new folder.`);
  }
  const { version, devDependencies: versions } = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { readonly version: string; readonly devDependencies: Readonly<Record<string, string>> };
  const holdfast = await dependencyFor(folder, version);
  const files = projectFiles({ name, holdfast, versions });
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
  print(
    [
      `${folder} has a pipeline (order.ts), a test of it (order.test.ts) and a worker (worker.ts). Next, with Node ${await leastNode()} or newer:`,
      '',
      `  cd ${folder} && npm install && npm test && npm run check`,
      '  npm run dev      # a coordinator with a console, which runs order.ts',
      `  npx holdfast submit order '{"item":"tent","guest":"ann"}'   # in another terminal`,
    ].join('\n'),
  );
  const old = await oldNode();
  if (old !== undefined) printProblem(`\n${old} Use a newer Node in ${folder}.`);
  return 0;
}

// Finds the dependency for a new project: the registry, or the tarball that this package was
// installed from. A checkout is packed into the new folder, which then does not depend on it.

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/[/\\]$/, '');
const run = promisify(execFile);

/** The dependency for the package.json in `folder`. */
export async function dependencyFor(folder: string, version: string): Promise<string> {
  if (basename(dirname(ROOT)) === 'node_modules') {
    return (await tarballFor(folder)) ?? `^${version}`;
  }
  // The published package has no scripts folder.
  const isCheckout = await isThere(join(ROOT, 'scripts/build.ts'));
  return isCheckout ? packInto(folder) : `file:${pathFrom(folder, ROOT)}`;
}

/** npm records the origin of each installed package beside it. */
async function tarballFor(folder: string): Promise<string | undefined> {
  const modules = dirname(ROOT);
  const noted = await readFile(join(modules, '.package-lock.json'), 'utf8').catch(() => '{}');
  const { packages } = JSON.parse(noted) as {
    readonly packages?: Readonly<Record<string, { readonly resolved?: string }>>;
  };
  const from = packages?.[`node_modules/${basename(ROOT)}`]?.resolved;
  if (from === undefined || !from.startsWith('file:')) return undefined;
  const tarball = resolve(dirname(modules), from.slice('file:'.length));
  return (await isThere(tarball)) ? `file:${pathFrom(folder, tarball)}` : undefined;
}

async function packInto(folder: string): Promise<string> {
  printProblem('This is a checkout. Building and packing it into the new folder …');
  try {
    const options = ['--silent', '--json=false', '--pack-destination', resolve(folder)];
    const { stdout } = await run('npm', ['pack', ...options], { cwd: ROOT });
    return `file:${stdout.trim().split('\n').at(-1) ?? ''}`;
  } catch (cause) {
    const output = String((cause as { stderr?: unknown }).stderr ?? cause).trim();
    throw new Fault(
      'not-packed',
      `This checkout cannot be packed. Nothing was written to ${folder}. \`npm pack\` in ${ROOT} printed: ${output}`,
      { cause },
    );
  }
}

function pathFrom(folder: string, target: string): string {
  return relative(resolve(folder), target).replaceAll('\\', '/');
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

// The files that `holdfast init` writes: a pipeline, a passing test of it, and a worker.

export interface NewProject {
  readonly name: string;
  /** The dependency on holdfast, in npm's syntax. */
  readonly holdfast: string;
  /** The versions of packages that this package is tested with, by name. */
  readonly versions: Readonly<Record<string, string>>;
}

/** By name, below the new folder. */
export function projectFiles(project: NewProject): Readonly<Record<string, string>> {
  return {
    'package.json': `${JSON.stringify(manifestOf(project), undefined, 2)}\n`,
    'tsconfig.json': `${JSON.stringify(TYPES, undefined, 2)}\n`,
    '.gitignore': 'node_modules\n.holdfast\nholdfast.db*\n',
    'order.ts': ORDER,
    'order.test.ts': ORDER_TEST,
    'worker.ts': WORKER,
    'README.md': readmeOf(project.name),
  };
}

/** Node runs the sources unchanged, so the compiler only checks them. */
const TYPES = {
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ['**/*.ts'],
};

const CHECKED_WITH = ['@types/node', 'typescript'] as const;

function manifestOf({ name, holdfast, versions }: NewProject): object {
  return {
    ...{ name, version: '0.0.0', private: true, type: 'module' },
    engines: { node: '>=22.18' },
    scripts: {
      dev: `holdfast dev ${MODULE}`,
      worker: 'node worker.ts',
      // Named explicitly, so that a Node that is too old fails instead of passing zero tests.
      test: 'node --test order.test.ts',
      check: 'tsc -p .',
    },
    dependencies: { holdfast },
    devDependencies: Object.fromEntries(CHECKED_WITH.map((each) => [each, versions[each] ?? '*'])),
  };
}

/** A constant, so that tools do not take it for an import of this file. */
const MODULE = './order.ts';

const ORDER = `// One order, from its charge to its delivery. A recorded step never runs again, even after a crash.

import { pipeline } from 'holdfast';

export interface Order {
  readonly item: string;
  readonly guest: string;
}

export const order = pipeline({
  name: 'order',
  async run(ctx, { item, guest }: Order) {
    const receipt = await ctx.step('charge', ({ idempotencyKey }) => \`\${guest} paid, \${idempotencyKey}\`, {
      compensate: () => console.log('paid back to', guest),
    });
    await ctx.sleep(24 * 60 * 60 * 1000); // a day, which occupies nothing
    await ctx.step('ship', () => console.log('shipping', item, 'to', guest));
    return receipt;
  },
});
`;

const ORDER_TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestHoldfast } from 'holdfast/testing';
import { order } from '${MODULE}';

test('an order is shipped a day after it was charged, also when the process dies meanwhile', async () => {
  await using time = await openTestHoldfast({ pipelines: [order] });
  const handle = await time.holdfast.submit(order, { item: 'tent', guest: 'ann' });
  await time.advance(60_000);
  assert.equal((await time.holdfast.read(handle.id))?.status, 'waiting');
  await time.restart();
  await time.advance(24 * 60 * 60 * 1000);
  assert.match(await handle.result(), /^ann paid/);
});
`;

const WORKER = `// Runs orders for a coordinator elsewhere: the one that HOLDFAST_URL names, with the key in HOLDFAST_KEY.

import { openWorker, stopRequested, type Worker } from 'holdfast/worker';
import { order } from '${MODULE}';

let worker: Worker | undefined;
void stopRequested().then((reason) => {
  console.log('stopping:', reason);
  return worker?.stop() ?? process.exit();
});
worker = await openWorker({
  url: process.env['HOLDFAST_URL'] ?? 'http://127.0.0.1:7433',
  ...(process.env['HOLDFAST_KEY'] && { key: process.env['HOLDFAST_KEY'] }),
  pipelines: [order],
}).catch((error: Error) => {
  console.error(error.message);
  process.exit(1);
});
console.log('waiting for orders; Ctrl-C stops it');
`;

function readmeOf(name: string): string {
  return `# ${name}

Node 22.18 or newer runs it as it is, without a build.

\`\`\`sh
npm install
npm test             # the pipeline in order.ts, a day in a moment
npm run check        # types
npm run dev          # a coordinator with a console; it runs order.ts and reloads it when you save it
npx holdfast submit order '{"item":"tent","guest":"ann"}'    # in another terminal
npm run worker       # runs orders for a coordinator elsewhere (holdfast serve): HOLDFAST_URL, HOLDFAST_KEY
\`\`\`
`;
}
