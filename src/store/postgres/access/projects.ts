import { changedByPutProject } from '../../../access/decide/audit.ts';
import type { Project } from '../../../access/project.ts';
import { auditOf } from '../../../execution/decide/audit.ts';
import type { ProjectName } from '../../../execution/names.ts';
import { toInstant } from '../../../support/clock.ts';
import { type ProjectRow, toProject } from '../../access-rows.ts';
import type { ListProjects, ProjectPut, PutProject } from '../../contract/access-store.ts';
import { type Database, type Queries, statement } from '../database.ts';
import { writeAudit } from '../executions/audit.ts';
import { lookUp } from '../predicates.ts';

const COLUMNS = 'p.name, p.created_at, p.settings';

const MAKE = statement(`
  insert into hf.project as p (name, created_at, settings)
  values ($1, hf_now(), $2)
      on conflict (name) do nothing
  returning p.created_at as now`);

// P-1: since when it is there stays.
const CHANGE = statement(`
  update hf.project p
     set settings = $2
    from (select o.name, o.created_at, o.settings from hf.project o where o.name = $1 for update) old
   where ${lookUp('p.name', 'old.name')}
  returning old.created_at, old.settings, hf_now() as now`);

const READ = statement(`
  select ${COLUMNS}
    from hf.project p
   where p.name = $1`);

const LIST = statement(`
  select ${COLUMNS}
    from hf.project p
   where p.name > $1
   order by p.name
   limit $2`);

/** Only one of the two statements changes anything: what is there is never removed. */
export async function putProject(database: Database, request: PutProject): Promise<ProjectPut> {
  const put = async (queries: Queries): Promise<ProjectPut> => {
    const { name, settings } = request;
    const values = [name, JSON.stringify(settings)];
    const [made] = await queries.rows<{ readonly now: number }>(MAKE, values);
    const [changed] = made === undefined ? await queries.rows<ChangedRow>(CHANGE, values) : [];
    const before = changed && toProject({ ...changed, name }).settings;
    const now = toInstant(made?.now ?? changed?.now ?? 0);
    await writeAudit(queries, [auditOf(request, changedByPutProject(name, before, settings), now)]);
    return { kind: 'put', existing: made === undefined };
  };
  return request.audit === undefined ? put(database) : database.transaction(put);
}

type ChangedRow = Omit<ProjectRow, 'name'> & { readonly now: number };

export async function project(database: Database, name: ProjectName): Promise<Project | undefined> {
  const [row] = await database.rows<ProjectRow & object>(READ, [name]);
  return row === undefined ? undefined : toProject(row);
}

export async function projects(
  database: Database,
  { after, limit }: ListProjects,
): Promise<readonly Project[]> {
  // No name is empty: what comes after that is everything.
  return (await database.rows<ProjectRow & object>(LIST, [after ?? '', limit])).map(toProject);
}
