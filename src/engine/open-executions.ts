// Which executions of a pipeline a new release finds: open, and pinned to another one or to none.

import type { Status } from '../execution/execution.ts';
import type { ExecutionId } from '../execution/names.ts';
import type { ReleaseKey } from '../release/release.ts';
import type { EngineConfig } from './config.ts';

const PAGE = 1_000;

/** Those that nobody runs. */
export const IDLE: readonly Status[] = ['queued', 'waiting'];
export const OPEN: readonly Status[] = [...IDLE, 'running'];

/** Newest first. */
export async function openElsewhere(
  config: EngineConfig,
  { project, pipeline, name }: ReleaseKey,
  status: readonly Status[],
): Promise<readonly ExecutionId[]> {
  const ids: ExecutionId[] = [];
  for (let before: ExecutionId | undefined; ; ) {
    const from = before === undefined ? {} : { before };
    const query = { project, pipeline, status, limit: PAGE, ...from };
    const page = await config.store.executions.list(query);
    for (const { id, release } of page) if (release !== name) ids.push(id);
    before = page.at(-1)?.id;
    if (before === undefined || page.length < PAGE) return ids;
  }
}
