// Projects (P-1 … P-3).

import type { ProjectName } from '../../../execution/names.ts';
import { changedByPutProject } from '../../../features/access/decide.ts';
import type { Project, QuotaName } from '../../../features/access/model.ts';
import type {
  AccessStore,
  ListProjects,
  ProjectPut,
  PutProject,
} from '../../../features/access/port.ts';
import { toProject } from '../../../features/access/rows.ts';
import { toInstant } from '../../../support/clock.ts';
import { writeAudit } from '../audit.ts';
import {
  dialects,
  every,
  found,
  one,
  type PlainGateway,
  type Script,
  type Sql,
  sql,
  sqlPerDialect,
} from '../script.ts';

const COLUMNS = 'name, created_at, settings';

const MAKE = sql(`
  insert into hf.project (${COLUMNS})
  values (:name, hf_now(), :settings)
      on conflict (name) do nothing
  returning created_at as now`);

const READ = sql(`
  select ${COLUMNS}
    from hf.project
   where name = :name`);

const LOCK = sql(`
  select ${COLUMNS}
    from hf.project
   where name = :name
     for update`);

// A change keeps the project's creation time (P-1).
const CHANGE = sql(`
  update hf.project
     set settings = :settings
   where name = :name
  returning hf_now() as now`);

const LIST = sql(`
  select ${COLUMNS}
    from hf.project
   where name > :after
   order by name
   limit :limit`);

export function projectsOf({
  read,
  write,
}: PlainGateway): Pick<AccessStore, 'putProject' | 'project' | 'projects'> {
  return {
    putProject: (request) => {
      const own = structuredClone(request);
      return write(() => putProject(own));
    },
    project: (name) => read(() => readProject(READ, name)),
    projects: (query) => read(() => listProjects(query)),
  };
}

/** Only one of the two statements writes, because no verb removes a project. */
function* putProject(request: PutProject): Script<ProjectPut> {
  const { name } = request;
  const values = { name, settings: JSON.stringify(request.settings) };
  const made = yield* one<{ now: number }>(MAKE, values);
  const before = made === undefined ? yield* readProject(LOCK, name) : undefined;
  const changed = made ?? (yield* one<{ now: number }>(CHANGE, values));
  const facts = changedByPutProject(name, before?.settings, request.settings);
  yield* writeAudit(request, facts, toInstant(changed?.now ?? 0));
  return { kind: 'put', existing: made === undefined };
}

function* readProject(statement: Sql, name: ProjectName): Script<Project | undefined> {
  return yield* found(statement, { name }, toProject);
}

function* listProjects(query: ListProjects): Script<readonly Project[]> {
  // No name is empty, so a list that continues after '' is the whole list.
  return yield* every(LIST, { after: '', ...query }, toProject);
}

/**
 * PostgreSQL runs changes of these rows of one project one after the other, so that the quota and the
 * audit's facts are exact (P-14). SQLite already holds the write lock.
 */
export function inTurnOf(rows: QuotaName): Sql {
  return dialects({
    sqlite: '',
    postgres: `select pg_advisory_xact_lock(hashtextextended('holdfast ${rows} of ' || :project, 0))`,
  });
}

/** Builds a statement around the limit of `:project`: its own quota, or else `:quota`. */
export function withLimit(quota: QuotaName, text: (limit: string) => string): Sql {
  const limit = (own: string): string =>
    `coalesce((select ${own} from hf.project as p where p.name = :project), :quota::bigint)`;
  const own = {
    sqlite: `p.settings ->> '$.quotas.${quota}'`,
    postgres: `(p.settings::jsonb #>> '{quotas,${quota}}')::bigint`,
  };
  return sqlPerDialect(own, (words) => text(limit(words)));
}
