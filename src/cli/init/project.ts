// What `holdfast init` writes: a pipeline, a test of it that passes, and a worker that runs it.

/** By name, below the new folder. */
export function projectFiles(name: string, version: string): Readonly<Record<string, string>> {
  return {
    'package.json': `${JSON.stringify(manifestOf(name, version), undefined, 2)}\n`,
    '.gitignore': 'node_modules\n.holdfast\n',
    'order.ts': ORDER,
    'order.test.ts': ORDER_TEST,
    'worker.ts': WORKER,
    'README.md': readmeOf(name),
  };
}

function manifestOf(name: string, version: string): object {
  return {
    ...{ name, version: '0.0.0', private: true, type: 'module' },
    engines: { node: '>=22.18' },
    scripts: { dev: 'holdfast dev', worker: 'node worker.ts', test: 'node --test' },
    dependencies: { holdfast: `^${version}` },
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

const WORKER = `// Runs orders for a coordinator: \`npm run dev\` in another terminal is one.

import { openWorker } from 'holdfast/worker';
import { order } from '${MODULE}';

const worker = await openWorker({
  url: process.env['HOLDFAST_URL'] ?? 'http://127.0.0.1:7433',
  ...(process.env['HOLDFAST_KEY'] && { key: process.env['HOLDFAST_KEY'] }),
  pipelines: [order],
});
console.log('waiting for orders; Ctrl-C stops it');
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void worker.stop());
}
`;

function readmeOf(name: string): string {
  return `# ${name}

\`\`\`sh
npm install
npm test             # the pipeline in order.ts, a day in a moment
npm run dev          # a coordinator, with its console
npm run worker       # in another terminal: runs orders for it
npx holdfast submit order '{"item":"tent","guest":"ann"}'
\`\`\`
`;
}
