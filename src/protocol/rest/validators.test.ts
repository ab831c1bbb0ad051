import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STATUSES } from '../../execution/execution.ts';
import { parseProject } from '../../execution/names.ts';
import type { Role } from '../../features/access/model.ts';
import { ROUTES } from './routes.ts';
import { callCheckOf } from './validators.ts';

const CALL = {
  ...{ params: undefined, query: undefined, body: undefined, isEncrypted: false },
  header: () => undefined,
  caller: { name: 'ci', project: parseProject('default'), isOfAll: false, roles: new Set<Role>() },
  signal: new AbortController().signal,
};

function refusal(route: string, part: 'params' | 'query' | 'body', given: unknown): string {
  const found = ROUTES.find(({ name }) => name === route);
  assert.ok(found !== undefined, route);
  try {
    callCheckOf(found)({ ...CALL, [part]: given });
  } catch (error) {
    return (error as Error).message;
  }
  return 'it fits';
}

test('an invalid field is explained in a sentence, with the most similar name', () => {
  assert.match(
    refusal('readExecution', 'params', { id: 'x' }),
    /^id must be an id such as 01890a5d-.*, whole and in small letters, or "key:" and a key\. Nothing was done\.$/,
  );
  const status = refusal('listExecutions', 'query', { status: ['runing'] });
  for (const each of STATUSES) assert.ok(status.includes(each), `${each} is in: ${status}`);
  assert.match(status, /^status must be one of queued, .*did you mean running\?/);
  assert.match(
    refusal('listArchive', 'query', { from: 'yesterday' }),
    /^from must be a time such as 2026-11-01T00:00:00Z\. Nothing was done\.$/,
  );
  const key = refusal('createKey', 'body', {
    name: 'ci',
    roles: ['sumbit'],
    project: null,
    more: 1,
  });
  assert.match(key, /roles\[0\] must be one of submit, .*\(did you mean submit\?\)/);
  assert.match(key, /The body has an unknown more/);
  const typo = refusal('submitExecution', 'body', { pipline: 'order' });
  assert.match(typo, /The body has an unknown pipline \(did you mean pipeline\?\)/);
  assert.match(refusal('createKey', 'body', {}), /The body must have name, roles, project/);
  assert.match(refusal('readKey', 'params', { id: 'hf_x' }), /never the whole key/);
});

test('only the intended one of several message forms is explained; an unknown word is named', () => {
  const id = '01890a5d-ac96-774b-bcce-b302099a8057';
  const write = { id, fence: 1, session: id, seq: 1, events: [] };
  const problemWith = (verb: string) =>
    refusal('writeAsOwner', 'body', {
      writes: [
        { ...write, verb: 'record' },
        { ...write, verb },
      ],
    });
  assert.equal(problemWith('record'), 'it fits');
  assert.match(
    problemWith('recrod'),
    /^writes\[1\]\.verb must be one of record, finish, park, giveBack \(did you mean record\?\)\. Nothing/,
  );
  assert.equal(problemWith('park'), 'writes[1] must have wakeAfter, inboxSeen. Nothing was done.');
  assert.match(refusal('writeAsOwner', 'body', { writes: [{ ...write }] }), /must have .*verb/);
});

test('no message shows the pattern of a schema', () => {
  for (const { params, name } of ROUTES) {
    const { properties = {} } = (params ?? {}) as { properties?: Record<string, unknown> };
    const wrong = Object.fromEntries(Object.keys(properties).map((each) => [each, '\u0000 ^$']));
    if (Object.keys(wrong).length === 0) continue;
    assert.doesNotMatch(refusal(name, 'params', wrong), /\[0-9|pattern|\^\[/, name);
  }
});

test('only the beginning of long names, and the first of many, are repeated', () => {
  const long = { pipeline: 'order', ['x'.repeat(2 ** 20)]: 1 };
  assert.ok(refusal('submitExecution', 'body', long).length < 200);
  const many = Object.fromEntries(Array.from({ length: 7 }, (_, n) => [`x${n}`, 1]));
  assert.match(refusal('submitExecution', 'body', many), / and 2 more/);
  assert.ok(refusal('cancelExecution', 'query', { ['x'.repeat(2 ** 20)]: 1 }).length < 200);
});
