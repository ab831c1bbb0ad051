// Every route, called by everyone who may not: without a key, with the wrong role, from another
// project.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROLES, type Role } from '../../src/features/access/model.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { systemRandom } from '../../src/support/random.ts';
import { TestCoordinator } from './coordinator.ts';
import { callDoor as call, guarded, registerForeignDoors } from './foreign-doors.ts';
import { look, plantVictim } from './victim.ts';

const PUBLIC: readonly string[] = [
  ...[
    'readLink',
    'answerByLink',
    'answerByChannel',
    'checkHealth',
    'checkReadiness',
    'describeApi',
    'signOut',
  ],
];

test('only these routes are public', () => {
  const found = ROUTES.filter(({ allows }) => allows === 'public').map(({ name }) => name);
  assert.deepEqual(found.sort(), [...PUBLIC].sort());
});

test('every other route refuses callers without a valid key', async () => {
  const limits = { wrongKeysPerMinute: 100_000 };
  await using coordinator = await TestCoordinator.onMemory({ limits });
  const strange = (await coordinator.key(['submit'])).slice(0, -3).concat('AAA');
  for (const route of guarded) {
    for (const key of [undefined, strange, 'x']) {
      const answer = await call(coordinator, route, key === undefined ? {} : { key });
      assert.deepEqual(answer, { status: 401, code: 'key-required' }, route.name);
    }
  }
});

test('every other route refuses keys with another role', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const keys = new Map<Role, string>();
  for (const role of ROLES) keys.set(role, await coordinator.key([role], 'default'));
  for (const route of guarded) {
    const { allows, needs = [] } = route;
    const wrong = ROLES.filter(
      (role) => !allows.includes(role as never) || needs.some((needed) => needed !== role),
    );
    assert.ok(wrong.length > 0, route.name);
    for (const role of wrong) {
      const key = keys.get(role) ?? '';
      const answer = await call(coordinator, route, { key });
      assert.deepEqual(answer, { status: 403, code: 'role-missing' }, `${route.name} by ${role}`);
    }
  }
});

registerForeignDoors('sqlite', async () => undefined);

test('a key of one project cannot select another one', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  await coordinator.key(['submit'], 'victim');
  const key = await coordinator.key(['submit'], 'stranger');
  const headers = { authorization: `Bearer ${key}`, 'holdfast-project': 'victim' };
  const response = await fetch(`${coordinator.url}/v1/executions`, { headers });
  assert.deepEqual(
    [response.status, ((await response.json()) as { code: string }).code],
    [403, 'project-denied'],
  );
});

test("a worker learns nothing of another project's executions from refused writes", async () => {
  await using coordinator = await TestCoordinator.open();
  const victim = await plantVictim(coordinator);
  const key = await coordinator.key(['work'], 'stranger');
  const before = await look(coordinator, victim);
  const post = async (path: string, body: unknown): Promise<unknown> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const url = `${coordinator.url}${path}`;
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    return response.json();
  };
  const session = systemRandom.uuid();
  const opening = { id: session, owner: 'stranger', ttlMs: 60_000, graceMs: 1_000 };
  await post('/v1/work/sessions', opening);
  const { waiting: id } = victim;
  const owner = { id, fence: 2 ** 40 + 1, session, seq: 1, events: [] };
  const writes = [
    { verb: 'record', ...owner },
    { verb: 'park', ...owner, events: [{ kind: 'parked' }], wakeAfter: 0, inboxSeen: 0 },
    { verb: 'giveBack', ...owner, events: [{ kind: 'given-back' }] },
    { verb: 'finish', ...owner, events: [{ kind: 'completed' }], status: 'completed' },
  ];
  const unknownId = systemRandom.uuid();
  const ofUnknown = writes.map((write) => ({ ...write, id: unknownId }));
  const refused = JSON.stringify(await post('/v1/work/writes', { writes }));
  const unknown = JSON.stringify(await post('/v1/work/writes', { writes: ofUnknown }));
  assert.equal(refused, unknown.replaceAll(unknownId, id));
  assert.equal(refused.match(/"kind":"refused"/g)?.length, writes.length);
  assert.deepEqual(await look(coordinator, victim), before);
});
