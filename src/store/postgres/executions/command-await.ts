// What the three commands on awaits share (W-8): one transaction that locks, asks the pure decision, and
// does what it says.

import { auditOf, changedByAwaitCommand } from '../../../features/audit/decide.ts';
import {
  type AwaitCommandDecision,
  type AwaitCommandView,
  decideAssign,
  decideCancelAwait,
  decideExtend,
} from '../../../features/awaits/decide.ts';
import type {
  AssignAwait,
  AwaitAnswer,
  AwaitCommand,
  ExtendAwait,
} from '../../../features/awaits/port.ts';
import { assert } from '../../../support/assert.ts';
import type { Instant } from '../../../support/clock.ts';
import { persistently } from '../committer.ts';
import { writeAudit } from './audit.ts';
import { applyAll, lockAwait } from './awaits.ts';
import type { Parts } from './parts.ts';

export interface AwaitDeed {
  readonly settles: boolean;
  decide(view: AwaitCommandView, now: Instant): AwaitCommandDecision;
}

export async function commandAwait(
  parts: Parts,
  request: AwaitCommand,
  { settles, decide }: AwaitDeed,
): Promise<AwaitAnswer> {
  const answer = await persistently(parts.surroundings, () =>
    parts.database.attempt<AwaitAnswer>(async (queries) => {
      const view = await lockAwait(queries, { id: request.id, maySettle: () => settles });
      const { execution, now } = view;
      const decision = decide(view, now);
      if (decision.kind === 'refuse') {
        return { keep: false, result: { kind: 'refused', ...decision.refusal } };
      }
      assert(execution !== undefined, 'W-1: a unit is of an execution that exists');
      await writeAudit(queries, [auditOf(request, changedByAwaitCommand(view, decision), now)]);
      await applyAll(queries, execution, { changes: [decision.change], now });
      return { keep: true, result: { kind: 'done' } };
    }, parts.boundaries),
  );
  if (answer.kind === 'done') parts.bell.ring();
  return answer;
}

export function assignAwait(parts: Parts, request: AssignAwait): Promise<AwaitAnswer> {
  return commandAwait(parts, request, {
    settles: false,
    decide: (view, now) => decideAssign(view, request, now),
  });
}

export function cancelAwait(parts: Parts, request: AwaitCommand): Promise<AwaitAnswer> {
  return commandAwait(parts, request, {
    settles: true,
    decide: (view, now) => decideCancelAwait(view, request, now),
  });
}

export function extendAwait(parts: Parts, request: ExtendAwait): Promise<AwaitAnswer> {
  return commandAwait(parts, request, {
    settles: false,
    decide: (view, now) => decideExtend(view, request, now),
  });
}
