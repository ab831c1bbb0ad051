// Who acts, as what is asked of a store carries it: that writes it down with the act (J-1).

import {
  ACTOR_BYTES_MAX,
  type AuditAct,
  type AuditFacts,
  type AuditStamp,
} from '../execution/audit.ts';
import type { AuditId } from '../execution/names.ts';
import { systemClock } from '../support/clock.ts';
import { boundedText } from '../support/options.ts';
import { systemRandom } from '../support/random.ts';
import type { EngineConfig } from './config.ts';
import type { Acting } from './holdfast-types.ts';
import { ExecutionIds } from './ids.ts';

/** When the caller names nobody. */
export const NOBODY = 'unknown';

const REASON_BYTES_MAX = 4_096;

export const ACTING: readonly (keyof Acting)[] = ['project', 'by', 'reason'];

export function stampOf(
  config: Pick<EngineConfig, 'ids'>,
  act: AuditAct,
  said: Pick<Acting, 'by' | 'reason'> & { readonly about?: AuditFacts },
): AuditStamp {
  const { about } = said;
  const { by: actor, reason } = checkedActing(said);
  const id = config.ids.next() as string as AuditId;
  return { id, act, actor, reason, ...(about === undefined ? {} : { about }) };
}

/** With what stands for what was not said. */
export function checkedActing(said: Pick<Acting, 'by' | 'reason'>): {
  readonly by: string;
  readonly reason: string;
} {
  const { by = NOBODY, reason = '' } = said;
  boundedText('by', by, ACTOR_BYTES_MAX);
  if (reason !== '') boundedText('reason', reason, REASON_BYTES_MAX);
  return { by, reason };
}

const ids: ExecutionIds = new ExecutionIds(systemClock, systemRandom);

/** For acts that no engine does: on access keys, which are the deployment's. */
export function stampOutside(
  act: AuditAct,
  said: Pick<Acting, 'by' | 'reason'> & { readonly about?: AuditFacts },
): AuditStamp {
  return stampOf({ ids }, act, said);
}
