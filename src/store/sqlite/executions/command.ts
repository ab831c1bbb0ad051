// What the four commands share: the view they are decided from, and what becomes of the decision. They
// are rare, so they read first; the write lock is held.

import {
  askedBy,
  CANCELLED_OUTCOME,
  type CommandDecision,
  type CommandView,
  decideCancel,
  decidePause,
  decideResume,
  decideSignal,
} from '../../../execution/decide/command.ts';
import type { InboxMessage } from '../../../execution/history.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import { changedByCommand } from '../../../features/audit/decide.ts';
import { assert } from '../../../support/assert.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Cancel, Command, CommandAnswer, Signal } from '../../contract/execution-store.ts';
import { HOLD_BITS } from '../../execution-rows.ts';
import { writeAudit } from '../../sql/audit.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';
import { type Delivered, deliver } from './deliver.ts';
import { endWaiting } from './end-execution.ts';
import { appendOutside } from './history.ts';
import { onceOfJob } from './jobs.ts';
import { loadExecution, loadRow } from './load-execution.ts';

const ASKED = `
  select kind
    from inbox indexed by inbox_asked
   where execution_id = :id
     and kind in ('cancel', 'pause', 'resume')
   order by n desc`;

const SET_HOLDS = `
  update execution
     set hold = :hold,
         seq = :seq
   where id = :id`;

// Y-3: as `turnBack` decided it; what is paused or blocked stays so.
const TURN_BACK = `
  update execution
     set status = 0,
         ready_at = :now,
         wake_after = 0,
         saga = 2,
         deadline_at = null,
         seq = :seq
   where id = :id`;

export function commandView(tx: Transaction, id: ExecutionId): CommandView {
  const execution = loadExecution(tx, id);
  const hasNews = execution !== undefined && execution.news > 0;
  const asked = hasNews ? tx.all<Pick<InboxMessage, 'kind'>>(ASKED, { id }) : [];
  return { execution, ...askedBy(asked.map(({ kind }) => kind)) };
}

/** J-1: what is asked for is decided and done, and that it was is written down. */
export function command<Request extends Command>(
  tx: Transaction,
  request: Request,
  decide: (view: CommandView, request: Request, now: Instant) => CommandDecision,
): CommandAnswer {
  const view = commandView(tx, request.id);
  const decision = decide(view, request, tx.now);
  play(tx, writeAudit(request, changedByCommand(view.execution, decision), tx.now));
  return obey(tx, decision);
}

export function obey(tx: Transaction, decision: CommandDecision): CommandAnswer {
  switch (decision.kind) {
    case 'refuse':
      return { kind: 'refused', ...decision.refusal };
    case 'no-change':
      return { kind: 'no-change', status: decision.execution.status };
    case 'pass-on':
      return passOn(tx, decision);
    case 'end':
      return end(tx, decision);
    case 'apply':
      return apply(tx, decision);
  }
}

type Decided<Kind extends CommandDecision['kind']> = Extract<
  CommandDecision,
  { readonly kind: Kind }
>;

function end(tx: Transaction, { execution, event }: Decided<'end'>): CommandAnswer {
  const row = loadRow(tx, execution.id);
  assert(row !== undefined, 'X-17: an execution that is cancelled is stored');
  endWaiting(tx, row, { status: 'cancelled', event, outcome: CANCELLED_OUTCOME });
  return { kind: 'done', status: execution.status };
}

/** Pause and resume: the holds are others. Cancel: it undoes what it did. */
function apply(tx: Transaction, { execution, event, message }: Decided<'apply'>): CommandAnswer {
  const { id, status, holds } = execution;
  const hold = holds.reduce((bits, each) => bits + HOLD_BITS[each], 0);
  appendOutside(tx, id, event);
  if (event.kind === 'compensating') tx.run(TURN_BACK, { id, now: tx.now, seq: event.seq });
  else tx.run(SET_HOLDS, { id, hold, seq: event.seq });
  if (message !== undefined) tellOpen(tx, id, message);
  tx.ring();
  return { kind: 'done', status };
}

function tellOpen(tx: Transaction, id: ExecutionId, message: InboxMessage): Delivered {
  const { kind, name, body } = message;
  const told = deliver(tx, id, { kind, name: name ?? null, body: body ?? null });
  assert(told !== undefined, 'X-5: an open execution can be told');
  return told;
}

function passOn(tx: Transaction, decision: Decided<'pass-on'>): CommandAnswer {
  const { message, execution, toOwner } = decision;
  const told = tellOpen(tx, execution.id, message);
  // The next heartbeat makes the holder look.
  if (toOwner && told.session !== undefined) tx.notify(told.session);
  return { kind: toOwner ? 'passed-on' : 'done', status: told.status };
}

export function cancel(tx: Transaction, request: Cancel): CommandAnswer {
  return onceOfJob(tx, { job: request.job, target: request.id }, () =>
    command(tx, request, decideCancel),
  );
}

export function pause(tx: Transaction, request: Command): CommandAnswer {
  return command(tx, request, decidePause);
}

export function resume(tx: Transaction, request: Command): CommandAnswer {
  return command(tx, request, decideResume);
}

export function signal(tx: Transaction, request: Signal): CommandAnswer {
  return command(tx, request, decideSignal);
}
