// The redrive suite: a job re-drives 100,000 dead letters, and its process is killed twice. Beside it, a
// floor does the minimum with bare statements.

import { join } from 'node:path';
import { runChild } from '../executions/child.ts';
import { openStoreFactory, type StoreFactory } from '../executions/store-factory.ts';
import type { Round } from '../measure.ts';
import type { Result } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Plan, Suite } from '../suite.ts';
import { PAGE } from './floor-page.ts';
import { redriveAll } from './killed-job.ts';

export const redriveSuite: Suite = {
  name: 'redrive',
  summary: 'Dead letters re-driven per second by a job that is killed twice',
  legend: [
    'rate: letters divided by the time from start to end of the job, with kills and takeovers.',
    'while it ran: the same without the time from each kill to the next claim.',
    'of floor: “while it ran” divided by the rate of the floor, which reads and writes the same rows with bare',
    'statements, one page per transaction, and is not killed.',
    'The suite fails unless each letter has exactly one outcome and one new execution.',
  ],
  run: runRedriveSuite,
};

const LIMIT_MS = 1_200_000;
const NAME = 'bulk re-drive';

async function* runRedriveSuite(plan: Plan): AsyncGenerator<Result, void, void> {
  if (!NAME.includes(plan.only)) return;
  const folder = scratchFolder();
  const letters = plan.quick ? 10_000 : 100_000;
  for (const kind of plan.stores) {
    // The memory store does not survive a kill; Redis and etcd keep leases only.
    if (kind !== 'sqlite' && kind !== 'postgres') continue;
    plan.progress(`${kind}: opening`);
    const factory = await openStoreFactory(kind, folder);
    try {
      yield* measure(plan, factory, letters);
    } finally {
      await factory.close();
    }
  }
}

async function* measure(
  { progress }: Plan,
  factory: StoreFactory,
  letters: number,
): AsyncGenerator<Result, void, void> {
  const { kind } = factory;
  const ours = await factory.with((location) =>
    redriveAll(location, { letters, progress: (what) => progress(`${kind}: ${what}`) }),
  );
  progress(`${kind}: floor`);
  const floor = await factory.with((location) => {
    const script = join(import.meta.dirname, `floor-${kind}.ts`);
    const args = [JSON.stringify(location), String(letters)];
    return runChild(script, args, { limitMs: LIMIT_MS }) as Promise<Round>;
  });
  const settings = { ...factory.settings, letters, deaths: ours.deaths, page: PAGE };
  const of = (name: string) => (metric: string, value: number, unit: string) => ({
    ...{ suite: 'redrive', case: `${NAME} · ${name}`, store: kind, table: NAME },
    ...{ metric, value, unit, settings },
  });
  const holdfast = of('holdfast');
  yield holdfast('rate', letters / ours.seconds, '/s');
  yield holdfast('while it ran', letters / ours.runningSeconds, '/s');
  yield holdfast('of floor', letters / ours.runningSeconds / floor.perSecond, '×');
  yield of('floor')('while it ran', floor.perSecond, '/s');
}
