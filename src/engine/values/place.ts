// The place of a value in its project. A codec seals the place with the value, so a value that was
// moved cannot be read. Re-drives share recorded values, so the first execution of the
// lineage owns them.

import type { ExecutionRecord } from '../../execution/execution.ts';

/** The place to which a codec binds a value. */
export interface ValuePlace {
  /** An execution, or another owner of values. It has no spaces. */
  readonly owner: string;
  readonly position: string;
  /** Set if the code keeps using the value: encoding replaces it with what decoding would return. */
  readonly live?: { value: unknown };
  /** True: the value stays in its row, whatever `inlineBytesMax` is. The caller bounds its size. */
  readonly isInline?: boolean;
}

/** The place where the engine found a value. */
export interface ExpectedPlace {
  readonly position: string;
  /** Undefined if the owner is not known, or if values can pass to another owner. */
  readonly owners?: readonly string[];
  /** The engine created the value, possibly without a codec, as in a coordinator. */
  readonly isOpen?: boolean;
}

export const INPUT = 'input';
export const OUTPUT = 'output';
export const CHECKPOINT = 'checkpoint';
export const REQUEST = 'request';
export const DEFAULT_ANSWER = 'default';

/** Attachments stay with the execution that created them. */
export function attachmentAt(
  { project, id }: Pick<ExecutionRecord, 'project' | 'id'>,
  name: string,
): string {
  return `${project} ${id} attachment:${name}`;
}

export function inputOf(owner: string): ValuePlace {
  return { owner, position: INPUT };
}

/** Signals that an execution did not receive pass to the execution that continues it. */
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
