// Projects: put, read and listed by whoever looks after the deployment.

import { parseProject } from '../../execution/names.ts';
import { requireOfAll, unknownProject } from '../../protocol/rest/problems.ts';
import { actorOf, type Route, route } from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import { stampOutside } from '../audit/api.ts';
import {
  type ProjectMessage,
  project,
  projectBody,
  projectPage,
  projectParams,
  projectPut,
  projectQuery,
} from './messages.ts';
import type { Project, ProjectSettings } from './model.ts';

const ADMIN = { allows: ['admin'], listener: 'admin' } as const;
const LIMIT = 100;

const put = route({
  method: 'PUT',
  path: '/v1/projects/:name',
  name: 'putProject',
  summary: 'Makes a project, or gives it these settings whole: what is left out is taken away.',
  ...ADMIN,
  params: projectParams,
  body: projectBody,
  answers: { 200: { what: 'It is there.', schema: projectPut } },
  async handle({ store }, { params, body, caller }) {
    requireOfAll(caller);
    const settings = body as ProjectSettings;
    const { existing } = await store.access.putProject({
      name: parseProject(params.name),
      settings,
      audit: stampOutside('put-project', { by: actorOf(caller) }),
    });
    return { status: 200, body: { existing } };
  },
});

const list = route({
  method: 'GET',
  path: '/v1/projects',
  name: 'listProjects',
  summary: 'Projects by name: all of them, or the one that the key is of.',
  ...ADMIN,
  query: projectQuery,
  answers: { 200: { what: 'A page.', schema: projectPage } },
  async handle({ store }, { query, caller }) {
    if (!caller.isOfAll) {
      const own = await store.access.project(caller.project);
      return { status: 200, body: { items: own === undefined ? [] : [projectMessage(own)] } };
    }
    const { cursor, limit = LIMIT } = query;
    const after = cursor === undefined ? {} : { after: parseProject(cursor) };
    const items = await store.access.projects({ limit, ...after });
    const last = items.length < limit ? undefined : items.at(-1)?.name;
    return {
      status: 200,
      body: { items: items.map(projectMessage), ...(last === undefined ? {} : { cursor: last }) },
    };
  },
});

const read = route({
  method: 'GET',
  path: '/v1/projects/:name',
  name: 'readProject',
  summary: 'One project and its settings.',
  ...ADMIN,
  params: projectParams,
  answers: { 200: { what: 'As it is now.', schema: project } },
  async handle({ store }, { params, caller }) {
    const name = parseProject(params.name);
    const isOwn = caller.isOfAll || caller.project === name;
    const found = isOwn ? await store.access.project(name) : undefined;
    if (found === undefined) throw unknownProject(params.name);
    return { status: 200, body: projectMessage(found) };
  },
});

function projectMessage({ name, createdAt, settings }: Project): ProjectMessage {
  return { name, createdAt: formatInstant(createdAt), ...settings };
}

export const projectRoutes: readonly Route[] = [put, list, read];
