import { changedByTemplate } from '../../../execution/decide/audit.ts';
import type { Template } from '../../../execution/template.ts';
import type {
  ListTemplates,
  PutTemplate,
  ReadTemplate,
  TemplatePut,
} from '../../contract/template-store.ts';
import { writeAudit } from './audit.ts';
import { type ExecutionState, inByteOrder, inProject } from './state.ts';

/** a version is written once. */
export function putTemplate(state: ExecutionState, request: PutTemplate): TemplatePut {
  const { project, id, version } = request;
  const place = inProject(project, `${version}\0${id}`);
  const stored = state.templates.get(place);
  if (stored === undefined) {
    const now = state.kernel.now();
    const { audit: _, ...content } = request;
    state.templates.set(place, { ...structuredClone(content), createdAt: now });
    writeAudit(state, request, { changed: changedByTemplate(request), now });
    return { kind: 'put', existing: false };
  }
  return stored.digest === request.digest
    ? { kind: 'put', existing: true }
    : { kind: 'refused', why: 'template-conflict', id, version };
}

export function template(state: ExecutionState, query: ReadTemplate): Template | undefined {
  const { project, id, version } = query;
  const [found] = templates(state, { project, id, limit: Number.POSITIVE_INFINITY }).filter(
    (each) => version === undefined || each.version === version,
  );
  return found;
}

export function templates(state: ExecutionState, query: ListTemplates): readonly Template[] {
  const { project, id, after, limit } = query;
  return [...state.templates.values()]
    .filter((each) => each.project === project && (id === undefined || each.id === id))
    .sort(inOrder)
    .filter((each) => after === undefined || inOrder(each, after) > 0)
    .slice(0, limit)
    .map((each) => structuredClone(each));
}

/** By id; the newest version first. */
function inOrder(a: Pick<Template, 'id' | 'version'>, b: Pick<Template, 'id' | 'version'>): number {
  return inByteOrder(a.id, b.id) || b.version - a.version;
}
