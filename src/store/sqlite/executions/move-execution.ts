import { routeOf } from '../../../execution/route.ts';
import { changedByMove } from '../../../features/audit/decide.ts';
import { decideMove } from '../../../features/releases/decide.ts';
import type { ExecutionMoved, MoveExecution } from '../../../features/releases/port.ts';
import { HOLD_BITS } from '../../execution-rows.ts';
import { writeAudit } from '../../sql/audit.ts';
import { readRelease } from '../../sql/releases.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';
import { appendOutside } from './history.ts';
import { onceOfJob } from './jobs.ts';
import { loadExecution } from './load-execution.ts';

const MOVE = `
  update execution
     set pipeline = :route,
         hold = :hold,
         seq = :seq
   where id = :id`;

export function moveExecution(tx: Transaction, request: MoveExecution): ExecutionMoved {
  return onceOfJob(tx, { job: request.job, target: request.id }, () => move(tx, request));
}

function move(tx: Transaction, request: MoveExecution): ExecutionMoved {
  const { id, project, to } = request;
  const before = loadExecution(tx, id);
  const release =
    before === undefined
      ? undefined
      : play(tx, readRelease({ project, pipeline: before.pipeline, name: to }));
  const decision = decideMove({ execution: before, release }, request, tx.now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'no-change' || before === undefined) {
    return { kind: 'no-change', id, release: to };
  }
  const { execution, event } = decision;
  play(tx, writeAudit(request, changedByMove(before, execution), tx.now));
  appendOutside(tx, id, event);
  const hold = execution.holds.reduce((bits, each) => bits + HOLD_BITS[each], 0);
  tx.run(MOVE, { id, route: routeOf(execution), hold, seq: event.seq });
  tx.ring();
  return { kind: 'moved', id, release: to };
}
