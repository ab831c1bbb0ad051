import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { playExample } from '../services/play-example.ts';

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

  for (const [name, lines] of Object.entries(STORIES)) {
    test(`${name} prints the expected story, and leaves nothing behind`, () =>
      playExample(join(EXAMPLES, name), lines));
  }
});
