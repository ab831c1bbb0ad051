// The suite of tenants: what is left of a healthy project's rate while another project does its worst to each loop that
// they share. Alone and beside take turns. It fails where a healthy write is refused or a healthy session expires.

import { Caller } from '../coordinator/caller.ts';
import { start } from '../coordinator/processes.ts';
import { openGround } from '../executions/ground.ts';
import type { Place } from '../executions/place.ts';
import { drive, medianRatio, medianRound, type Round } from '../measure.ts';
import type { Result, Settings } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Plan, Suite } from '../suite.ts';
import { ATTACKS, type Attack } from './attacks.ts';

const STORES = ['sqlite', 'postgres'] as const;
const IN_FLIGHT = 16;

export const tenantsSuite: Suite = {
  name: 'tenants',
  summary: "a healthy project's executions beside a hostile project, for each loop that they share",
  legend: [
    'alone, beside: executions per second of the healthy project, from submit to result, with a worker over HTTP.',
    'of alone: their ratio, the median of the rounds, which take turns; at least 0.4 is wanted.',
    'The hostile project has a process of its own on the same machine, which is part of what it costs.',
  ],
  run: runTenantsSuite,
};

async function* runTenantsSuite(plan: Plan): AsyncGenerator<Result, void, void> {
  const folder = scratchFolder();
  for (const kind of STORES.filter((each) => plan.stores.includes(each))) {
    plan.progress(`${kind}: opening`);
    const ground = await openGround(kind, folder);
    try {
      for (const attack of ATTACKS.filter(({ name }) => name.includes(plan.only))) {
        plan.progress(`${kind}: ${attack.name}`);
        yield* await ground.with((place) => measure(plan, { place, attack }, ground.settings));
      }
    } finally {
      await ground.close();
    }
  }
}

async function measure(
  plan: Plan,
  { place, attack }: { readonly place: Place; readonly attack: Attack },
  settings: Settings,
): Promise<readonly Result[]> {
  const node = await start('../tenants/node.ts', place);
  const { url, healthy, hostile } = JSON.parse(node.firstLine) as Record<string, string>;
  const worker = await start('worker.ts', { url, key: healthy });
  const tenant = await start('../tenants/hostile.ts', { url, key: hostile, attack: attack.name });
  const caller = new Caller(url ?? '', healthy);
  try {
    const before = await liveSessions(caller);
    const { alone, beside } = await rounds(plan, caller, () => tenant.ask('toggle'));
    const after = await liveSessions(caller);
    if (before.join() !== after.join()) {
      throw new Error(
        `${attack.name}: sessions of the healthy project were ${before.join()} and are ${after.join()}.`,
      );
    }
    const about = { suite: 'tenants', case: attack.name, store: place.kind, settings };
    const rate = (metric: string, of: readonly Round[]): Result => {
      const { perSecond, p50Ms, p99Ms } = medianRound(of);
      return { ...about, metric, value: perSecond, unit: '/s', p50Ms, p99Ms };
    };
    const ratio = { metric: 'of alone', value: medianRatio(beside, alone), unit: '×' };
    return [rate('beside', beside), rate('alone', alone), { ...about, ...ratio }];
  } finally {
    caller.close();
    await tenant.stop();
    await worker.stop();
    await node.stop();
  }
}

interface Rounds {
  readonly alone: readonly Round[];
  readonly beside: readonly Round[];
}

/** The bench ends with an error when a request of the healthy project fails or is refused. */
async function rounds(plan: Plan, caller: Caller, toggle: () => Promise<unknown>): Promise<Rounds> {
  const roundMs = plan.quick ? 1_500 : 5_000;
  const count = plan.quick ? 3 : 7;
  const operation = async (): Promise<unknown> => caller.result(await caller.submit());
  const contestant = { inFlight: IN_FLIGHT, operation };
  await drive(contestant, roundMs);
  const alone: Round[] = [];
  const beside: Round[] = [];
  for (let round = 0; round < count; round += 1) {
    alone.push(await drive(contestant, roundMs));
    await toggle();
    beside.push(await drive(contestant, roundMs));
    await toggle();
  }
  return { alone, beside };
}

async function liveSessions(caller: Caller): Promise<readonly string[]> {
  const { body } = await caller.call('GET', '/v1/workers?limit=100');
  const { items } = JSON.parse(body) as { items: readonly { id: string; state: string }[] };
  return items.map(({ id, state }) => `${id} ${state}`);
}
