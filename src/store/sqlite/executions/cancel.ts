import { decideCancel } from '../../../execution/decide/command.ts';
import type { Cancel, CommandAnswer } from '../../contract/execution-store.ts';
import type { Transaction } from '../transaction.ts';
import { command } from './command-view.ts';
import { onceOfJob } from './jobs.ts';

export function cancel(tx: Transaction, request: Cancel): CommandAnswer {
  return onceOfJob(tx, { job: request.job, target: request.id }, () =>
    command(tx, request, decideCancel),
  );
}
