// The part of the port that keeps templates.

import type { ProjectName } from '../../execution/names.ts';
import type { TemplateRefusal } from '../../execution/refusal.ts';
import type { Audited } from '../audit/model.ts';
import type { Template, TemplateVersion } from './model.ts';

export interface TemplateStore {
  /** A version is written once; the same content again is fine. */
  putTemplate(request: PutTemplate): Promise<TemplatePut>;
  /** Of the version, or of the newest. */
  template(query: ReadTemplate): Promise<Template | undefined>;
  /** By id; the newest version of each first. */
  templates(query: ListTemplates): Promise<readonly Template[]>;
}

export type PutTemplate = Omit<Template, 'createdAt'> & Audited;

export type TemplatePut =
  /** `existing` when the same content was there. */
  | { readonly kind: 'put'; readonly existing: boolean }
  | ({ readonly kind: 'refused' } & Extract<TemplateRefusal, { why: 'template-conflict' }>);

export interface ReadTemplate {
  readonly project: ProjectName;
  readonly id: string;
  readonly version?: number;
}

export interface ListTemplates {
  readonly project: ProjectName;
  /** Only the versions of this one. */
  readonly id?: string;
  /** Goes on after this one. */
  readonly after?: TemplateVersion;
  readonly limit: number;
}
