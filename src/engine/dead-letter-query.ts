// What callers ask of dead letters, checked and turned into a query.

import { parsePipelineName } from '../execution/names.ts';
import type { ListDeadLetters } from '../store/contract/repair-store.ts';
import { boundedText } from '../support/options.ts';
import { projectOf } from './submission.ts';

export interface DeadLetterFilter {
  readonly project?: string;
  readonly pipeline?: string;
  readonly code?: string;
  readonly step?: string;
  /** Only those that were not driven again. */
  readonly open?: boolean;
}

export const FILTERS = ['project', 'pipeline', 'code', 'step', 'open'] as const;

export function filterOf(filter: DeadLetterFilter): Omit<ListDeadLetters, 'limit' | 'before'> {
  const { project, pipeline, code, step, open } = filter;
  return {
    project: projectOf(project),
    ...(pipeline === undefined ? {} : { pipeline: parsePipelineName(pipeline) }),
    ...(code === undefined ? {} : { code: boundedText('code', code, 256) }),
    ...(step === undefined ? {} : { step: boundedText('step', step, 512) }),
    ...(open === undefined ? {} : { open }),
  };
}
