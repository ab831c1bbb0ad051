// What `holdfast init` writes: a pipeline, a test of it that passes, and a worker that runs it.

export interface Project {
  readonly name: string;
  /** Which one it depends on, as npm takes it. */
  readonly holdfast: string;
  /** Versions of packages, by name: those that this package is checked with. */
  readonly versions: Readonly<Record<string, string>>;
}

/** By name, below the new folder. */
export function projectFiles(project: Project): Readonly<Record<string, string>> {
  return {
    'package.json': `${JSON.stringify(manifestOf(project), undefined, 2)}\n`,
    'tsconfig.json': `${JSON.stringify(TYPES, undefined, 2)}\n`,
    '.gitignore': 'node_modules\n.holdfast\n',
    'order.ts': ORDER,
    'order.test.ts': ORDER_TEST,
    'worker.ts': WORKER,
    'README.md': readmeOf(project.name),
  };
}

/** Node runs the sources as they are, so the compiler only checks them. */
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

function manifestOf({ name, holdfast, versions }: Project): object {
  return {
    ...{ name, version: '0.0.0', private: true, type: 'module' },
    engines: { node: '>=22.18' },
    scripts: {
      dev: `holdfast dev ${MODULE}`,
      worker: 'node worker.ts',
      // By name: where Node is too old to run it, that is a failure, and not zero tests that pass.
      test: 'node --test order.test.ts',
      check: 'tsc -p .',
    },
    dependencies: { holdfast },
    devDependencies: Object.fromEntries(CHECKED_WITH.map((each) => [each, versions[each] ?? '*'])),
  };
}

/** Apart, so that it is not taken for an import of this file. */
const MODULE = './order.ts';

const ORDER = `// One order, from its charge to its delivery. What is recorded is never done again, whatever crashes.

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

import { openWorker, stopAsked, type Worker } from 'holdfast/worker';
import { order } from '${MODULE}';

let worker: Worker | undefined;
void stopAsked().then((reason) => {
  console.log('stopping:', reason);
  return worker?.stop() ?? process.exit();
});
worker = await openWorker({
  url: process.env['HOLDFAST_URL'] ?? 'http://127.0.0.1:7433',
  ...(process.env['HOLDFAST_KEY'] && { key: process.env['HOLDFAST_KEY'] }),
  pipelines: [order],
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
npm run dev          # a coordinator with its console, which runs order.ts, and runs it anew when you save it
npx holdfast submit order '{"item":"tent","guest":"ann"}'    # in another terminal
npm run worker       # runs orders for a coordinator elsewhere (holdfast serve): HOLDFAST_URL, HOLDFAST_KEY
\`\`\`
`;
}
