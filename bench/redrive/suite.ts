// The suite of bulk re-drives: dead letters by the hundred thousand, driven again by a job whose process is
// killed twice on the way, beside the least that the bare store would have to do.

import { join } from 'node:path';
import { runChild } from '../executions/child.ts';
import { type Ground, openGround } from '../executions/ground.ts';
import type { Round } from '../measure.ts';
import type { Result } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Plan, Suite } from '../suite.ts';
import { PAGE } from './floor-page.ts';
import { redriveAll } from './killed-job.ts';

export const redriveSuite: Suite = {
  name: 'redrive',
  summary: 'dead letters re-driven per second by a job that is killed twice, each exactly once',
  legend: [
    'rate: letters by the time from the start of the job to its end, deaths and takeovers included.',
    'while it ran: without the time from each death to the claim by the next process.',
    'of floor: the latter to the rate of the floor: the same rows read and written by bare statements,',
    'a page a transaction, by nobody who could die. Checked afterwards, or nothing is printed: each letter has',
    'one outcome, and one execution was made of it.',
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
    // What is in the memory of a process dies with it; the others keep leases only.
    if (kind !== 'sqlite' && kind !== 'postgres') continue;
    plan.progress(`${kind}: opening`);
    const ground = await openGround(kind, folder);
    try {
      yield* measure(plan, ground, letters);
    } finally {
      await ground.close();
    }
  }
}

async function* measure(
  { progress }: Plan,
  ground: Ground,
  letters: number,
): AsyncGenerator<Result, void, void> {
  const { kind } = ground;
  const ours = await ground.with((place) =>
    redriveAll(place, { letters, progress: (what) => progress(`${kind}: ${what}`) }),
  );
  progress(`${kind}: floor`);
  const floor = await ground.with((place) => {
    const script = join(import.meta.dirname, `floor-${kind}.ts`);
    const args = [JSON.stringify(place), String(letters)];
    return runChild(script, args, { limitMs: LIMIT_MS }) as Promise<Round>;
  });
  const settings = { ...ground.settings, letters, deaths: ours.deaths, page: PAGE };
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
