// Every route and every write of a worker, called by a key of another project with the ids of its victim.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ROLES } from '../../src/features/access/model.ts';
import type { Route } from '../../src/protocol/rest/route.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { TestCoordinator } from './coordinator.ts';
import { look, plantVictim, type Reach, reachOf, writesOf } from './victim.ts';

interface Reply {
  readonly code?: string;
  readonly input?: unknown;
  readonly items?: readonly { readonly code?: string }[];
}

export const guarded = ROUTES.filter(({ allows }) => allows !== 'public');

export async function callDoor(
  coordinator: TestCoordinator,
  route: Route,
  { key, reach }: { readonly key?: string; readonly reach?: Reach },
): Promise<{ readonly status: number; readonly code: string; readonly input?: unknown }> {
  const path = reach?.path ?? route.path.replace(/:\w+/g, 'x');
  const body = reach?.body;
  const response = await fetch(`${coordinator.url}${path}`, {
    method: route.method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { status } = response;
  const { code = '', items, input } = (await response.json().catch(() => ({}))) as Reply;
  return { status, code: items?.[0]?.code ?? code, ...(input === undefined ? {} : { input }) };
}

const SECRET = 'a secret of thirty-two bytes, or more';

/** Operations that must be among those that reach for the victim. */
const REACHED: readonly string[] = [
  ...['redriveExecution', 'cancelExecution', 'pauseExecution', 'resumeExecution'],
  ...[
    'signalExecution',
    'answerAwait',
    'answerAwaits',
    'answerPlace',
    'cancelAwait',
    'expireAwaits',
  ],
  ...['heartbeat', 'endSession', 'forceSessionEnd', 'writeAsOwner', 'claimExecutions'],
];

export function registerForeignDoors(
  label: string,
  openStore: () => Promise<CoordinatorStore | undefined>,
): void {
  describe(`a key of another project, on ${label}`, () => {
    test('reaches no route of the victim, and nothing there changes', async () => {
      const store = await openStore();
      await using coordinator = await TestCoordinator.open({
        links: { keys: { one: SECRET }, current: 'one' },
        ...(store && { store }),
      });
      const victim = await plantVictim(coordinator);
      const key = await coordinator.key(ROLES, 'stranger');
      const before = await look(coordinator, victim);
      const reached: string[] = [];
      for (const route of guarded) {
        const reach = reachOf(route, victim);
        if (reach === undefined) continue;
        const { status, code, input } = await callDoor(coordinator, route, { key, reach });
        const isRefused =
          // Its reply has a result for each question.
          (route.name === 'answerAwaits' && code === 'await-unknown') ||
          // A pipeline of that name without a schema.
          (route.name === 'readInput' && status === 200 && input === undefined);
        assert.ok(isRefused || [403, 404].includes(status), `${route.name}: ${status} ${code}`);
        assert.notEqual(code, 'route-unknown', route.name);
        reached.push(route.name);
      }
      const missing = REACHED.filter((name) => !reached.includes(name));
      assert.deepEqual(missing, []);
      const route = guarded.find(({ name }) => name === 'writeAsOwner');
      assert.ok(route);
      for (const write of writesOf(victim)) {
        const reach = { path: route.path, body: { writes: [write] } };
        const { status } = await callDoor(coordinator, route, { key, reach });
        assert.ok([403, 404].includes(status), JSON.stringify(write));
      }
      assert.deepEqual(await look(coordinator, victim), before);
    });
  });
}
