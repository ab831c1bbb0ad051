import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toInstant } from '../../../support/clock.ts';
import type { PlainGateway } from '../script.ts';
import { keysOf } from './keys.ts';

const ROW = {
  ...{ id: 'valid', project: null, roles: '["submit"]', name: 'ours', digest: 'sha256:0' },
  ...{ created_at: toInstant(1), created_by: '', expires_at: null, ended_at: null },
};

test('keys that are asked for together are read together, so a flood delays no other key', async () => {
  let statements = 0;
  const ends: PromiseWithResolvers<void>[] = [];
  const read: PlainGateway['read'] = async (script) => {
    statements += 1;
    const end = Promise.withResolvers<void>();
    ends.push(end);
    await end.promise;
    const running = script();
    running.next();
    const { value } = running.next([ROW]);
    return value as never;
  };
  const { key } = keysOf({ read, write: read } as PlainGateway);
  const flood = Array.from({ length: 800 }, (_, nth) => key(`wrong-${nth}`));
  const twice = [key('valid'), key('valid')];
  assert.equal(statements, 1, 'while one statement is in progress, keys wait');
  ends.shift()?.resolve();
  assert.equal(await flood[0], undefined);
  assert.equal(statements, 2);
  ends.shift()?.resolve();
  assert.deepEqual(
    (await Promise.all(twice)).map((found) => found?.id),
    ['valid', 'valid'],
  );
  assert.deepEqual(new Set(await Promise.all(flood)), new Set([undefined]));
  assert.equal(statements, 2);
});

test('a read that fails rejects for its callers, and the next one reads again', async () => {
  let isAway = true;
  const read = (async () => {
    if (isAway) throw new Error('away');
    return [];
  }) as PlainGateway['read'];
  const { key } = keysOf({ read, write: read } as PlainGateway);
  await assert.rejects(key('one'), /away/);
  isAway = false;
  assert.equal(await key('one'), undefined);
});
