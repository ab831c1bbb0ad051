// A store whose owners write through a coordinator over HTTP, as remote workers do; everything else
// goes to the store itself. The promises to embedded pipelines must hold this way too. Operator
// calls belong to the coordinator, so this store does not send them.

import { openServer } from '../../src/server/serve.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { systemClock } from '../../src/support/clock.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { greet } from '../../src/worker/greet.ts';
import { httpTransport } from '../../src/worker/http-transport.ts';
import { remoteStore } from '../../src/worker/remote-store.ts';

const SESSION_VERBS = ['open', 'heartbeat'] as const;
const OWNER_VERBS = [
  ...([
    'claim',
    'room',
    'record',
    'finish',
    'park',
    'giveBack',
    'inbox',
    'history',
    'read',
  ] as const),
  ...(['interaction', 'putBlob', 'getBlob', 'attributeBlobs'] as const),
];

export async function overRest(
  store: CoordinatorStore,
): Promise<{ readonly store: CoordinatorStore; close(): Promise<void> }> {
  const server = await openServer({ store, auth: 'off', port: 0, maintenance: true });
  const timers = systemTimers;
  const transport = httpTransport({ url: server.url, timers });
  const hello = await greet(transport, {
    timers,
    observer: { report: () => undefined },
    connectMs: 0,
  });
  const remote = remoteStore({ transport, hello, clock: systemClock, timers, pipelines: [] });
  return {
    store: {
      ...store,
      sessions: {
        ...mixed(store.sessions, remote.sessions, SESSION_VERBS),
        end: (request) => (request.by.kind === 'owner' ? remote : store).sessions.end(request),
      },
      executions: mixed(store.executions, remote.executions, OWNER_VERBS),
    },
    async close() {
      await remote.close();
      await server.close();
      await store.close();
    },
  };
}

function mixed<Port extends object>(
  direct: Port,
  remote: Partial<Port>,
  verbs: readonly (keyof Port)[],
): Port {
  const through = verbs.map((verb) => [verb, Reflect.get(remote, verb)] as const);
  return { ...direct, ...Object.fromEntries(through) };
}
