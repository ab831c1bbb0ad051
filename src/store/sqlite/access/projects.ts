import { changedByPutProject } from '../../../access/decide/audit.ts';
import type { Project } from '../../../access/project.ts';
import type { ProjectName } from '../../../execution/names.ts';
import { type ProjectRow, toProject } from '../../access-rows.ts';
import type { ListProjects, ProjectPut, PutProject } from '../../contract/access-store.ts';
import { writeAudit } from '../../sql/audit.ts';
import { play } from '../gateway.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';

const COLUMNS = 'name, created_at, settings';

const MAKE = `
  insert into project (${COLUMNS})
  values (:name, :now, :settings)
  on conflict (name) do nothing`;

// P-1: since when it is there stays.
const CHANGE = `
  update project
     set settings = :settings
   where name = :name`;

const READ = `
  select ${COLUMNS}
    from project
   where name = :name`;

const LIST = `
  select ${COLUMNS}
    from project
   where name > :after
   order by name
   limit :limit`;

export function putProject(tx: Transaction, request: PutProject): ProjectPut {
  const { name } = request;
  const settings = JSON.stringify(request.settings);
  const before = request.audit && project(tx, name);
  const isNew = tx.run(MAKE, { name, settings, now: tx.now }) > 0;
  if (!isNew) tx.run(CHANGE, { name, settings });
  play(
    tx,
    writeAudit(request, changedByPutProject(name, before?.settings, request.settings), tx.now),
  );
  return { kind: 'put', existing: !isNew };
}

export function project(tx: ReadTransaction, name: ProjectName): Project | undefined {
  const row = tx.get<ProjectRow>(READ, { name });
  return row === undefined ? undefined : toProject(row);
}

export function projects(tx: ReadTransaction, { after, limit }: ListProjects): readonly Project[] {
  // No name is empty: what comes after that is everything.
  return tx.all<ProjectRow>(LIST, { after: after ?? '', limit }).map(toProject);
}
