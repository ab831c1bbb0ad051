// Releases, their rollouts and the log of rollout operations (RE-3 … RE-7).

import type { NoSuchRelease } from '../../execution/refusal.ts';
import { ROUTE_MARK } from '../../execution/route.ts';
import { changedByRollout } from '../../features/audit/decide.ts';
import {
  decideRollout,
  differenceOf,
  keptPreflight,
  nameBefore,
  nameMeant,
  noSuchRelease,
} from '../../features/releases/decide.ts';
import {
  NO_ROLLOUT,
  type Release,
  type ReleaseKey,
  type Rollout,
} from '../../features/releases/model.ts';
import type {
  ChangeRollout,
  ListReleases,
  NotePreflight,
  OfPipeline,
  Pinned,
  PreflightNoted,
  RegisterRelease,
  ReleaseRegistered,
  ReleaseStore,
  RolloutChanged,
} from '../../features/releases/port.ts';
import {
  activationOf,
  fromRelease,
  fromRollout,
  type ReleaseRow,
  type RolloutRow,
  toActivation,
  toPipelineRollout,
  toRelease,
  toRollout,
} from '../../features/releases/rows.ts';
import { assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { fittingIn } from '../../support/page-size.ts';
import type { Submit } from '../contract/execution-store.ts';
import { writeAudit } from './audit.ts';
import {
  all,
  dialects,
  every,
  found,
  type Gateway,
  one,
  type Script,
  type Sql,
  sql,
  wrote,
} from './script.ts';

const COLUMNS =
  'project, pipeline, name, artifact, digest, contract_version, contract, created_at, created_by, preflight, retired_at';

// A release's name is used once (RE-3).
const REGISTER = sql(`
  insert into hf.release (project, pipeline, name, artifact, digest, contract_version, contract, created_at, created_by)
  values (:project, :pipeline, :name, :artifact, :digest, :contract_version, :contract, hf_now(), :created_by)
      on conflict (project, pipeline, name) do nothing
  returning name`);

const ONE = `
  select ${COLUMNS}
    from hf.release
   where project = :project
     and pipeline = :pipeline
     and name = :name`;

const READ = sql(ONE);

// A retirement waits until this transaction ends, or has committed before it (RE-6).
const SHARE = sql(`${ONE} for share`);

// Waits for submits that name the release (RE-6). If two callers note a preflight at once,
// the second keeps the findings of the first.
const LOCK = sql(`${ONE} for update`);

const NAMED = sql(`
  select ${COLUMNS}
    from hf.release
   where name = :name
     and (:project::text is null or project = :project)`);

const PAGE = `
    from hf.release indexed by release_list
   where project = :project
     and (:pipeline::text is null or pipeline = :pipeline)
     and (created_at, pipeline, name) < (:at, :beforePipeline, :beforeName)
   order by created_at desc, pipeline desc, name desc
   limit :limit`;

const LIST = sql(`
  select ${COLUMNS}${PAGE}`);

const SIZES = sql(`
  select octet_length(contract) + coalesce(octet_length(preflight), 0) as bytes${PAGE}`);

const NOW = sql('select hf_now() as now');

const NOTE = sql(`
  update hf.release
     set preflight = :text
   where project = :project
     and pipeline = :pipeline
     and name = :name`);

const OF_ROLLOUT = `
  select version, active, previous, candidate, percent
    from hf.release_line
   where project = :project
     and pipeline = :pipeline`;

const ROLLOUT = sql(OF_ROLLOUT);

// Inserts a row for PostgreSQL to lock. Version 0 means that there is no rollout yet. SQLite
// already holds the write lock.
const BEGIN = dialects({
  sqlite: '',
  postgres: `
  insert into hf.release_line (project, pipeline, version)
  values (:project, :pipeline, 0)
      on conflict (project, pipeline) do nothing`,
});

// Waits for submits under way, which share the row. All others wait for this lock (RE-5).
const LOCK_ROLLOUT = sql(`${OF_ROLLOUT} for update`);

const SAVE = sql(`
  insert into hf.release_line (project, pipeline, version, active, previous, candidate, percent)
  values (:project, :pipeline, :version, :active, :previous, :candidate, :percent)
      on conflict (project, pipeline) do update
     set version   = excluded.version,
         active    = excluded.active,
         previous  = excluded.previous,
         candidate = excluded.candidate,
         percent   = excluded.percent`);

const LOG = sql(`
  insert into hf.activation (project, pipeline, version, at, act, name, actor, reason, forced, was, became)
  values (:project, :pipeline, :version, hf_now(), :act, :name, :actor, :reason, :forced, :was, :became)`);

/** The conditions of the indexes of open pinned executions. */
const OPEN = {
  sqlite: `project = :project and ended_at is null and instr(pipeline, char(31)) > 0`,
  postgres: `status < 10 and strpos(pipeline, E'\\x1f') > 0 and project collate "POSIX" = :project`,
};

// A separate statement after the locks sees all submits that committed before them.
const retire = (isPinned: string): string => `
  update hf.release
     set retired_at = hf_now()
   where project = :project
     and pipeline = :pipeline
     and name = :name
     and not exists (${isPinned}) -- guard: pinned
  returning name`;

const RETIRE = dialects({
  sqlite: retire(
    `select 1 from execution indexed by execution_pinned where ${OPEN.sqlite} and pipeline = :pipeline || char(31) || :name`,
  ),
  postgres: retire(
    `select from hf.execution where ${OPEN.postgres} and pipeline collate "POSIX" = :pipeline || E'\\x1f' || :name`,
  ),
});

const PINNED = dialects({
  sqlite: `
  select substr(pipeline, :after) as release, count(*) as open
    from execution indexed by execution_pinned
   where ${OPEN.sqlite}
     and pipeline > :pipeline || char(31)
     and pipeline < :pipeline || char(32)
   group by pipeline
   order by pipeline`,
  postgres: `
  select split_part(pipeline, E'\\x1f', 2) as release, count(*) as open
    from hf.execution
   where ${OPEN.postgres}
     and pipeline collate "POSIX" > :pipeline || E'\\x1f'
     and pipeline collate "POSIX" < :pipeline || ' '
   group by 1
   order by 1`,
});

const ACTIVATIONS = sql(`
  select project, pipeline, version, at, act, name, actor, reason, forced, was, became
    from hf.activation
   where project = :project
     and pipeline = :pipeline
     and version < :before
   order by version desc
   limit :limit`);

// Takes one index step per pipeline, however many releases it has. The last step finds none.
const ROLLOUTS = sql(`
  with recursive named (pipeline, nth) as (
    select min(r.pipeline), 1
      from hf.release as r
     where r.project = :project
       and r.pipeline > :after
     union all
    select (select min(r.pipeline)
              from hf.release as r
             where r.project = :project
               and r.pipeline > n.pipeline), n.nth + 1
      from named as n
     where n.pipeline is not null
       and n.nth < :limit
  )
  select n.pipeline, l.version, l.active, l.previous, l.candidate, l.percent
    from named as n
    left join hf.release_line as l on l.project = :project and l.pipeline = n.pipeline
   where n.pipeline is not null
   order by n.pipeline`);

export function releasesOf({
  read,
  write,
  repeat,
}: Gateway): Omit<ReleaseStore, 'repinExecution' | 'announce' | 'announcedInput' | 'workers'> {
  return {
    registerRelease: (request) => write(() => registerRelease(request)),
    release: (key) => read(() => readRelease(key)),
    releases: (query) => read(() => listReleases(query)),
    notePreflight: (request) => repeat(() => notePreflight(request)),
    changeRollout: (request) =>
      repeat(() => changeRollout(request), { keeps: ({ kind }) => kind === 'changed' }),
    rollout: (query) => read(() => readRollout(ROLLOUT, query)),
    rollouts: (query) => read(() => every(ROLLOUTS, { after: '', ...query }, toPipelineRollout)),
    activations: (query) =>
      read(() => every(ACTIVATIONS, { before: LAST_VERSION, ...query }, toActivation)),
    pinned: (query) => read(() => pinned(query)),
  };
}

function* registerRelease(request: RegisterRelease): Script<ReleaseRegistered> {
  const { pipeline, name } = request;
  if (yield* wrote(REGISTER, fromRelease(request))) return { kind: 'registered', existing: false };
  const stored = yield* readRelease(request);
  assert(stored !== undefined, 'RE-3: a name that is taken is stored');
  if (stored.retiredAt !== undefined) {
    return { kind: 'refused', why: 'release-retired', pipeline, name };
  }
  const part = differenceOf(stored, request);
  if (part !== undefined) return { kind: 'refused', why: 'release-differs', pipeline, name, part };
  return { kind: 'registered', existing: true };
}

export function* readRelease(key: ReleaseKey): Script<Release | undefined> {
  return yield* found(READ, key, toRelease);
}

/** Refuses a submit that names a release which does not exist or has retired (RE-6). */
export function* refuseRelease({
  project,
  pipeline,
  release: name,
}: Submit): Script<NoSuchRelease | undefined> {
  if (name === undefined) return undefined;
  return noSuchRelease(yield* readRelease({ project, pipeline, name }), { pipeline, name });
}

/** Keeps the release from retiring until the transaction ends. */
export function* shareRelease(key: ReleaseKey): Script<Release | undefined> {
  return yield* found(SHARE, key, toRelease);
}

/** Finds the releases of this name in all pipelines, and in all projects by default. */
export function* releasesNamed(query: {
  readonly name: string;
  readonly project: string | undefined;
}): Script<readonly Release[]> {
  return yield* every(NAMED, query, toRelease);
}

function* listReleases(query: ListReleases): Script<readonly Release[]> {
  const { before, bytesMax } = query;
  const at = before?.createdAt ?? Number.MAX_SAFE_INTEGER;
  const place = { at, beforePipeline: before?.pipeline ?? '', beforeName: before?.name ?? '' };
  const page = { ...query, ...place };
  if (bytesMax === undefined) return yield* every(LIST, page, toRelease);
  const sizes = yield* every(SIZES, page, ({ bytes }: { readonly bytes: number }) => bytes);
  return yield* every(LIST, { ...page, limit: fittingIn(sizes, bytesMax) }, toRelease);
}

function* notePreflight(request: NotePreflight): Script<PreflightNoted> {
  const { project, pipeline, name, unseen = [] } = request;
  const row = yield* one<ReleaseRow>(LOCK, request);
  if (row === undefined) return { kind: 'refused', why: 'release-unknown', pipeline, name };
  const preflight = keptPreflight(toRelease(row).preflight, request.preflight, unseen);
  const at = yield* storeTime();
  const text = JSON.stringify({ ...preflight, at });
  yield* all(NOTE, { project, pipeline, name, text });
  return { kind: 'noted', preflight };
}

function* storeTime(): Script<Instant> {
  const row = yield* one<{ readonly now: Instant }>(NOW);
  assert(row !== undefined, 'the clock has one row');
  return row.now;
}

/** Locks the release before its rollout, in the same order as submits. */
export function* changeRollout(request: ChangeRollout): Script<RolloutChanged> {
  const { project, pipeline, action } = request;
  if (action === 'retire') yield* all(LOCK, request);
  yield* all(BEGIN, request);
  const rollout = yield* readRollout(LOCK_ROLLOUT, request);
  const name = nameMeant(rollout, request) ?? '';
  const release = yield* readRelease({ project, pipeline, name });
  const before = yield* readRelease({ project, pipeline, name: nameBefore(rollout) ?? '' });
  // The predicate of RETIRE checks for pinned executions.
  const decision = decideRollout({ rollout, release, before, pinned: 0 }, request);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'no-change') return decision;
  if (action === 'retire' && !(yield* wrote(RETIRE, { project, pipeline, name }))) {
    return yield* stillPinned(request, name);
  }
  const { rollout: after, forced } = decision;
  yield* all(SAVE, { project, pipeline, ...fromRollout(after) });
  const made = { before: rollout, after, name, forced };
  yield* all(LOG, activationOf(request, made));
  yield* writeAudit(request, changedByRollout(request, made), yield* storeTime());
  return { kind: 'changed', rollout: after };
}

function* stillPinned(request: ChangeRollout, name: string): Script<RolloutChanged> {
  const open = yield* pinned(request);
  const count = open.find(({ release }) => release === name)?.open ?? 0;
  const { pipeline } = request;
  return { kind: 'refused', why: 'release-pinned', pipeline, name, pinned: count };
}

function* readRollout(statement: Sql, query: OfPipeline): Script<Rollout> {
  const row = yield* one<RolloutRow>(statement, query);
  return row === undefined ? NO_ROLLOUT : toRollout(row);
}

const LAST_VERSION = 2_147_483_647;

function* pinned({ project, pipeline }: OfPipeline): Script<readonly Pinned[]> {
  // SQL counts characters from one.
  const after = [...pipeline, ROUTE_MARK].length + 1;
  const rows = yield* all<Pinned>(PINNED, { project, pipeline, after });
  return rows.map(({ release, open }) => ({ release, open }));
}
