// An operator puts, pauses, resumes and removes schedules, rolls releases out and back, and re-drives
// dead letters with a bulk job.

import type { Holdfast } from '../../../src/engine/holdfast.ts';
import type { Actor } from '../actor.ts';
import type { Workload } from '../plan.ts';
import { holdfastAt, RELEASED } from '../workers.ts';
import { ACTIVE_MS, between, type Checker, pick, type World } from '../world.ts';

const ACTIONS: Readonly<Record<string, (holdfast: Holdfast, id: string) => Promise<unknown>>> = {
  put: (holdfast, id) =>
    holdfast.schedules.put({
      ...{ id, every: id === 'often' ? 900 : 1_300 },
      ...{ pipeline: 'child', input: { nth: 1, size: 1 } },
    }),
  pause: (holdfast, id) => holdfast.schedules.pause(id),
  resume: (holdfast, id) => holdfast.schedules.resume(id),
  remove: (holdfast, id) => holdfast.schedules.remove(id),
  'bulk re-drive': (holdfast) => holdfast.bulk.redrive({ reason: 'simulated' }),
  ...rollouts(),
};

/** Operations on the releases of one pipeline each. */
function rollouts(): typeof ACTIONS {
  const force = { force: true, reason: 'simulated' };
  return Object.fromEntries(
    RELEASED.flatMap((pipeline): [string, (typeof ACTIONS)[string]][] => [
      [`v1 of ${pipeline}`, ({ releases }) => releases.activate(pipeline, 'v1', force)],
      [`v2 of ${pipeline}`, ({ releases }) => releases.activate(pipeline, 'v2', force)],
      [
        `canary of ${pipeline}`,
        ({ releases }) => releases.setCanary(pipeline, { name: 'v2', percent: 50 }, force),
      ],
      [`promotion of ${pipeline}`, ({ releases }) => releases.promote(pipeline, force)],
      [`rollback of ${pipeline}`, ({ releases }) => releases.rollBack(pipeline, force)],
    ]),
  );
}

export const schedules: Workload = {
  name: 'schedules',

  plan(random) {
    const actions = ['put', 'put', 'put', ...Object.keys(ACTIONS)];
    return Array.from({ length: between(random, 2, 9) }, () => {
      const action = pick(random, actions);
      const id = pick(random, ['often', 'seldom']);
      const atMs = between(random, 200, ACTIVE_MS);
      return {
        atMs,
        of: 'schedules',
        what: `the planner wants ${action} of ${id}`,
        details: { action, id },
      };
    });
  },

  open(world) {
    const planner = world.actor('planner', async (life) => holdfastAt(life));
    world.checkers.push(firesOnce(world));
    world.whenCalm(async () => {
      for (const id of ['often', 'seldom']) await planner.inside?.schedules.remove(id);
    });
    return ({ details }) => plan(world, planner, details as { action: string; id: string });
  },
};

function plan(
  world: World,
  planner: Actor<Holdfast>,
  { action, id }: { action: string; id: string },
): void {
  const { life, inside: holdfast } = planner;
  const perform = ACTIONS[action];
  if (life === undefined || holdfast === undefined || perform === undefined) return;
  world.operations += 1;
  world.run(life.process, () => perform(holdfast, id));
}

/** Each time of a schedule fires once. */
function firesOnce(world: World): Checker {
  return {
    name: 'schedules',
    async ended() {
      const twice = world.disk.rows<{ time: string; n: number }>(
        `select json_extract(about, '$.scheduled') as time, count(*) as n
           from execution
          where json_extract(about, '$.scheduled') is not null
          group by 1
         having count(*) > 1`,
      );
      for (const { time, n } of twice) {
        world.violate('X-34', `The scheduled time ${time} fired ${n} times.`);
      }
    },
  };
}
