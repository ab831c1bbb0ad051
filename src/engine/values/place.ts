// Where a value belongs in its project. A codec seals it with the value, so that one that was moved is not read
// . Re-drives share what is recorded, so the first of them is its owner.

import type { ExecutionRecord } from '../../execution/execution.ts';

/** To which a value is bound. */
export interface ValuePlace {
  /** An execution, or what else has values. No spaces. */
  readonly owner: string;
  readonly position: string;
  /** Where the value goes on being used, this becomes what decoding would give. */
  readonly live?: { value: unknown };
}

/** Where a value was found. */
export interface ExpectedPlace {
  readonly position: string;
  /** Any where it is not known, or where values go on to another owner. */
  readonly owners?: readonly string[];
  /** Made by the engine where there may be no codec, such as in a coordinator. */
  readonly isOpen?: boolean;
}

export const INPUT = 'input';
export const OUTPUT = 'output';
export const CHECKPOINT = 'checkpoint';
export const REQUEST = 'request';
export const DEFAULT_ANSWER = 'default';

/** Attachments stay with the execution that made them. */
export function attachmentAt(
  { project, id }: Pick<ExecutionRecord, 'project' | 'id'>,
  name: string,
): string {
  return `${project} ${id} attachment:${name}`;
}

export function inputOf(owner: string): ValuePlace {
  return { owner, position: INPUT };
}

/** Signals that an execution has not received go on to the execution that continues it. */
export function signalPosition(name: string): string {
  return `signal:${name}`;
}

/** All executions of a schedule share its input. */
export function scheduleOwner(id: string): string {
  return `schedule:${encodeURIComponent(id)}`;
}

export function templatePlace({
  id,
  version,
}: {
  readonly id: string;
  readonly version: number;
}): ValuePlace {
  return { owner: `template:${encodeURIComponent(id)}@${version}`, position: 'defaults' };
}

export function expected({ owner, position }: ValuePlace): ExpectedPlace {
  return { owners: [owner], position };
}
