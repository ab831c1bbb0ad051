import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WriteMessage } from '../messages/work.ts';
import { merged } from './call-reply.ts';

function write(verb: string, seq: number, more: object = {}): WriteMessage {
  const events = [{ kind: 'step-completed', name: `${verb} ${seq}` }];
  return { verb, seq, events, ...more } as never;
}

test('M-15: records merge with the finish after them; a park, which unread messages may refuse, stays separate', () => {
  const mergedWrites = (...writes: readonly WriteMessage[]): unknown =>
    merged(writes).map(({ verb, seq, events }) => [verb, seq, events.length]);
  assert.deepEqual(mergedWrites(write('record', 3), write('record', 4), write('finish', 5)), [
    ['finish', 3, 3],
  ]);
  assert.deepEqual(mergedWrites(write('record', 3), write('record', 4), write('park', 5)), [
    ['record', 3, 2],
    ['park', 5, 1],
  ]);
  // The store refuses the gap.
  assert.deepEqual(mergedWrites(write('record', 3), write('finish', 9)), [
    ['record', 3, 1],
    ['finish', 9, 1],
  ]);
  assert.deepEqual(mergedWrites(), []);
});

test('M-15: merged writes lose nothing, and the newest progress is kept', () => {
  const [one] = merged([
    write('record', 3, { children: [1], progress: 'old' }),
    write('record', 4, { awaits: [2], progress: 'new' }),
    write('finish', 5, { children: [3], attachments: [4], status: 'completed' }),
  ]);
  const { children, awaits, attachments, progress } = one as unknown as Record<string, unknown>;
  assert.deepEqual(
    { children, awaits, attachments, progress },
    {
      ...{ children: [1, 3], awaits: [2], attachments: [4], progress: 'new' },
    },
  );
});
