// The turns of rate keys.

import type { RateState } from '../../../execution/decide/gates.ts';
import type { Submission } from '../../../execution/execution.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Transaction } from '../transaction.ts';

const LOAD_RATE = 'select last_at, burst from rate where project = :project and key = :key';

const KEEP_RATE = `
  insert into rate (project, key, last_at, burst, per_ms)
  values (:project, :key, :lastAt, :left, :perMs)
  on conflict (project, key) do update
     set last_at = excluded.last_at,
         burst = excluded.burst,
         per_ms = max(per_ms, excluded.per_ms)`;

type Keyed = Pick<Submission, 'project' | 'rate'>;

export function rateOf(tx: Transaction, { project, rate }: Keyed): RateState | undefined {
  if (rate === undefined) return undefined;
  const row = tx.get<{ last_at: Instant; burst: number }>(LOAD_RATE, { project, key: rate.key });
  return row === undefined ? undefined : { lastAt: row.last_at, left: row.burst };
}

export function keepRate(
  tx: Transaction,
  { project, rate }: Keyed,
  state: RateState | undefined,
): void {
  if (rate === undefined || state === undefined) return;
  const { key, perMs } = rate;
  tx.run(KEEP_RATE, { project, key, perMs, lastAt: state.lastAt, left: state.left });
}
