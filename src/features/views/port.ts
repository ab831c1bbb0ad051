// The part of the port that keeps saved views: filters of console pages that a project shares (P-19).

import type { ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import type { PutWithinQuota } from '../access/model.ts';
import type { Audited } from '../audit/model.ts';

/** A filter under a name. The id stays when the name changes, so that addresses with it stay valid. */
export interface SavedView {
  readonly id: string;
  /** The name for people. */
  readonly name: string;
  /** The page of the console that it filters. */
  readonly page: string;
  /** The filter, as the query of that page's address. */
  readonly query: string;
  /** When it was saved last. */
  readonly savedAt: Instant;
  readonly savedBy?: string;
}

export interface ViewStore {
  /** Creates it, or replaces it if its content differs. */
  putView(request: PutView): Promise<PutWithinQuota>;
  /** Sorted by id. */
  views(query: ListViews): Promise<readonly SavedView[]>;
  removeView(request: RemoveView): Promise<{ readonly kind: 'done' | 'no-change' }>;
}

export interface RemoveView extends Audited {
  readonly project: ProjectName;
  readonly id: string;
}

export interface PutView extends RemoveView, Omit<SavedView, 'savedAt'> {
  /** The limit of views, unless the project's own settings differ (P-14). */
  readonly quota?: number;
}

export interface ListViews {
  readonly project: ProjectName;
  /** Only views of this page. */
  readonly page?: string;
  /** Continues after this id. */
  readonly after?: string;
  readonly limit: number;
}
