// A worker of another project that has stolen ids, fences and sessions. It sends its messages to the
// coordinators, and none of them may read or change anything of the project `default`.

import type { WorkKind } from '../../../src/protocol/messages/work-messages.ts';
import { Fault } from '../../../src/support/fault.ts';
import type { Actor } from '../actor.ts';
import type { Workload } from '../plan.ts';
import { callerOf, SimulatedNetwork } from '../workers.ts';
import { ACTIVE_MS, between, pick, type World } from '../world.ts';

/** The ids, fences and sessions that it has stolen. */
interface Loot {
  readonly id: string;
  readonly fence: number;
  readonly session: string;
  readonly seq: number;
}

type Attack = (loot: Loot) => { readonly kind: WorkKind; readonly body: object };

const EVENTS = [{ kind: 'completed', body: '{}' }];
const SHARES = [{ lane: 'interactive', limit: 5 }];

const ATTACKS: Readonly<Record<string, Attack>> = {
  'ends the session': ({ session: id }) => ({
    kind: 'endSession',
    body: { id, owner: 'worker-1', exit: 'finished' },
  }),
  'beats for the session': ({ session: id }) => ({
    kind: 'heartbeat',
    body: { id, owner: 'worker-1' },
  }),
  'claims for the session': ({ session }) => ({
    kind: 'claimExecutions',
    body: { session, pipelines: ['order'], shares: SHARES },
  }),
  'lists the claims': ({ session: id }) => ({ kind: 'listClaims', body: { id } }),
  'finishes the execution': ({ id, fence, session, seq }) => ({
    kind: 'writeAsOwner',
    body: {
      writes: [
        { verb: 'finish', id, fence, session, seq: seq + 1, events: EVENTS, status: 'completed' },
      ],
    },
  }),
  'reads the history': ({ id }) => ({
    kind: 'readStoredHistory',
    body: { id, after: 0, limit: 10 },
  }),
  'reads the inbox': ({ id }) => ({ kind: 'readInbox', body: { id, after: 0, limit: 10 } }),
  'reads the execution': ({ id }) => ({ kind: 'readStoredExecution', body: { id } }),
};

export const hostile: Workload = {
  name: 'hostile',

  plan(random) {
    return Array.from({ length: between(random, 2, 6) }, () => {
      const attack = pick(random, Object.keys(ATTACKS));
      const atMs = between(random, 500, ACTIVE_MS);
      return { atMs, of: 'hostile', what: `the hostile project ${attack}`, details: { attack } };
    });
  },

  open(world) {
    const actor = world.actor('hostile', async (life) => {
      const coordinators = world.coordinators;
      return new SimulatedNetwork(world, { life, caller: callerOf('hostile') }, coordinators);
    });
    return ({ details }) => attackOnce(world, actor, String(details['attack']));
  },
};

function attackOnce(world: World, actor: Actor<SimulatedNetwork>, name: string): void {
  const { life, inside: network } = actor;
  const [loot] = world.disk.rows<Loot>(
    'select id, fence, session_id as session, seq from execution where status = 1 limit 1',
  );
  const attack = ATTACKS[name];
  if (life === undefined || network === undefined || loot === undefined || attack === undefined)
    return;
  if (world.coordinators.length === 0) return;
  world.operations += 1;
  world.run(life.process, async () => {
    const reply = await network.request<object>(attack(loot)).catch((fault: unknown) => {
      if (fault instanceof Fault) return { kind: 'refused' };
      throw fault;
    });
    if (!isRefusal(reply)) {
      world.violate(
        'M-4',
        `The hostile project ${name} of another project: ${JSON.stringify(reply)}.`,
      );
    }
  });
}

export function isRefusal(reply: object): boolean {
  const { kind, results = [] } = reply as { kind?: string; results?: readonly object[] };
  return (
    kind === 'refused' ||
    (results.length > 0 && results.every((each) => 'code' in each || isRefusal(each)))
  );
}
