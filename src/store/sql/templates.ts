// Stores templates and their versions.

import type { Payload, PipelineName, ProjectName } from '../../execution/names.ts';
import { changedByTemplate } from '../../features/audit/decide.ts';
import type { Template, TemplateOptions } from '../../features/templates/model.ts';
import type {
  ListTemplates,
  PutTemplate,
  ReadTemplate,
  TemplatePut,
  TemplateStore,
} from '../../features/templates/port.ts';
import { assert } from '../../support/assert.ts';
import { toInstant } from '../../support/clock.ts';
import { writeAudit } from './audit.ts';
import { every, found, type Gateway, one, type Script, sql } from './script.ts';

const COLUMNS = 'project, id, version, at, pipeline, digest, defaults, about';

// A version is written once and never changes.
const PUT = sql(`
  insert into hf.template (${COLUMNS})
  values (:project, :id, :version, hf_now(), :pipeline, :digest, :defaults, :about)
      on conflict (project, id, version) do nothing
  returning at`);

// Without a version, this reads the newest one.
const READ = sql(`
  select ${COLUMNS}
    from hf.template
   where project = :project
     and id = :id
     and (:version::integer is null or version = :version)
   order by version desc
   limit 1`);

const LIST = sql(`
  select ${COLUMNS}
    from hf.template
   where project = :project
     and id >= :first
     and id <= :last
     and id >= :afterId
     and (id > :afterId or version < :afterVersion)
   order by id, version desc
   limit :limit`);

/** Sorts after every other text. */
const LAST_TEXT = '\u{10ffff}';

export function templatesOf({ read, write }: Gateway): TemplateStore {
  return {
    putTemplate: (request) => write(() => putTemplate(request)),
    template: (query) => read(() => readTemplate(query)),
    templates: (query) => read(() => listTemplates(query)),
  };
}

function* putTemplate(request: PutTemplate): Script<TemplatePut> {
  const inserted = yield* one<{ at: number }>(PUT, fromTemplate(request));
  if (inserted !== undefined) {
    yield* writeAudit(request, changedByTemplate(request), toInstant(inserted.at));
    return { kind: 'put', existing: false };
  }
  const stored = yield* readTemplate(request);
  assert(stored !== undefined, 'X-30: a version that is taken is stored');
  return putAgain(request, stored.digest);
}

function* readTemplate(query: ReadTemplate): Script<Template | undefined> {
  return yield* found(READ, query, toTemplate);
}

function* listTemplates(query: ListTemplates): Script<readonly Template[]> {
  const { project, id, after, limit } = query;
  // No id is empty, so a list that continues after '' is the whole list.
  const place = { afterId: after?.id ?? '', afterVersion: after?.version ?? 0 };
  const values = { project, first: id ?? '', last: id ?? LAST_TEXT, ...place, limit };
  return yield* every(LIST, values, toTemplate);
}

interface TemplateRow {
  readonly project: string;
  readonly id: string;
  readonly version: number;
  readonly at: number;
  readonly pipeline: string;
  readonly digest: string;
  readonly defaults: string;
  readonly about: string | null;
}

/** Stored as JSON, which keeps the name `by` for the actor. */
type About = TemplateOptions & { readonly by?: string };

function fromTemplate(template: PutTemplate): Omit<TemplateRow, 'at'> {
  const { project, id, version, pipeline, digest, defaults, audit: _, ...rest } = template;
  const { actor, ...options } = rest;
  const about: About = { ...options, ...(actor === undefined ? {} : { by: actor }) };
  const text = JSON.stringify(about);
  return { project, id, version, pipeline, digest, defaults, about: text === '{}' ? null : text };
}

function toTemplate(row: TemplateRow): Template {
  const { by, ...about }: About = row.about === null ? {} : (JSON.parse(row.about) as About);
  return {
    project: row.project as ProjectName,
    id: row.id,
    version: row.version,
    pipeline: row.pipeline as PipelineName,
    digest: row.digest,
    defaults: row.defaults as Payload,
    createdAt: toInstant(row.at),
    ...about,
    ...(by === undefined ? {} : { actor: by }),
  };
}

/** Compares with the stored version: the same content, or a conflict. */
function putAgain({ id, version, digest }: PutTemplate, stored: string): TemplatePut {
  return stored === digest
    ? { kind: 'put', existing: true }
    : { kind: 'refused', why: 'template-conflict', id, version };
}
