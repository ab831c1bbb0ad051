import { decideResume } from '../../../execution/decide/command.ts';
import type { Command, CommandAnswer } from '../../contract/execution-store.ts';
import type { Transaction } from '../transaction.ts';
import { commandView, obey } from './command-view.ts';

export function resume(tx: Transaction, request: Command): CommandAnswer {
  return obey(tx, decideResume(commandView(tx, request.id), request, tx.now));
}
