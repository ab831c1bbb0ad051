// A project: a tenant, as the deployment knows it. Embedded executions may name any project; through a
// coordinator only those that were put here are reachable.

import type { TerminalStatus } from '../execution/execution.ts';
import type { ProjectName } from '../execution/names.ts';
import type { Instant } from '../support/clock.ts';

export interface Project {
  readonly name: ProjectName;
  readonly createdAt: Instant;
  readonly settings: ProjectSettings;
}

export interface ProjectSettings {
  /** What people call it. */
  readonly title?: string;
  /** How long the ended are kept, by how they ended; for ever where nothing is said. */
  readonly keepMs?: Partial<Readonly<Record<TerminalStatus, number>>>;
}
