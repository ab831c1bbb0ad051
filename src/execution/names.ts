// What executions and their parts are called. Each is a brand, made by the parse function that checks it.

import { NAME_BYTES_MAX } from '../lease/names.ts';
import type { Brand } from '../support/assert.ts';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, shown } from '../support/options.ts';

/** A UUID of version 7: ids that are made later sort later. Made by whoever submits. */
export type ExecutionId = Brand<string, 'ExecutionId'>;
/** A tenant. Nothing of one project is seen by another. */
export type ProjectName = Brand<string, 'ProjectName'>;
/** The name of the code. Workers claim by it. */
export type PipelineName = Brand<string, 'PipelineName'>;
/** Which call in the code: kind, name and occurrence, `step:charge#1`. Stable over replays. */
export type CallKey = Brand<string, 'CallKey'>;
/** One item of one await of one execution; follows from these three. */
export type InteractionId = Brand<string, 'InteractionId'>;
/** A UUID of version 7, of one record of the audit. Made by whoever acts. */
export type AuditId = Brand<string, 'AuditId'>;
/** A value as it is stored: JSON text, after codec and claim check. Stores never look inside. */
export type Payload = Brand<string, 'Payload'>;

/** Names of the engine's own pipelines begin with it. */
export const OWN_PREFIX = 'holdfast.';

export const DEFAULT_PROJECT: ProjectName = 'default' as ProjectName;

export function parseExecutionId(value: unknown): ExecutionId {
  if (typeof value !== 'string' || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)) {
    throw new InvalidInput(
      `An execution id is the UUID that submit answered with; got ${shown(value)}.`,
    );
  }
  return value as ExecutionId;
}

export function parseProject(value: unknown): ProjectName {
  return boundedText('A project', value, NAME_BYTES_MAX) as ProjectName;
}

export function parsePipelineName(value: unknown): PipelineName {
  const name = boundedText('The name of a pipeline', value, NAME_BYTES_MAX);
  // It parts a pipeline from its release where executions stand in line.
  if (!name.includes('\u001f')) return name as PipelineName;
  throw new InvalidInput('The name of a pipeline must not contain the character U+001F.');
}
