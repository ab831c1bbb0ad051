// The tenants suite: the rate of a healthy project while a hostile project loads a shared part of the
// coordinator. Rounds with and without the attack take turns. The suite fails if a request of the
// healthy project is refused, one of its sessions expires, or its rate falls below the goal.

import { freePort } from '../../test/services/free-port.ts';
import { Caller } from '../coordinator/caller.ts';
import { type Running, start } from '../coordinator/processes.ts';
import { openStoreFactory } from '../executions/store-factory.ts';
import type { StoreLocation } from '../executions/store-location.ts';
import { drive, medianRatio, medianRound, type Round, ratios } from '../measure.ts';
import type { Result, Settings } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import { BenchFailed, type Plan, type Suite } from '../suite.ts';
import { ATTACKS, type Attack } from './attacks.ts';

const STORES = ['sqlite', 'postgres'] as const;
const IN_FLIGHT = 16;
/** The smallest “of alone”. */
const GOAL = 0.4;

export const tenantsSuite: Suite = {
  name: 'tenants',
  summary:
    'Executions of a healthy project beside a hostile project, for each part that they share',
  legend: [
    'alone, beside: executions per second of the healthy project, without and with the attack.',
    `of alone: “beside” divided by “alone”, the median of the rounds. The suite fails below ${GOAL}.`,
    'smallest: “of alone” of the worst round.',
    'attacker: CPU cores that the process of the hostile project takes from the same machine.',
  ],
  run: runTenantsSuite,
};

async function* runTenantsSuite(plan: Plan): AsyncGenerator<Result, void, void> {
  const folder = scratchFolder();
  const { nth, of } = plan.part;
  const attacks = ATTACKS.filter(({ name }) => name.includes(plan.only)).filter(
    (_, index) => index % of === nth - 1,
  );
  const slow: string[] = [];
  for (const kind of STORES.filter((each) => plan.stores.includes(each))) {
    plan.progress(`${kind}: opening`);
    const factory = await openStoreFactory(kind, folder);
    try {
      for (const attack of attacks) {
        plan.progress(`${kind}: ${attack.name}`);
        const { results, ofAlone } = await factory.with((location) =>
          measure(plan, { location, attack, folder }, factory.settings),
        );
        if (ofAlone < GOAL) slow.push(`${attack.name} on ${kind}: ${ofAlone.toFixed(2)}`);
        yield* results;
      }
    } finally {
      await factory.close();
    }
  }
  if (slow.length > 0) {
    throw new BenchFailed(`The healthy project fell below ${GOAL}:\n${slow.join('\n')}`);
  }
}

interface Measured {
  readonly location: StoreLocation;
  readonly attack: Attack;
  /** For the archive. */
  readonly folder: string;
}

async function measure(
  plan: Plan,
  { location, attack, folder }: Measured,
  settings: Settings,
): Promise<{ readonly results: readonly Result[]; readonly ofAlone: number }> {
  const { needs } = attack;
  const endpointPort = await freePort();
  const servers = needs === 'queue' ? [await startQueues(), await startQueues()] : [];
  const [ofHealthy, ofHostile] = servers.map(({ firstLine }) => JSON.parse(firstLine) as object);
  const queues = ofHealthy && { healthy: ofHealthy, hostile: ofHostile };
  const given = { location, needs, endpointPort, folder, queues };
  const node = await start('../tenants/node.ts', given);
  const { url, grpcAddress, healthy, hostile, weak } = JSON.parse(node.firstLine) as Record<
    string,
    string
  >;
  const access = { url, grpcAddress, key: hostile, weakKey: weak, endpointPort, queues };
  const [worker, tenant] = await Promise.all([
    start('worker.ts', { url, key: healthy, queues: ofHealthy }),
    start('../tenants/hostile.ts', { ...access, attack: attack.name }),
  ]);
  const caller = new Caller(url ?? '', healthy);
  try {
    const before = await liveSessions(caller);
    const { alone, beside, attackerCores } = await rounds(plan, caller, () =>
      tenant.request('toggle'),
    );
    const after = await liveSessions(caller);
    if (before.join() !== after.join()) {
      throw new Error(
        `${attack.name}: sessions of the healthy project changed from ${before.join()} to ${after.join()}.`,
      );
    }
    const about = { suite: 'tenants', case: attack.name, store: location.kind, settings };
    const rate = (metric: string, of: readonly Round[]): Result => {
      const { perSecond, p50Ms, p99Ms } = medianRound(of);
      return { ...about, metric, value: perSecond, unit: '/s', p50Ms, p99Ms };
    };
    const ratio = (metric: string, value: number): Result => ({
      ...about,
      metric,
      value,
      unit: '×',
    });
    const ofAlone = medianRatio(beside, alone);
    const smallest = Math.min(...ratios(beside, alone));
    return {
      ofAlone,
      results: [
        ...[rate('beside', beside), rate('alone', alone)],
        ...[ratio('of alone', ofAlone), ratio('smallest', smallest)],
        { ...about, metric: 'attacker', value: attackerCores, unit: 'cores' },
      ],
    };
  } finally {
    caller.close();
    await tenant.stop();
    await worker.stop();
    await node.stop();
    for (const server of servers) await server.stop();
  }
}

const startQueues = (): Promise<Running> => start('../tenants/queues.ts');

interface Rounds {
  readonly alone: readonly Round[];
  readonly beside: readonly Round[];
  readonly attackerCores: number;
}

/** Throws if a request of the healthy project fails or is refused. */
async function rounds(plan: Plan, caller: Caller, toggle: () => Promise<unknown>): Promise<Rounds> {
  const roundMs = plan.quick ? 500 : 1_200;
  const count = plan.rounds ?? (plan.quick ? 3 : 5);
  const operation = async (): Promise<unknown> => caller.result(await caller.submit());
  const contestant = { inFlight: IN_FLIGHT, operation };
  await drive(contestant, roundMs);
  const alone: Round[] = [];
  const beside: Round[] = [];
  let cpuMs = 0;
  for (let round = 0; round < count; round += 1) {
    alone.push(await drive(contestant, roundMs));
    const before = Number(await toggle());
    beside.push(await drive(contestant, roundMs));
    cpuMs += Number(await toggle()) - before;
  }
  return { alone, beside, attackerCores: cpuMs / (count * roundMs) };
}

async function liveSessions(caller: Caller): Promise<readonly string[]> {
  const { body } = await caller.call('GET', '/v1/workers?limit=100');
  const { items } = JSON.parse(body) as { items: readonly { id: string; state: string }[] };
  return items.map(({ id, state }) => `${id} ${state}`);
}
