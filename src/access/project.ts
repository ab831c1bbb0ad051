// A project: a tenant, as the deployment knows it. Embedded executions may name any project; through a
// coordinator only those that were put here are reachable.

import type { ProjectName } from '../execution/names.ts';
import type { KeepMs } from '../execution/retention.ts';
import type { Instant } from '../support/clock.ts';
import type { Quotas } from './quota.ts';

export interface Project {
  readonly name: ProjectName;
  readonly createdAt: Instant;
  readonly settings: ProjectSettings;
}

export interface ProjectSettings {
  /** What people call it. */
  readonly title?: string;
  /** How long the ended are kept, by how they ended; as the deployment says where nothing is said (F-1). */
  readonly keepMs?: KeepMs;
  /** How much it may have, where that differs from what the coordinator allows every project (P-14). */
  readonly quotas?: Partial<Quotas>;
}
