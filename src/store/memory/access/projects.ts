import { changedByPutProject } from '../../../access/decide/audit.ts';
import type { Project } from '../../../access/project.ts';
import type { ProjectName } from '../../../execution/names.ts';
import type { ListProjects, ProjectPut, PutProject } from '../../contract/access-store.ts';
import { writeAudit } from '../executions/audit.ts';
import { inByteOrder } from '../executions/state.ts';
import type { AccessState } from './state.ts';

/** P-1: settings are replaced, and since when it is there stays. */
export function putProject(state: AccessState, request: PutProject): ProjectPut {
  const { name, settings } = request;
  const stored = state.projects.get(name);
  const now = state.kernel.now();
  const createdAt = stored?.createdAt ?? now;
  state.projects.set(name, { name, createdAt, settings: structuredClone(settings) });
  const changed = changedByPutProject(name, stored?.settings, settings);
  writeAudit(state.executions, request, { changed, now });
  return { kind: 'put', existing: stored !== undefined };
}

export function project(state: AccessState, name: ProjectName): Project | undefined {
  const stored = state.projects.get(name);
  return stored === undefined ? undefined : structuredClone(stored);
}

export function projects(state: AccessState, { after, limit }: ListProjects): readonly Project[] {
  return [...state.projects.values()]
    .filter(({ name }) => after === undefined || inByteOrder(name, after) > 0)
    .sort((a, b) => inByteOrder(a.name, b.name))
    .slice(0, limit)
    .map((each) => structuredClone(each));
}
