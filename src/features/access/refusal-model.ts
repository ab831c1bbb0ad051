// Refusals of what is done to keys: every expected no, with what its reader needs to act on it.

import type { ProjectName } from '../../execution/names.ts';
import { unreachable } from '../../support/assert.ts';
import { describeOverQuota, type QuotaName } from './quota-model.ts';

export interface OverQuota {
  readonly why: 'over-quota';
  readonly project: ProjectName;
  readonly quota: QuotaName;
  readonly limit: number;
}

export type AddKeyRefusal =
  | OverQuota
  | { readonly why: 'project-unknown'; readonly project: ProjectName }
  /** This id exists with other content; a key never changes. */
  | { readonly why: 'key-taken'; readonly id: string }
  | { readonly why: 'not-first' }
  /** The key that makes it, or that it replaces. */
  | { readonly why: 'key-ended'; readonly id: string };

export interface EndKeyRefusal {
  readonly why: 'key-unknown';
  readonly id: string;
}

export type AccessRefusal = AddKeyRefusal | EndKeyRefusal;

/** What happened, why, and what to do next. */
export function describeAccessRefusal(refusal: AccessRefusal): string {
  switch (refusal.why) {
    case 'project-unknown':
      return `There is no project ${JSON.stringify(refusal.project)}. Put it first, or check its name.`;
    case 'key-taken':
      return `Key ${refusal.id} exists already and is another one. Make a new one.`;
    case 'not-first':
      return 'There are keys already, so this one would not be the first. Use one of those to make it.';
    case 'key-ended':
      return `Key ${refusal.id} has ended. Nothing was written. Make a new key with another one.`;
    case 'over-quota':
      return describeOverQuota(refusal.project, refusal.quota, refusal.limit);
    case 'key-unknown':
      return `There is no key ${refusal.id} that you could end. Check the id and the project.`;
    default:
      return unreachable(refusal);
  }
}
