// What every worker does for all, beside running its pipelines.

import type { Session } from '../lease/live-session.ts';
import type { EngineConfig } from './config.ts';
import { Reconciler } from './reconciler.ts';
import { Retention } from './retention.ts';

export type LeasedDuty = Reconciler | Retention;

/** Those that one worker of all does. `session` is the one that this worker has now. */
export function leasedDuties(
  config: EngineConfig,
  { reconcileMs }: { readonly reconcileMs: number },
  session: () => Session,
): readonly LeasedDuty[] {
  const reconciler = new Reconciler(config, reconcileMs, session);
  const { retention } = config;
  return retention === undefined
    ? [reconciler]
    : [reconciler, new Retention(config, retention, session)];
}
