// A project: a tenant, as the deployment knows it. Embedded executions may name any project; through a
// coordinator only those that were put here are reachable.

import type { ProjectName } from '../execution/names.ts';
import type { KeepMs } from '../execution/retention.ts';
import type { Instant } from '../support/clock.ts';

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
}
