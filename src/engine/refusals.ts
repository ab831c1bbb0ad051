// Writes that were refused to workers, as people ask for them.

import { type ExecutionId, parseExecutionId } from '../execution/names.ts';
import { OWNER_VERBS, type OwnerVerb, type RefusedWrite } from '../execution/refused-write.ts';
import { toFence } from '../lease/fence.ts';
import type { RefusalPlace } from '../store/contract/audit-store.ts';
import { toInstant } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import { readOptions, shown, wholeNumber } from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import type { Page } from './holdfast-types.ts';
import { projectOf } from './submission.ts';

export interface RefusalListOptions {
  readonly project?: string;
  /** Only those of this one. */
  readonly execution?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

const NAMES: readonly (keyof RefusalListOptions)[] = ['project', 'execution', 'cursor', 'limit'];

export async function listRefusals(
  { store, refusals }: Pick<EngineConfig, 'store' | 'refusals'>,
  options: RefusalListOptions,
): Promise<Page<RefusedWrite>> {
  const { project, execution, cursor, limit = 100 } = readOptions('refusals', options, NAMES);
  wholeNumber('limit', limit, { min: 1, max: 10_000 });
  const query = {
    project: projectOf(project),
    limit,
    ...(execution === undefined ? {} : { execution: parseExecutionId(execution) }),
    ...(cursor === undefined ? {} : { before: placeOf(cursor) }),
  };
  // Whoever asks sees what was refused here until now.
  await refusals.flush();
  const items = await store.executions.refusals(query);
  const last = items.at(-1);
  const isLast = items.length < limit || last === undefined;
  return { items, ...(isLast ? {} : { cursor: cursorFor(last) }) };
}

function cursorFor({ lastAt, fence, verb, execution }: RefusedWrite): string {
  return `${lastAt}.${fence}.${verb}.${execution}`;
}

/** A cursor, as `cursorFor` made it. */
function placeOf(cursor: unknown): RefusalPlace {
  const parts = typeof cursor === 'string' ? CURSOR.exec(cursor) : null;
  const [, lastAt = '', fence = '', verb = '', execution = ''] = parts ?? [];
  if (parts === null || Number(fence) === 0 || !OWNER_VERBS.includes(verb as OwnerVerb)) {
    throw new InvalidInput(`cursor is what a list answered with; got ${shown(cursor)}.`);
  }
  return {
    lastAt: toInstant(Number(lastAt)),
    fence: toFence(Number(fence)),
    verb: verb as OwnerVerb,
    execution: execution as ExecutionId,
  };
}

const CURSOR =
  /^(\d{1,15})\.(\d{1,15})\.([a-zA-Z]{1,10})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
