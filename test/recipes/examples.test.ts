import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { playExample } from '../services/play-example.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples/leases');

/** The lines that each example must print, in this order. */
const STORIES: Readonly<Record<string, readonly RegExp[]>> = {
  'partition-processor': [/SIGKILL: three/, /four joins/, /no gap; \d+ repeated/],
  'service-registry': [/node-b suspect/, /node-b recovered/, /node-c suspect/, /node-c gone/],
  'singleton-scheduler': [
    /SIGKILL/,
    /leader before: expired/,
    /requests \w+ to stop/,
    /leader before: yielded/,
  ],
  'subscription-cancellation': [
    /SIGKILL: worker-1/,
    /exit "expired", done: stop-renewal, open intent: subscription\/9\/refund-rest/,
    /did "refund-rest" happen\? true/,
    /was called 3 times: stop-renewal, refund-rest, send-confirmation/,
  ],
};

describe('examples of leases', () => {
  test('every example is checked here', async () => {
    const entries = await readdir(EXAMPLES, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    assert.deepEqual(folders.sort(), Object.keys(STORIES));
  });

  for (const [name, lines] of Object.entries(STORIES)) {
    test(`${name} prints the expected story, and leaves nothing behind`, () =>
      playExample(join(EXAMPLES, name, 'main.ts'), lines));
  }
});
