// Requests that the store must refuse, whatever else happens. Each reads the rows and sends its request
// in the same event, over a connection without faults, so nothing can change in between. If the store
// accepts one, the rows that it protects are wrong from there on.

import { type Payload, type ProjectName, parseProject } from '../../../src/execution/names.ts';
import type { ResumeSchedule } from '../../../src/features/schedules/port.ts';
import { toFence } from '../../../src/lease/fence.ts';
import type { ExecutionStore, OwnerWrite } from '../../../src/store/contract/execution-store.ts';
import { toInstant } from '../../../src/support/clock.ts';
import { digestOf } from '../../../src/support/digest.ts';
import type { Random } from '../../../src/support/random.ts';
import type { Workload } from '../plan.ts';
import { ACTIVE_MS, between, pick, type World } from '../world.ts';

interface Scene {
  readonly store: ExecutionStore;
  readonly random: Random;
  /** One of the rows, if there is any. */
  readonly row: (sql: string) => Row | undefined;
  readonly rows: (sql: string) => readonly Row[];
}

/** Values of one row. Each goes into a request as it is, so their types do not matter here. */
interface Row {
  readonly id: never;
  readonly project: never;
  readonly pipeline: never;
  readonly name: never;
  readonly session: never;
  readonly digest: never;
  readonly plan: never;
  readonly fence: number;
  readonly seq: number;
  readonly inboxCount: number;
  readonly late: number;
  readonly nextAt: number;
}

/** True if the store accepted it. Undefined if there was nothing to attack. */
type Attack = (scene: Scene) => Promise<boolean | undefined>;

const ELSEWHERE = parseProject('elsewhere') as ProjectName;
const DEFAULT = parseProject('default') as ProjectName;
const NEVER = toInstant(8_000_000_000_000_000);
const BY = { actor: 'intruder', reason: 'simulated' } as const;

const ENDED =
  "select id, project from execution as e where e.ended_at is not null and project = 'default'";
const SCHEDULE =
  "select id, digest, plan, next_at as nextAt from schedule where project = 'default'";
const OWNED = `select e.id, e.fence, e.session_id as session, e.news as inboxCount,
                      (select max(seq) + 1 from history as h where h.row_id = e.row_id) as seq
                 from execution as e join session as s on s.id = e.session_id
                where e.status = 1`;

/** Executions that others still refer to or wait for (F-2), by guard. */
const NEEDED: readonly string[] = [
  'e.parent_id in (select id from execution)',
  'e.redrive_of in (select id from execution)',
  'exists (select 1 from execution as c where c.parent_id = e.id and c.ended_at is null)',
  'exists (select 1 from execution as r where r.redrive_of = e.id and r.ended_at is null)',
  `exists (select 1 from history as h join execution as b on b.id = h.body ->> '$.continues'
            where h.row_id = e.row_id and h.seq = 1)`,
  `exists (select 1 from history as h join execution as n on n.id = h.body ->> '$.continuedAs'
            where h.row_id = e.row_id and h.seq = e.seq and n.ended_at is null)`,
];

const remove =
  (sql: string, more: (row: Row) => object = () => ({})): Attack =>
  async ({ store, row }) => {
    const found = row(sql);
    if (found === undefined) return undefined;
    const { id, project } = found;
    const reply = await store.remove({ id, project, keepMs: 0, letterMs: 0, ...more(found) });
    return reply.kind === 'removed';
  };

const archivedBut = (seen: object): object => ({ archived: { place: 'p', digest: 'd', seen } });

/** Every rule, with the requests that would break it. */
const ATTACKS: Readonly<Record<string, readonly Attack[]>> = {
  'F-2': NEEDED.map((condition) => remove(`${ENDED} and ${condition}`)),
  'F-1': [remove(ENDED, () => ({ keepMs: 1e9, letterMs: 1e9 }))],
  'F-4': [remove(ENDED, () => ({ project: ELSEWHERE }))],
  'F-6': [
    remove(ENDED, () => archivedBut({ late: 1_000 })),
    remove(
      `select id, project, (select coalesce(sum(late), 0) from interaction
                             where execution_id = e.id) as late
         from execution as e where e.ended_at is not null and project = 'default'`,
      ({ id, late }) => archivedBut({ late, redrivenBy: id }),
    ),
  ],
  'J-5': [
    async ({ store, row, random }) => {
      const found = row(ENDED);
      if (found === undefined) return undefined;
      const audit = { id: random.uuid(), action: 'execution.note', ...BY } as never;
      return (await store.note({ id: found.id, project: ELSEWHERE, audit })).kind === 'noted';
    },
  ],
  'X-28': [
    async ({ store, random }) => {
      const bytes = new TextEncoder().encode(random.uuid());
      const digest = digestOf(bytes);
      await store.putBlob({ project: DEFAULT, digest, bytes });
      await store.attributeBlobs({ project: ELSEWHERE, digests: [digest] });
      return (await store.getBlob({ project: ELSEWHERE, digest })) !== undefined;
    },
    async ({ store, random }) => {
      const bytes = new TextEncoder().encode(random.uuid());
      const digest = digestOf(bytes);
      await store.putBlob({ project: DEFAULT, digest, bytes });
      return (await store.getBlob({ project: ELSEWHERE, digest })) !== undefined;
    },
  ],
  'P-14': [
    async ({ store }) => {
      const plan = { plan: '{}', digest: 'd', nextAt: NEVER, quota: 0 };
      return (await store.putSchedule({ project: ELSEWHERE, id: 'many', ...plan })).kind === 'put';
    },
  ],
  'X-32': [
    async ({ store, row }) => {
      const found = row(SCHEDULE);
      if (found === undefined) return undefined;
      const { id, digest, plan } = found;
      const put = { project: DEFAULT, id, digest, plan, nextAt: NEVER };
      const reply = await store.putSchedule(put);
      return reply.kind === 'put' && reply.changed;
    },
  ],
  'X-33': [
    changeSchedule('paused = 1', (store, named) => store.pauseSchedule(named)),
    changeSchedule('paused = 0', (store, named) => store.resumeSchedule(named)),
    changeSchedule('paused = 1', (store, named) =>
      store.resumeSchedule({ ...named, digest: 'an older plan' }),
    ),
  ],
  'X-34': [
    fireSchedule(({ nextAt, digest }) => ({ expected: nextAt - 1, digest })),
    fireSchedule(({ nextAt }) => ({ expected: nextAt, digest: 'an older plan' })),
  ],
  'RE-21': [
    async ({ store, row }) => {
      const found = row('select id from session where ended_at is not null');
      if (found === undefined) return undefined;
      const worker = { pipelines: [], state: 'ready', everyMs: 1_000, room: 1 } as const;
      const reply = await store.announce({ session: found.id, project: ELSEWHERE, ...worker });
      return reply.kind === 'announced';
    },
  ],
  'RE-6': [
    async ({ store, row }) => {
      const found = row(`select substr(pipeline, 1, instr(pipeline, char(31)) - 1) as pipeline,
                                substr(pipeline, instr(pipeline, char(31)) + 1) as name
                           from execution
                          where ended_at is null and project = 'default'
                            and instr(pipeline, char(31)) > 0`);
      if (found === undefined) return undefined;
      const { pipeline, name } = found;
      const request = { project: DEFAULT, pipeline, name, action: 'retire', ...BY } as const;
      return (await store.changeRollout(request)).kind === 'changed';
    },
  ],
  'X-69': [childOfAnother],
  'X-26': [forgetLimits],
  'X-1': [ownerWrite(`${OWNED} and s.ended_at is not null`, (store, write) => store.record(write))],
  'X-5': [
    ownerWrite(`${OWNED} and e.news > 0`, (store, write, { inboxCount }) =>
      store.finish({ ...write, status: 'completed', inboxSeen: inboxCount - 1 }),
    ),
    ownerWrite(`${OWNED} and e.news > 0`, (store, write, { inboxCount }) =>
      store.park({ ...write, inboxSeen: inboxCount - 1, wakeAfter: 0 }),
    ),
    ownerWrite(`${OWNED} and e.news > 0`, (store, write, { inboxCount }) =>
      store.giveBack({ ...write, paused: true, inboxSeen: inboxCount - 1 }),
    ),
  ],
};

function changeSchedule(
  condition: string,
  send: (store: ExecutionStore, named: ResumeSchedule) => Promise<{ readonly kind: string }>,
): Attack {
  return async ({ store, row }) => {
    const found = row(`${SCHEDULE} and ${condition}`);
    if (found === undefined) return undefined;
    const { id, digest } = found;
    const named = { project: DEFAULT, id, digest, nextAt: NEVER };
    return (await send(store, named)).kind === 'done';
  };
}

function fireSchedule(change: (row: Row) => object): Attack {
  return async ({ store, row }) => {
    const found = row(`${SCHEDULE} and next_at is not null`);
    if (found === undefined) return undefined;
    const rest = { submits: [], firedAt: 0, overlap: 'allow' };
    const fire = { project: DEFAULT, id: found.id, ...rest, ...change(found) };
    return (await store.fireSchedule(fire as never)).kind !== 'moved';
  };
}

function ownerWrite(
  sql: string,
  send: (store: ExecutionStore, write: OwnerWrite, row: Row) => Promise<{ readonly kind: string }>,
): Attack {
  return async ({ store, row }) => {
    const found = row(sql);
    if (found === undefined) return undefined;
    const { id, fence, session, seq } = found;
    const events = [{ kind: 'parked', body: '{}' as Payload }] as const;
    const write = { id, fence: toFence(fence), session, seq, events };
    return (await send(store, write, found)).kind !== 'refused';
  };
}

const SLOTS = `select project, place_key as name from execution
                where ended_at is null and (has_place = 1 or gated = 1) and place_key is not null
                  and not exists (select 1 from place where place.project = execution.project
                                     and place.key = execution.place_key)`;
const RATES = 'select project, key as name, last_at + per_ms as nextAt from rate';

/** Maintenance forgets no limit that an execution has, waits for or has used just now. */
async function forgetLimits({ store, rows }: Scene): Promise<boolean> {
  const before = rows(RATES);
  for (let time = 1; time <= 2; time += 1) await store.maintain({ limit: 500 });
  const left = new Set(rows(RATES).map(({ project, name }) => `${project} ${name}`));
  const [clock] = rows('select clock_at as nextAt from meta');
  const isLost = ({ project, name, nextAt }: Row): boolean =>
    nextAt > (clock?.nextAt ?? 0) && !left.has(`${project} ${name}`);
  return before.some(isLost) || rows(SLOTS).length > 0;
}

/** A child in another project ends. Its parent must not get a message. */
async function childOfAnother({ store, row, random }: Scene): Promise<boolean | undefined> {
  const open =
    "select id, news as inboxCount from execution where ended_at is null and project = 'default'";
  const parent = row(open);
  if (parent === undefined) return undefined;
  const id = random.uuid();
  const child = {
    ...{ id, project: ELSEWHERE, pipeline: 'child', lane: 'batch', input: '{"v":1}', lineage: id },
    ...{ tags: [], attributes: {}, parent: { id: parent.id, call: 'spawn:forged#1' } },
  };
  await store.submit(child as never);
  await store.cancel({ id, project: ELSEWHERE, reason: 'simulated' } as never);
  const after = row(`${open} and id = '${parent.id}'`);
  return after?.inboxCount !== parent.inboxCount;
}

export const intruder: Workload = {
  name: 'intruder',

  plan(random) {
    return Array.from({ length: between(random, 2, 3) }, () => {
      const atMs = between(random, 1_500, ACTIVE_MS);
      const details = { seed: between(random, 0, 1e9) };
      return { atMs, of: 'intruder', what: 'the intruder tries to break every rule', details };
    });
  },

  open(world) {
    return ({ details }) => {
      const random = world.stream(`intruder ${details['seed']}`);
      world.operations += 1;
      world.run(world.host, () => intrude(world, random));
    };
  },
};

async function intrude(world: World, random: Random): Promise<void> {
  const row = (sql: string): Row | undefined => {
    const rows = world.disk.rows<Row>(sql);
    return rows.length === 0 ? undefined : pick(random, rows);
  };
  const scene = {
    store: world.reader.executions,
    random,
    row,
    rows: world.disk.rows.bind(world.disk),
  };
  for (const [rule, attacks] of Object.entries(ATTACKS)) {
    for (const attack of attacks) {
      if ((await attack(scene)) !== true) continue;
      world.violate(rule, 'The store accepted a request that breaks the rule.');
    }
  }
}
