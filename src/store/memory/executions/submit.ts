import type { Audited } from '../../../execution/audit.ts';
import { changedBySubmit } from '../../../execution/decide/audit.ts';
import { decideSubmit } from '../../../execution/decide/submit.ts';
import { isTerminal } from '../../../execution/execution.ts';
import type { NoSuchRelease } from '../../../execution/refusal.ts';
import { noSuchRelease } from '../../../release/decide/line.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Submit, SubmitAnswer } from '../../contract/execution-store.ts';
import { writeAudit } from './audit.ts';
import { noteLimit, waitForPlace } from './gates.ts';
import { readRelease } from './releases.ts';
import { type ExecutionState, inProject } from './state.ts';

export function submit(
  state: ExecutionState,
  { audit, ...request }: Submit & Audited,
): SubmitAnswer {
  const now = state.kernel.now();
  const refusal = refuseRelease(state, request);
  if (refusal !== undefined) return { kind: 'refused', ...refusal };
  const answer = insertOne(state, request, now);
  if (answer.kind !== 'submitted' || answer.existing) return answer;
  if (audit !== undefined) writeAudit(state, { audit }, { changed: changedBySubmit(request), now });
  state.ring();
  return answer;
}

/** RE-6: of a release that was asked for by name. What was submitted before is still answered with. */
export function refuseRelease(state: ExecutionState, request: Submit): NoSuchRelease | undefined {
  const { id, project, pipeline, release: name, key } = request;
  if (name === undefined) return undefined;
  const isKnown = state.entries.has(id) || state.keys.has(inProject(project, key ?? ''));
  return isKnown
    ? undefined
    : noSuchRelease(readRelease(state, { project, pipeline, name }), { pipeline, name });
}

/** children come with their parent's write; one that is there already is left alone. */
export function insertChildren(
  state: ExecutionState,
  children: readonly Submit[],
  now: Instant,
): void {
  for (const child of children) insertOne(state, child, now);
}

function insertOne(state: ExecutionState, request: Submit, now: Instant): SubmitAnswer {
  const { project, key, parent } = request;
  const holder = key === undefined ? undefined : state.keys.get(inProject(project, key));
  const known = {
    byId: state.entries.get(request.id)?.execution,
    byKey: holder === undefined ? undefined : state.entries.get(holder)?.execution,
  };
  const isNew = known.byId === undefined && known.byKey === undefined;
  // Who is not to start yet asks for a place when it is.
  const isDelayed = (request.delayMs ?? 0) > 0;
  const exhausted = isNew && noteLimit(state, request) && !isDelayed;
  const decision = decideSubmit({ ...known, exhausted }, structuredClone(request), now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'existing') {
    return { kind: 'submitted', id: decision.id, existing: true };
  }
  const { execution, event } = decision;
  state.insert(execution, [event]);
  if (exhausted) waitForPlace(state, execution);
  const above = parent === undefined ? undefined : state.entries.get(parent.id);
  if (above !== undefined && isTerminal(above.execution.status)) state.orphans.add(execution.id);
  return { kind: 'submitted', id: execution.id, existing: false };
}
