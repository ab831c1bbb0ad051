// What becomes of a key that is ended (P-8, P-9). Pure.

import type { ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import type { AccessKey } from '../access-key.ts';
import type { EndKeyRefusal } from '../refusal.ts';

export type EndKeyDecision =
  | { readonly kind: 'end'; readonly key: AccessKey }
  | { readonly kind: 'no-change'; readonly endedAt: Instant }
  | ({ readonly kind: 'refused' } & EndKeyRefusal);

export function decideEndKey(
  stored: AccessKey | undefined,
  request: { readonly id: string; readonly project?: ProjectName },
  endAt: Instant,
): EndKeyDecision {
  const { id, project } = request;
  if (stored === undefined || (project !== undefined && stored.project !== project)) {
    return { kind: 'refused', why: 'key-unknown', id };
  }
  const { endedAt } = stored;
  return endedAt === undefined || endedAt > endAt
    ? { kind: 'end', key: stored }
    : { kind: 'no-change', endedAt };
}
