import assert from 'node:assert/strict';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import type { Message } from '../../examples/agent/agent.ts';
import { ruleModel } from '../../examples/agent/rule-model.ts';
import { playExample } from '../services/play-example.ts';
import { sample } from '../services/tier.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples/executions');

/** The lines that each example must print, in this order. */
const STORIES: Readonly<Record<string, readonly RegExp[]>> = {
  'image-pipeline.ts': [
    /24 pictures, at most 4 at once/,
    /24 pictures, 460800 pixels, [1-4] at once at most/,
    /brightness +8/,
    /24 thumbnails are attached/,
  ],
  'order-saga.ts': [
    /clicks twice and gets the same execution/,
    /worker-1 +did: reserve tent, book tent, charge tent\n/,
    /SIGKILL: worker-1/,
    /ran "charge" again/,
    /recognised this repeat by its idempotency key: charge tent\n/,
    /effects: reserve tent, book tent, charge tent, ship tent\n/,
    /the execution is compensated: card-declined/,
    /effects: reserve stove, book stove, cancel stove, release stove\n/,
    /no order is half done/,
  ],
  'restaurant-approval.ts': [
    /soup for ann: Waiting for an answer to "approval", until /,
    /answers "maybe" and gets an error: true/,
    /approves the soup; the order ends with: dispatch soup/,
    /rejects the fish; the order ends with: compensated: restaurant-declined/,
    /does not answer in time; the order ends with: compensated: restaurant-silent/,
    /SIGKILL: worker-1/,
    /starts and reads the answer; the order ends with: dispatch rice/,
    /effects: charge ann, dispatch soup, charge bob, refund bob, charge cat, refund cat, charge dan, dispatch rice\n/,
  ],
};

describe('examples of executions', () => {
  test('every example is checked here', async () => {
    const names = (await readdir(EXAMPLES)).sort();
    const texts = await Promise.all(names.map((name) => readFile(join(EXAMPLES, name), 'utf8')));
    const stories = names.filter((_, index) => texts[index]?.includes('story.play(') === true);
    assert.deepEqual(stories, Object.keys(STORIES));
  });

  for (const [name, lines] of sample('examples of executions', Object.entries(STORIES), 1)) {
    test(`${name} prints the expected story, and leaves nothing behind`, () =>
      playExample(join(EXAMPLES, name), lines));
  }
});

const ROOT = join(import.meta.dirname, '../..');

/** The end of each story that has its own folder. */
const OTHERS: Readonly<Record<string, readonly RegExp[]>> = {
  'agent/main.ts': [
    /asks for approval: \{"tool":"refund","input":\{"id":7,"cents":4200\}\}/,
    /SIGKILL: worker-1, after 2 calls of the model/,
    /We refunded 42 euros/,
    /called the model 1 time/,
    /We cannot refund order 7/,
    /Order 8 arrived in time/,
  ],
  'hono/main.ts': [
    /gets one order/,
    /"output":"shipped tent"/,
    /effects: charge tent, ship tent\n/,
  ],
  'outbox/main.ts': [
    /relay-2 +takes over/,
    /relay-1 +wakes up and is REFUSED: Fence 1\.1 .* is stale/,
    /keeps 4: ordered tent, ordered stove, ordered lamp, ordered rope\n/,
  ],
};

for (const [file, lines] of sample('other examples', Object.entries(OTHERS), 1)) {
  test(`the example ${file} prints the expected story, and leaves nothing behind`, () =>
    playExample(join(ROOT, 'examples', file), lines));
}

test('the agent works with a model behind an OpenAI-compatible API', async (t) => {
  const service = createServer(async (request, response) => {
    const { messages, tools } = (await json(request)) as ChatRequest;
    assert.equal(request.headers.authorization, 'Bearer secret');
    assert.deepEqual(
      tools.map((each) => each.function.name),
      ['find_order', 'refund'],
    );
    const received = messages.map(({ role, content }) =>
      content.startsWith('Result: ')
        ? { role: 'tool', content: content.slice(8) }
        : { role, content },
    ) as readonly Message[];
    const reply = await ruleModel(received, {});
    const message =
      reply.kind === 'answer'
        ? { content: reply.text }
        : {
            content: null,
            tool_calls: [
              { function: { name: reply.tool, arguments: JSON.stringify(reply.input) } },
            ],
          };
    response.end(JSON.stringify({ choices: [{ message }] }));
  }).listen(0, '127.0.0.1');
  await once(service, 'listening');
  t.after(() => service.close());
  const { port } = service.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/v1`;
  const variables = { MODEL_URL: url, MODEL_KEY: 'secret', MODEL_NAME: 'any' };
  await playExample(join(ROOT, 'examples/agent/main.ts'), [/We refunded 42 euros/], variables);
});

interface ChatRequest {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly tools: readonly { readonly function: { readonly name: string } }[];
}

test('the table of examples has each program with its command, and no other', async () => {
  const files = globSync('examples/**/*.ts', { cwd: ROOT });
  const texts = await Promise.all(files.map((file) => readFile(join(ROOT, file), 'utf8')));
  const commands = texts.flatMap((text) => /^\/\/ {3}(npm run example .+)$/m.exec(text)?.[1] ?? []);
  const table = await readFile(join(ROOT, 'examples/README.md'), 'utf8');
  const listed = [...table.matchAll(/`(npm run example examples\S+)`/g)].map(([, each]) => each);
  assert.deepEqual([...listed].sort(), [...commands].sort());
});
