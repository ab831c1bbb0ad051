// An operator puts, pauses, resumes, triggers, backfills and removes schedules, rolls releases out and back,
// and re-drives dead letters with a bulk job.

import type { Holdfast } from '../../../src/engine/holdfast.ts';
import type { Overlap } from '../../../src/features/schedules/model.ts';
import type {
  FireSchedule,
  PutSchedule,
  ResumeSchedule,
} from '../../../src/features/schedules/port.ts';
import { dateOf, toInstant } from '../../../src/support/clock.ts';
import type { Actor } from '../actor.ts';
import type { Workload } from '../plan.ts';
import { holdfastAt, RELEASED } from '../workers.ts';
import { ACTIVE_MS, between, type Checker, pick, type World } from '../world.ts';

const ACTIONS: Readonly<Record<string, (holdfast: Holdfast, id: string) => Promise<unknown>>> = {
  put: (holdfast, id) => put(holdfast, id, { every: 900 }),
  'put slower': (holdfast, id) => put(holdfast, id, { every: 1_300 }),
  'put buffering': (holdfast, id) => put(holdfast, id, { every: 700, overlap: 'buffer' }),
  'put cancelling': (holdfast, id) => put(holdfast, id, { every: 700, overlap: 'cancel' }),
  pause: (holdfast, id) => holdfast.schedules.pause(id),
  resume: (holdfast, id) => holdfast.schedules.resume(id),
  remove: (holdfast, id) => holdfast.schedules.remove(id),
  trigger: (holdfast, id) => holdfast.schedules.trigger(id),
  backfill,
  'bulk re-drive': (holdfast) => holdfast.bulk.redrive({ reason: 'simulated' }),
  ...rollouts(),
};

function put(
  { schedules: all }: Holdfast,
  id: string,
  times: { readonly every: number; readonly overlap?: Overlap },
): Promise<unknown> {
  return all.put({ id, ...times, pipeline: 'child', input: { nth: 1, size: 1 } });
}

/** The times of the last two seconds by the clock of the store. Some of them have fired. */
async function backfill({ schedules: all }: Holdfast, id: string): Promise<unknown> {
  const [next] = (await all.get(id))?.nextTimes ?? [];
  if (next === undefined) return undefined;
  // The next time lies in the future, and no times are further apart than 1,300 ms.
  const to = toInstant(next - 1_300);
  return all.backfill(id, { from: dateOf(toInstant(to - 2_000)), to: dateOf(to) });
}

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

const FREQUENT: readonly string[] = [
  ...['put', 'put', 'put slower', 'put buffering', 'put cancelling'],
  ...['pause', 'trigger', 'backfill'],
];

export const schedules: Workload = {
  name: 'schedules',

  plan(random) {
    const actions = [...FREQUENT, ...FREQUENT, ...FREQUENT, ...Object.keys(ACTIONS)];
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

interface Known {
  readonly digest: string;
  readonly nextAt: number | undefined;
  readonly isPaused: boolean;
}

type Judge = (known: Known | undefined, request: never, at: number) => Known | undefined | 'wrong';

/** The schedule after each accepted write, or `wrong` if the store must refuse it. */
const WRITES: Readonly<Record<string, Judge>> = {
  'executions.putSchedule put': (known, { digest, nextAt }: PutSchedule) => {
    if (known?.digest === digest) return known;
    const isPaused = known?.isPaused === true;
    return { digest, isPaused, nextAt: isPaused ? undefined : nextAt };
  },
  'executions.pauseSchedule done': (known) =>
    known === undefined || known.isPaused
      ? 'wrong'
      : { ...known, isPaused: true, nextAt: undefined },
  'executions.resumeSchedule done': (known, { digest, nextAt }: ResumeSchedule) =>
    known?.isPaused !== true || known.digest !== digest
      ? 'wrong'
      : { ...known, isPaused: false, nextAt },
  'executions.removeSchedule done': (known) => (known === undefined ? 'wrong' : undefined),
  'executions.fireSchedule fired': fire,
  'executions.fireSchedule skipped': fire,
};

/** */
function fire(known: Known | undefined, request: FireSchedule, at: number): Known | 'wrong' {
  const { digest, expected, nextAt } = request;
  const isDue = known?.nextAt === expected && known.digest === digest && expected <= at;
  return isDue ? { digest, nextAt, isPaused: false } : 'wrong';
}

/** Follows each schedule. Each of its times fires once. */
function firesOnce(world: World): Checker {
  let known = new Map<string, Known>();
  let backup = known;
  const touched = new Set<string>();
  return {
    name: 'schedules',
    handled({ verb, request, reply, at = 0 }) {
      const judge = WRITES[`${verb} ${(reply as { readonly kind?: string } | undefined)?.kind}`];
      if (judge === undefined) return;
      const { id } = request as { readonly id: string };
      const next = judge(known.get(id), request as never, at);
      if (next === 'wrong') world.violate('X-34', `${verb} of schedule ${id} was accepted.`);
      else if (next === undefined) known.delete(id);
      else known.set(id, next);
      touched.add(id);
    },
    settled() {
      for (const id of touched) {
        const sql = "select next_at as nextAt from schedule where id = :id and project = 'default'";
        const [row] = world.disk.rows<{ nextAt: number | null }>(sql, { id });
        const expected = known.get(id)?.nextAt;
        if ((row?.nextAt ?? undefined) === expected) continue;
        world.violate('X-33', `Schedule ${id} is next at ${row?.nextAt}, not at ${expected}.`);
      }
      touched.clear();
    },
    backedUp() {
      backup = new Map(known);
    },
    restored() {
      known = new Map(backup);
    },
    async ended() {
      const twice = world.disk.rows<{ time: string; n: number }>(
        `select json_extract(about, '$.scheduled') as time, count(*) as n
           from execution
          where json_extract(about, '$.scheduled') is not null
            and key not like 'schedule:%#%'
          group by 1
         having count(*) > 1`,
      );
      for (const { time, n } of twice) {
        world.violate('X-34', `The scheduled time ${time} fired ${n} times.`);
      }
    },
  };
}
