// A store whose owners go through a coordinator, over HTTP, as workers elsewhere do; everything else goes to
// the store itself. What holds for pipelines embedded must hold for them this way too.

import { JOB_PIPELINE } from '../../src/engine/jobs.ts';
import { openServer } from '../../src/server/serve.ts';
import type {
  Claim,
  ClaimAnswer,
  CoordinatorStore,
} from '../../src/store/contract/execution-store.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { greet } from '../../src/worker/greet.ts';
import { httpCarrier } from '../../src/worker/http-carrier.ts';
import { remoteStore } from '../../src/worker/remote-store.ts';

const SESSION_VERBS = ['open', 'heartbeat'];
const OWNER_VERBS = [
  ...['claim', 'room', 'record', 'finish', 'park', 'giveBack', 'inbox', 'history', 'read'],
  ...['interaction', 'putBlob', 'getBlob', 'attributeBlobs'],
];

export async function overRest(
  store: CoordinatorStore,
): Promise<{ readonly store: CoordinatorStore; close(): Promise<void> }> {
  const server = await openServer({ store, auth: 'off', port: 0, tends: false });
  const timers = systemTimers;
  const carrier = httpCarrier({ url: server.url, timers });
  const hello = await greet(carrier, {
    timers,
    observer: { report: () => undefined },
    connectMs: 0,
  });
  const remote = remoteStore({ carrier, hello, timers, pipelines: [] });
  return {
    store: {
      ...store,
      sessions: {
        ...mixed(store.sessions, remote.sessions, SESSION_VERBS),
        end: (request) => (request.by.kind === 'owner' ? remote : store).sessions.end(request),
      },
      executions: {
        ...mixed(store.executions, remote.executions, OWNER_VERBS),
        claim: (request) => claimFrom(store, remote, request),
      },
    },
    async close() {
      await remote.close();
      await server.close();
      await store.close();
    },
  };
}

/** Acts of operators are run beside the store: nobody gets them from a coordinator. */
async function claimFrom(
  store: CoordinatorStore,
  remote: CoordinatorStore,
  request: Claim,
): Promise<ClaimAnswer> {
  const answer = await remote.executions.claim(request);
  const jobs = request.pipelines.filter((name) => name === JOB_PIPELINE);
  if (answer.kind === 'refused' || jobs.length === 0) return answer;
  const room = request.shares.map(({ lane, limit }) => {
    const taken = answer.claims.filter(({ execution }) => execution.lane === lane).length;
    return { lane, limit: limit - taken };
  });
  const more = await store.executions.claim({ ...request, pipelines: jobs, shares: room });
  return more.kind === 'refused'
    ? answer
    : { ...answer, claims: [...answer.claims, ...more.claims] };
}

function mixed<Port extends object>(direct: Port, remote: Port, verbs: readonly string[]): Port {
  const through = verbs.map((verb) => [verb, Reflect.get(remote, verb)] as const);
  return { ...direct, ...Object.fromEntries(through) };
}
