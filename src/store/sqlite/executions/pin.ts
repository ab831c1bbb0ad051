// Finds the release to which a new execution is pinned (RE-5). If no pipeline has a rollout, one
// read per transaction is enough.

import type { PipelineName } from '../../../execution/names.ts';
import { routeOf } from '../../../execution/route.ts';
import { type Line, pinOf } from '../../../features/releases/model.ts';
import type { ChangeLine, LineChanged } from '../../../features/releases/port.ts';
import { type LineRow, toLine } from '../../../features/releases/rows.ts';
import type { Submit } from '../../contract/execution-store.ts';
import type { ExecutionRow } from '../../execution-rows.ts';
import { changeLine as changeLineOf } from '../../sql/releases.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';

const ANY = 'select 1 from release_line limit 1';

const LINE = `
  select version, active, previous, candidate, percent
    from release_line
   where project = :project
     and pipeline = :pipeline`;

/** Null when the store has no rollout at all. */
const LINES: WeakMap<Transaction, Map<string, Line | undefined> | null> = new WeakMap();

/** Drops the cache, so that later submits in the same flush read the new rollout. */
export function changeLine(tx: Transaction, request: ChangeLine): LineChanged {
  const answer = play(tx, changeLineOf(request));
  LINES.delete(tx);
  return answer;
}

export function routeFor(
  tx: Transaction,
  row: Pick<ExecutionRow, 'id' | 'key' | 'project' | 'pipeline'>,
  { release }: Pick<Submit, 'release'>,
): string {
  const pipeline = row.pipeline as PipelineName;
  if (release !== undefined) return routeOf({ pipeline, release });
  const line = lineOf(tx, row);
  if (line === undefined) return pipeline;
  const pinned = pinOf(line, row.key === null ? { id: row.id } : { id: row.id, key: row.key });
  return pinned === undefined ? pipeline : routeOf({ pipeline, release: pinned });
}

function lineOf(
  tx: Transaction,
  { project, pipeline }: Pick<ExecutionRow, 'project' | 'pipeline'>,
): Line | undefined {
  let lines = LINES.get(tx);
  if (lines === undefined) {
    lines = tx.get(ANY) === undefined ? null : new Map();
    LINES.set(tx, lines);
  }
  if (lines === null) return undefined;
  const place = `${project}\0${pipeline}`;
  if (!lines.has(place)) {
    const row = tx.get<LineRow>(LINE, { project, pipeline });
    lines.set(place, row === undefined ? undefined : toLine(row));
  }
  return lines.get(place);
}
