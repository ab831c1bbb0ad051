// Finds the release to which a new execution is pinned (RE-5). If no pipeline has a rollout, one
// read per transaction is enough.

import type { PipelineName } from '../../../execution/names.ts';
import { routeOf } from '../../../execution/route.ts';
import { pinOf, type Rollout } from '../../../features/releases/model.ts';
import type { ChangeRollout, RolloutChanged } from '../../../features/releases/port.ts';
import { type RolloutRow, toRollout } from '../../../features/releases/rows.ts';
import type { Submit } from '../../contract/execution-store.ts';
import type { ExecutionRow } from '../../execution-rows.ts';
import { changeRollout as changeRolloutScript } from '../../sql/releases.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';

const ANY = 'select 1 from release_line limit 1';

const ROLLOUT = `
  select version, active, previous, candidate, percent
    from release_line
   where project = :project
     and pipeline = :pipeline`;

/** Null when the store has no rollout at all. */
const ROLLOUTS: WeakMap<Transaction, Map<string, Rollout | undefined> | null> = new WeakMap();

/** Drops the cache, so that later submits in the same flush read the new rollout. */
export function changeRollout(tx: Transaction, request: ChangeRollout): RolloutChanged {
  const result = play(tx, changeRolloutScript(request));
  ROLLOUTS.delete(tx);
  return result;
}

export function routeFor(
  tx: Transaction,
  row: Pick<ExecutionRow, 'id' | 'key' | 'project' | 'pipeline'>,
  { release }: Pick<Submit, 'release'>,
): string {
  const pipeline = row.pipeline as PipelineName;
  if (release !== undefined) return routeOf({ pipeline, release });
  const rollout = rolloutOf(tx, row);
  if (rollout === undefined) return pipeline;
  const pinned = pinOf(rollout, row.key === null ? { id: row.id } : { id: row.id, key: row.key });
  return pinned === undefined ? pipeline : routeOf({ pipeline, release: pinned });
}

function rolloutOf(
  tx: Transaction,
  { project, pipeline }: Pick<ExecutionRow, 'project' | 'pipeline'>,
): Rollout | undefined {
  let rollouts = ROLLOUTS.get(tx);
  if (rollouts === undefined) {
    rollouts = tx.get(ANY) === undefined ? null : new Map();
    ROLLOUTS.set(tx, rollouts);
  }
  if (rollouts === null) return undefined;
  const place = `${project}\0${pipeline}`;
  if (!rollouts.has(place)) {
    const row = tx.get<RolloutRow>(ROLLOUT, { project, pipeline });
    rollouts.set(place, row === undefined ? undefined : toRollout(row));
  }
  return rollouts.get(place);
}
