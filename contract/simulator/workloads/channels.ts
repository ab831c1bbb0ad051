// An operator puts, pauses, removes and replays channels. Coordinators claim their messages and send
// them to a receiver that fails now and then, also after it got the message. They evaluate alerts too.

import { parseProject } from '../../../src/execution/names.ts';
import type { AccessStore } from '../../../src/features/access/port.ts';
import { Alerts } from '../../../src/features/channels/alerts-duty.ts';
import { Deliveries, type SendResult } from '../../../src/features/channels/delivery-duty.ts';
import type { Channel, DeliveryRecord } from '../../../src/features/channels/model.ts';
import type { PutChannel } from '../../../src/features/channels/port.ts';
import { Fault } from '../../../src/support/fault.ts';
import type { Actor, Life } from '../actor.ts';
import { alertedOnce } from '../checkers/alerts.ts';
import { announcedOnce, Received } from '../checkers/channels.ts';
import type { Workload } from '../plan.ts';
import type { SimulatedProcess } from '../process.ts';
import { ACTIVE_MS, between, pick, type World } from '../world.ts';

const PROJECT = parseProject('default');
const EVENTS: PutChannel['events'] = [
  ...(['execution-ended', 'dead-letter-created', 'alert-raised', 'alert-cleared'] as const),
];
/** Low enough that most runs raise and clear some. */
const ALERTS = { deadLetters: 2, windowMs: 60_000, queueAgeMs: 600, noWorkersMs: 300 };
const ALERTS_EVERY_MS = 1_000;
/** A claim lasts twice as long, and a frozen coordinator much longer. */
const TIMEOUT_MS = 400;
const IDS = ['hooks', 'pager'] as const;

type Perform = (access: AccessStore, id: string, process: SimulatedProcess) => Promise<unknown>;

const ACTIONS: Readonly<Record<string, Perform>> = {
  put: (access, id, { random }) => access.putChannel(putting(id, random.uuid(), false)),
  pause: (access, id, { random }) => access.putChannel(putting(id, random.uuid(), true)),
  remove: (access, id) => access.removeChannel({ project: PROJECT, id }),
  replay: (access, id) => access.replayDeliveries({ project: PROJECT, id, limit: 100 }),
  'late record': recordLate,
};

/** Records its attempts after another caller has claimed the messages (CH-4). */
async function recordLate(
  access: AccessStore,
  id: string,
  { timers }: SimulatedProcess,
): Promise<void> {
  const channel = await access.channel({ project: PROJECT, id });
  if (channel === undefined) return;
  const { uid } = channel;
  const claimed = await access.claimDeliveries({ uid, limit: 2, leaseMs: 10 });
  await timers.pause(30);
  await access.claimDeliveries({ uid, limit: 100, leaseMs: 200 });
  const attempts = (claimed?.deliveries ?? []).map((each) => ({
    ...{ id: each.id, attempts: each.attempts, log: each.log },
    ...{ state: 'pending' as const, failed: each.failed, nextInMs: 50 },
  }));
  if (attempts.length === 0) return;
  await access.recordDeliveries({ channel, attempts, failures: 0, cooldownMs: 0, pauses: false });
}

function putting(id: string, uid: string, paused: boolean): PutChannel {
  return {
    ...{ project: PROJECT, id, uid, kind: 'webhook', url: 'https://example.com/', paused },
    ...{ events: EVENTS, alerts: ALERTS, secret: { key: 'k1', nonce: 'a' } },
  };
}

export const channels: Workload = {
  name: 'channels',

  plan(random) {
    const frequent = ['put', 'put', 'put', 'pause'];
    const planned = Array.from({ length: between(random, 1, 6) }, (_, nth) => {
      const action = nth === 0 ? 'put' : pick(random, [...frequent, ...Object.keys(ACTIONS)]);
      const atMs = nth === 0 ? between(random, 0, 500) : between(random, 500, ACTIVE_MS);
      return { action, id: pick(random, IDS), atMs };
    });
    return planned.map(({ action, id, atMs }) => ({
      atMs,
      of: 'channels',
      what: `the announcer wants ${action} of channel ${id}`,
      details: { action, id },
    }));
  },

  open(world) {
    const received = new Received();
    world.checkers.push(announcedOnce(world, received), alertedOnce(world));
    const announcer = world.actor('announcer', async (life) => life.link.store.access);
    for (const name of ['deliverer-1', 'deliverer-2']) {
      world.actor(name, async (life) => startDuties(world, life, received));
    }
    return ({ details }) => {
      perform(world, announcer, details as { readonly action: string; readonly id: string });
    };
  },
};

function perform(
  world: World,
  { life, inside: access }: Actor<AccessStore>,
  { action, id }: { readonly action: string; readonly id: string },
): void {
  const run = ACTIONS[action];
  if (life === undefined || access === undefined || run === undefined) return;
  world.operations += 1;
  world.run(life.process, () => run(access, id, life.process));
}

function startDuties(world: World, life: Life, received: Received): Pick<Alerts, 'stop'> {
  const { process, link } = life;
  const { clock, timers, random } = process;
  const weather = world.stream(`receiver of ${process.name}`);
  /** A request that has left its process arrives, whatever becomes of the process. */
  const send = ({ uid }: Channel, { id }: DeliveryRecord): Promise<SendResult> =>
    new Promise((resolve) => {
      const lot = weather.next();
      const arrivesMs = between(weather, 1, TIMEOUT_MS / 2);
      const repliesMs = arrivesMs + between(weather, 1, TIMEOUT_MS / 2);
      if (lot > 0.15) world.after(arrivesMs, () => received.add(uid, id));
      const reply = lot > 0.3 ? { status: 204 } : { error: 'no response' };
      world.scheduler.after(repliesMs, process, () => resolve(reply));
    });
  const { access: store, executions } = link.store;
  const onFault = (_: unknown, error: unknown): void => {
    if (error instanceof Fault) return;
    world.violate('code', `${process.name}: ${error instanceof Error ? error.stack : error}`);
  };
  const shared = { store, clock, timers, random, onFault };
  const deliveries = new Deliveries({
    ...{ ...shared, send, timeoutMs: TIMEOUT_MS, keepDays: 30 },
    onWakeup: (listener) => executions.onWakeup(() => listener()),
    shares: { begin: async () => undefined, charge: () => undefined },
  });
  // Without live workers, each execution that waits raises an alert.
  const workers = async (): Promise<readonly []> => [];
  const alerts = new Alerts({
    ...{ ...shared, figures: executions, workers, everyMs: ALERTS_EVERY_MS },
  });
  deliveries.start();
  alerts.start();
  return {
    async stop() {
      await Promise.all([deliveries.stop(), alerts.stop()]);
    },
  };
}
