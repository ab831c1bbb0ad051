// Who acts on an execution, and why, as it is recorded.

import { type Payload, parseExecutionId } from '../execution/names.ts';
import type { Command } from '../store/contract/execution-store.ts';
import { rejectUnknownOptions } from '../support/options.ts';
import type { Acting } from './holdfast-types.ts';
import { projectOf } from './submission.ts';

export function commandOf(id: string, acting: Acting): Command {
  rejectUnknownOptions('acting', acting, ['project', 'by', 'reason', 'name', 'value']);
  const { project, by, reason } = acting;
  return {
    id: parseExecutionId(id),
    project: projectOf(project),
    body: JSON.stringify({ by: by ?? 'unknown', reason: reason ?? '' }) as Payload,
  };
}
