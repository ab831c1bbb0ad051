// The part of the port that keeps templates.

import type { ProjectName } from '../../execution/names.ts';
import type { TemplateRefusal } from '../../execution/refusal.ts';
import type { Audited } from '../audit/model.ts';
import type { Template, TemplateVersion } from './model.ts';

export interface TemplateStore {
  /** Writes a version once; repeating the same content is safe. */
  putTemplate(request: PutTemplate): Promise<TemplatePut>;
  /** The given version, or the newest. */
  template(query: ReadTemplate): Promise<Template | undefined>;
  /** Sorted by id; the newest version of each first. */
  templates(query: ListTemplates): Promise<readonly Template[]>;
}

export type PutTemplate = Omit<Template, 'createdAt'> & Audited;

export type TemplatePut =
  /** `existing`: the store already has the same content. */
  | { readonly kind: 'put'; readonly existing: boolean }
  | ({ readonly kind: 'refused' } & Extract<TemplateRefusal, { why: 'template-conflict' }>);

export interface ReadTemplate {
  readonly project: ProjectName;
  readonly id: string;
  readonly version?: number;
}

export interface ListTemplates {
  readonly project: ProjectName;
  /** Only the versions of this template. */
  readonly id?: string;
  /** Continues after this one. */
  readonly after?: TemplateVersion;
  readonly limit: number;
}
