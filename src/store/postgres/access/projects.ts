import type { Project } from '../../../access/project.ts';
import type { ProjectName } from '../../../execution/names.ts';
import { type ProjectRow, toProject } from '../../access-rows.ts';
import type { ListProjects, ProjectPut, PutProject } from '../../contract/access-store.ts';
import { type Database, statement } from '../database.ts';

const COLUMNS = 'p.name, p.created_at, p.settings';

const MAKE = statement(`
  insert into hf.project as p (name, created_at, settings)
  values ($1, hf_now(), $2)
      on conflict (name) do nothing
  returning p.name`);

// P-1: since when it is there stays.
const CHANGE = statement(`
  update hf.project p
     set settings = $2
   where p.name = $1`);

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
export async function putProject(
  database: Database,
  { name, settings }: PutProject,
): Promise<ProjectPut> {
  const values = [name, JSON.stringify(settings)];
  const made = await database.rows(MAKE, values);
  if (made.length > 0) return { kind: 'put', existing: false };
  await database.rows(CHANGE, values);
  return { kind: 'put', existing: true };
}

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
