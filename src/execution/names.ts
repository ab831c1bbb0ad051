// Names of executions and their parts. Each is a brand that its parse function checks and creates.

import { NAME_BYTES_MAX } from '../lease/names.ts';
import type { Brand } from '../support/assert.ts';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, shown } from '../support/options.ts';

/** The id of an execution: a UUID of version 7. Later ones sort later. */
export type ExecutionId = Brand<string, 'ExecutionId'>;
/** Names an execution within its project: its id, or `key:` and its key, as in `key:order-17`. */
export type ExecutionRef = ExecutionId | Brand<string, 'KeyRef'>;
/** The name of a project. */
export type ProjectName = Brand<string, 'ProjectName'>;
/** The name of a pipeline. */
export type PipelineName = Brand<string, 'PipelineName'>;
/** Kind, name and occurrence of a call in a pipeline's code: `step:charge#1`. */
export type CallKey = Brand<string, 'CallKey'>;
/** The id of one question that an execution asks. */
export type InteractionId = Brand<string, 'InteractionId'>;
/** The id of an audit record. */
export type AuditId = Brand<string, 'AuditId'>;
/** A value as it is stored: JSON text. `holdfast.decode` returns the value. */
export type Payload = Brand<string, 'Payload'>;

/** The prefix of the engine's own pipelines. */
export const OWN_PREFIX = 'holdfast.';

/** The prefix of the keys of calls whose children outlive their parent. */
export const DETACHED_CALL = 'detached:';

/** The prefix of the keys of calls that clean up after a cancel. */
export const CLEANUP_CALL = 'cleanup:';

/** The name of a pipeline in metrics. The engine adds pipelines for each user pipeline; they share one. */
export function labelOf(pipeline: string): string {
  return pipeline.startsWith(OWN_PREFIX) ? (pipeline.split('/', 1)[0] ?? pipeline) : pipeline;
}

export const DEFAULT_PROJECT: ProjectName = 'default' as ProjectName;

/**
 * Checks an execution id, a UUID in lower case. Throws `InvalidInput`.
 *
 * @example
 * const id = parseExecutionId('018f4e3a-6d0c-7b1e-9c57-2f1a0c9d8e7b');
 */
export function parseExecutionId(value: unknown): ExecutionId {
  if (typeof value === 'string' && UUID.test(value)) return value as ExecutionId;
  throw new InvalidInput(
    `An execution id must be the UUID that submit returned; got ${shown(value)}.`,
  );
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const KEY_PREFIX = 'key:';

/** Checks an id or `key:` and a key. Throws `InvalidInput`. */
export function parseExecutionRef(value: unknown): ExecutionRef {
  if (typeof value === 'string' && UUID.test(value)) return value as ExecutionId;
  if (typeof value !== 'string' || !value.startsWith(KEY_PREFIX)) {
    throw new InvalidInput(
      `An execution id must be the UUID that submit returned, or "key:" and its key; got ${shown(value)}.`,
    );
  }
  boundedText('key', value.slice(KEY_PREFIX.length), NAME_BYTES_MAX);
  return value as ExecutionRef;
}

/** The key in a reference. Undefined if the reference is an id. */
export function keyOfRef(ref: ExecutionRef): string | undefined {
  return ref.startsWith(KEY_PREFIX) ? ref.slice(KEY_PREFIX.length) : undefined;
}

/** The least id above this one. Above the greatest there is none. */
export function nextExecutionId(id: ExecutionId): ExecutionId {
  const next = (BigInt(`0x${id.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0');
  if (next.length > 32) return id;
  return next.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') as ExecutionId;
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
