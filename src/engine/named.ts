// Finds the execution that an id or a key names.

import { type ExecutionId, keyOfRef, parseExecutionRef } from '../execution/names.ts';
import { describeExecutionRefusal } from '../execution/refusal.ts';
import { Fault } from '../support/fault.ts';
import { readOptions } from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import { projectOf } from './submission.ts';

/** The project of an execution that a key names. */
export interface InProject {
  /** The project. Default `default`. An id needs none. */
  readonly project?: string;
}

export function projectIn(what: string, options: InProject): string | undefined {
  return readOptions(what, options, ['project']).project;
}

/** Undefined if no execution has the key. An id is returned as it is. */
export async function findId(
  { store }: Pick<EngineConfig, 'store'>,
  given: string,
  inProject: string | undefined,
): Promise<ExecutionId | undefined> {
  const project = projectOf(inProject);
  const ref = parseExecutionRef(given);
  const key = keyOfRef(ref);
  if (key === undefined) return ref as ExecutionId;
  return store.executions.idOfKey({ project, key });
}

/** Throws a `Fault` if no execution has the key. */
export async function requireId(
  config: Pick<EngineConfig, 'store'>,
  given: string,
  project: string | undefined,
): Promise<ExecutionId> {
  const found = await findId(config, given, project);
  if (found !== undefined) return found;
  const refusal = { why: 'execution-unknown', id: parseExecutionRef(given) } as const;
  throw new Fault(refusal.why, describeExecutionRefusal(refusal));
}
