// The projects that `holdfast init` can create.

interface Template {
  /** For `--template`'s help. */
  readonly about: string;
  /** Texts by file name. */
  readonly files: Readonly<Record<string, string>>;
  /** Files of the package's examples, copied into the project. */
  readonly copied: readonly string[];
  readonly scripts: Readonly<Record<string, string>>;
  /** Commands of the README, and those to print after creation. */
  readonly commands: readonly string[];
}

/** Constants, so that tools do not take them for imports of this file. */
const ORDER_MODULE = './order.ts';
const PIPELINES_MODULE = './pipelines.ts';

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
import { order } from '${ORDER_MODULE}';

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

function workerOf(pipeline: string, module: string): string {
  return `// Runs ${pipeline}s for a coordinator elsewhere: the one that HOLDFAST_URL names, with the key in HOLDFAST_KEY.

import { openWorker, stopRequested, type Worker } from 'holdfast/worker';
import { ${pipeline} } from '${module}';

let worker: Worker | undefined;
void stopRequested().then((reason) => {
  console.log('stopping:', reason);
  return worker?.stop() ?? process.exit();
});
worker = await openWorker({
  url: process.env['HOLDFAST_URL'] ?? 'http://127.0.0.1:7433',
  ...(process.env['HOLDFAST_KEY'] && { key: process.env['HOLDFAST_KEY'] }),
  pipelines: [${pipeline}],
}).catch((error: Error) => {
  console.error(error.message);
  process.exit(1);
});
console.log('waiting for ${pipeline}s; Ctrl-C stops it');
`;
}

const SERVICE = `// A service with an embedded engine: it takes orders over HTTP and runs them itself. Start it twice on one
// PostgreSQL database (DATABASE_URL), and both take and run orders.

import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { openHoldfast } from 'holdfast';
import { stopRequested } from 'holdfast/worker';
import { type Order, order } from '${ORDER_MODULE}';

const holdfast = await openHoldfast({ store: process.env['DATABASE_URL'] ?? './holdfast.db' });
await holdfast.worker({ pipelines: [order] });

const server = createServer(async (request, response) => {
  const [, path, id = ''] = (request.url ?? '').split('/');
  const reply = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  try {
    if (request.method === 'POST' && path === 'orders') {
      const given = (await json(request)) as Order;
      // The key makes it one order, however often the customer clicks.
      const key = request.headers['idempotency-key'];
      const options = typeof key === 'string' ? { key } : {};
      const handle = await holdfast.submit(order, { item: String(given.item), guest: String(given.guest) }, options);
      return reply(202, { id: handle.id });
    }
    if (request.method === 'GET' && path === 'orders') {
      const found = await holdfast.read(id);
      return reply(found === undefined ? 404 : 200, { status: found?.status ?? 'unknown' });
    }
    return reply(404, { error: 'POST /orders or GET /orders/<id>' });
  } catch (error) {
    return reply(400, { error: error instanceof Error ? error.message : String(error) });
  }
});
server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  console.log('taking orders at', server.address());
});

console.log('stopping:', await stopRequested());
server.close();
await holdfast.close();
`;

const TOOLS = `// What the agent can do. Replace these tools with yours. A tool that changes something needs approval.

import type { Tools } from './agent.ts';

const ORDERS = [
  { id: 7, cents: 4_200, late: true },
  { id: 8, cents: 1_900, late: false },
];

export const tools: Tools = {
  find_order: {
    description: 'Finds an order by its number: {"id":7}.',
    run: (input) => ORDERS.find(({ id }) => id === (input as { readonly id: number }).id) ?? null,
  },
  refund: {
    description: 'Pays the price of an order back: {"id":7,"cents":4200}.',
    needsApproval: true,
    run: (input, { idempotencyKey }) => {
      // Pass the key to your payment provider, so that a repeated call pays once.
      console.log('refunding', input, 'under', idempotencyKey);
      return { refunded: (input as { readonly id: number }).id };
    },
  },
};
`;

const PIPELINES = `// The agent with its model and tools. Set MODEL_URL, MODEL_KEY and MODEL_NAME to use a service with an
// OpenAI-compatible API. Without them, the rules of rule-model.ts decide.

import { agentPipeline } from './agent.ts';
import { ruleModel } from './rule-model.ts';
import { serviceModel } from './service-model.ts';
import { tools } from './tools.ts';

const { MODEL_URL: url, MODEL_KEY: key = '', MODEL_NAME: model = '' } = process.env;

export const agent = agentPipeline(
  url === undefined ? ruleModel : serviceModel({ url, key, model }),
  tools,
);
`;

const AGENT_TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestHoldfast } from 'holdfast/testing';
import { agentPipeline } from './agent.ts';
import { ruleModel } from './rule-model.ts';
import { tools } from './tools.ts';

const agent = agentPipeline(ruleModel, tools);

test('a refund waits for approval, also when the process dies meanwhile', async () => {
  await using time = await openTestHoldfast({ pipelines: [agent] });
  const handle = await time.holdfast.submit(agent, 'My order 7 came late.');
  await time.advance(60_000);
  const { items } = await time.holdfast.awaits.list({ open: true });
  assert.deepEqual(items[0]?.request, { tool: 'refund', input: { id: 7, cents: 4_200 } });
  await time.restart();
  await time.holdfast.awaits.answer(items[0]?.id ?? '', { approved: true });
  await time.advance(60_000);
  assert.equal(await handle.result(), 'We refunded 42 euros.');
});

test('a refused refund is not paid', async () => {
  await using time = await openTestHoldfast({ pipelines: [agent] });
  const handle = await time.holdfast.submit(agent, 'My order 7 came late.');
  await time.advance(60_000);
  const { items } = await time.holdfast.awaits.list({ open: true });
  await time.holdfast.awaits.answer(items[0]?.id ?? '', { approved: false });
  await time.advance(60_000);
  assert.equal(await handle.result(), 'We cannot refund order 7.');
});
`;

/** Named explicitly, so that a Node that is too old fails instead of passing zero tests. */
const ORDER_SCRIPTS = { test: 'node --test order.test.ts', check: 'tsc -p .' };

export const TEMPLATES = {
  coordinator: {
    about: 'a coordinator with a console, and a worker',
    files: {
      'order.ts': ORDER,
      'order.test.ts': ORDER_TEST,
      'worker.ts': workerOf('order', ORDER_MODULE),
    },
    copied: [],
    scripts: { dev: `holdfast dev ${ORDER_MODULE}`, worker: 'node worker.ts', ...ORDER_SCRIPTS },
    commands: [
      'npm run dev          # a coordinator with a console; it runs order.ts and reloads it when you save it',
      `npx holdfast submit order '{"item":"tent","guest":"ann"}'    # in another terminal`,
      'npm run worker       # runs orders for a coordinator elsewhere (holdfast serve): HOLDFAST_URL, HOLDFAST_KEY',
    ],
  },
  embedded: {
    about: 'a service that runs its executions itself, on SQLite or PostgreSQL',
    files: { 'order.ts': ORDER, 'order.test.ts': ORDER_TEST, 'main.ts': SERVICE },
    copied: [],
    scripts: { start: 'node main.ts', ...ORDER_SCRIPTS },
    commands: [
      'npm start            # takes orders at http://127.0.0.1:3000 and runs them; PORT and DATABASE_URL change that',
      `curl http://127.0.0.1:3000/orders -d '{"item":"tent","guest":"ann"}'    # in another terminal`,
    ],
  },
  agent: {
    about: 'an AI agent with tools and human approval, a coordinator and a worker',
    files: {
      'pipelines.ts': PIPELINES,
      'tools.ts': TOOLS,
      'agent.test.ts': AGENT_TEST,
      'worker.ts': workerOf('agent', PIPELINES_MODULE),
    },
    copied: ['agent/agent.ts', 'agent/rule-model.ts', 'agent/service-model.ts'],
    scripts: {
      dev: `holdfast dev ${PIPELINES_MODULE}`,
      worker: 'node worker.ts',
      test: 'node --test agent.test.ts',
      check: 'tsc -p .',
    },
    commands: [
      'npm run dev          # a coordinator with a console; it runs the agent and reloads it when you save it',
      `npx holdfast submit agent '"My order 7 came late."'    # in another terminal`,
      `npx holdfast answer  # lists the open question; answer it: npx holdfast answer <id> '{"approved":true}'`,
      'npm run worker       # runs the agent for a coordinator elsewhere (holdfast serve): HOLDFAST_URL, HOLDFAST_KEY',
    ],
  },
} as const satisfies Readonly<Record<string, Template>>;

export type TemplateName = keyof typeof TEMPLATES;
