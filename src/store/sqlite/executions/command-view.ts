// What the four commands share: the view they are decided from, and what becomes of the decision. They
// are rare, so they read first; the write lock is held.

import {
  CANCELLED_OUTCOME,
  type CommandDecision,
  type CommandView,
} from '../../../execution/decide/command.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import { assert } from '../../../support/assert.ts';
import type { CommandAnswer } from '../../contract/execution-store.ts';
import { HOLD_BITS } from '../../execution-rows.ts';
import type { Transaction } from '../transaction.ts';
import { appendOutside } from './append-outside.ts';
import { deliver } from './deliver.ts';
import { endWaiting } from './end-execution.ts';
import { loadExecution, loadRow } from './load-execution.ts';

const CANCEL_ASKED = `
  select 1
    from inbox
   where execution_id = :id
     and kind = 'cancel'
   limit 1`;

const SET_HOLDS = `
  update execution
     set hold = :hold,
         seq = :seq
   where id = :id`;

export function commandView(tx: Transaction, id: ExecutionId): CommandView {
  const execution = loadExecution(tx, id);
  const isRunning = execution?.status === 'running';
  return {
    execution,
    cancelAsked: isRunning && tx.get(CANCEL_ASKED, { id }) !== undefined,
  };
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

/** Pause and resume: the holds are others. */
function apply(tx: Transaction, { execution, event }: Decided<'apply'>): CommandAnswer {
  const { id, status, holds } = execution;
  const hold = holds.reduce((bits, each) => bits + HOLD_BITS[each], 0);
  appendOutside(tx, id, event);
  tx.run(SET_HOLDS, { id, hold, seq: event.seq });
  tx.ring();
  return { kind: 'done', status };
}

function passOn(tx: Transaction, decision: Decided<'pass-on'>): CommandAnswer {
  const { message, execution, toOwner } = decision;
  const { kind, name, body } = message;
  const told = deliver(tx, execution.id, { kind, name: name ?? null, body: body ?? null });
  assert(told !== undefined, 'X-5: an open execution can be told');
  // The next heartbeat makes the holder look.
  if (toOwner && told.session !== undefined) tx.notify(told.session);
  return { kind: toOwner ? 'passed-on' : 'done', status: told.status };
}
