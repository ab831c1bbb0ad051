// Rows of templates, in one shape for both SQL stores.

import type { Payload, PipelineName, ProjectName } from '../../execution/names.ts';
import { toInstant } from '../../support/clock.ts';
import type { Template, TemplateOptions } from './model.ts';
import type { PutTemplate, TemplatePut } from './port.ts';

export interface TemplateRow {
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

export function fromTemplate(template: PutTemplate): Omit<TemplateRow, 'at'> {
  const { project, id, version, pipeline, digest, defaults, audit: _, ...rest } = template;
  const { actor, ...options } = rest;
  const about: About = { ...options, ...(actor === undefined ? {} : { by: actor }) };
  const text = JSON.stringify(about);
  return { project, id, version, pipeline, digest, defaults, about: text === '{}' ? null : text };
}

export function toTemplate(row: TemplateRow): Template {
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
export function putAgain({ id, version, digest }: PutTemplate, stored: string): TemplatePut {
  return stored === digest
    ? { kind: 'put', existing: true }
    : { kind: 'refused', why: 'template-conflict', id, version };
}
