import type { Claim, ClaimAnswer, CoordinatorStore } from '../../store/contract/execution-store.ts';

const SWEPT_MAX = 100;

/** P4: a worker elsewhere cannot end the sessions of those who died, so it is done for whoever has found all else. */
export async function claimed(store: CoordinatorStore, request: Claim): Promise<ClaimAnswer> {
  const answer = await store.executions.claim(request);
  if (answer.kind === 'refused' || !answer.overdue) return answer;
  const { claims } = answer;
  if (claims.length > 0 && answer.more) return answer;
  const { expired, more } = await store.sessions.sweep({ limit: SWEPT_MAX });
  if (expired.length === 0 && !more) return answer;
  return claims.length === 0 ? store.executions.claim(request) : { ...answer, more: true };
}
