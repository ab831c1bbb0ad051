// Names of executions and their parts. Each is a brand that its parse function checks and creates.

import { NAME_BYTES_MAX } from '../lease/names.ts';
import type { Brand } from '../support/assert.ts';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, shown } from '../support/options.ts';

/** A UUID of version 7: later ids sort later. The submitter creates it. */
export type ExecutionId = Brand<string, 'ExecutionId'>;
/** A tenant. Nothing of one project is seen by another. */
export type ProjectName = Brand<string, 'ProjectName'>;
/** The name of the code. Workers claim by it. */
export type PipelineName = Brand<string, 'PipelineName'>;
/** A call in the code: kind, name and occurrence, such as `step:charge#1`. Stable over replays. */
export type CallKey = Brand<string, 'CallKey'>;
/** One item of one await of one execution; derived from these three. */
export type InteractionId = Brand<string, 'InteractionId'>;
/** A UUID of version 7 for one record of the audit. The caller of the operation creates it. */
export type AuditId = Brand<string, 'AuditId'>;
/** A value as stored: JSON text, after codec and claim check. Stores never look inside. */
export type Payload = Brand<string, 'Payload'>;

/** The prefix of the engine's own pipelines. */
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
  // This character separates a pipeline from its release in a route.
  if (!name.includes('\u001f')) return name as PipelineName;
  throw new InvalidInput('The name of a pipeline must not contain the character U+001F.');
}
