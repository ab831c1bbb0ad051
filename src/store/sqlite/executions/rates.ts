// The turns of rate keys.

import type { RateState } from '../../../execution/decide/gates.ts';
import type { Submission } from '../../../execution/execution.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Transaction } from '../transaction.ts';

const LOAD_RATE = `
  select last_at, burst, per_ms, starts, late
    from rate
   where project = :project
     and key = :key`;

const KEEP_RATE = `
  insert into rate (project, key, last_at, burst, per_ms, starts, late)
  values (:project, :key, :lastAt, :left, :perMs, :starts, :late)
  on conflict (project, key) do update
     set last_at = excluded.last_at,
         burst = excluded.burst,
         per_ms = excluded.per_ms,
         starts = excluded.starts,
         late = excluded.late`;

type Keyed = Pick<Submission, 'project' | 'rate'>;

interface RateRow {
  readonly last_at: Instant;
  readonly burst: number;
  readonly per_ms: number;
  readonly starts: string;
  readonly late: number;
}

export function rateOf(tx: Transaction, { project, rate }: Keyed): RateState | undefined {
  if (rate === undefined) return undefined;
  const row = tx.get<RateRow>(LOAD_RATE, { project, key: rate.key });
  if (row === undefined) return undefined;
  const { last_at: lastAt, burst: left, per_ms: perMs, starts, late } = row;
  return { lastAt, left, perMs, starts: JSON.parse(starts), late };
}

export function keepRate(
  tx: Transaction,
  { project, rate }: Keyed,
  state: RateState | undefined,
): void {
  if (rate === undefined || state === undefined) return;
  const { lastAt, left, perMs, late } = state;
  const starts = JSON.stringify(state.starts);
  tx.run(KEEP_RATE, { project, key: rate.key, lastAt, left, perMs, starts, late });
}
