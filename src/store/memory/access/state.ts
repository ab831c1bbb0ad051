// What the memory store remembers of projects and keys. Like the rest of it: every verb looks up a view,
// asks the pure decision, and writes the result down in the same turn.

import type { AccessKey } from '../../../access/access-key.ts';
import type { Project } from '../../../access/project.ts';
import type { ProjectName } from '../../../execution/names.ts';
import type { ExecutionState } from '../executions/state.ts';
import type { MemoryState } from '../state.ts';

export class AccessState {
  readonly kernel: MemoryState;
  /** Has the audit. */
  readonly executions: ExecutionState;
  readonly projects: Map<ProjectName, Project> = new Map();
  readonly keys: Map<string, AccessKey> = new Map();

  constructor(executions: ExecutionState) {
    this.kernel = executions.kernel;
    this.executions = executions;
  }
}
