import { decideSignal } from '../../../execution/decide/command.ts';
import type { CommandAnswer, Signal } from '../../contract/execution-store.ts';
import type { Transaction } from '../transaction.ts';
import { commandView, obey } from './command-view.ts';

export function signal(tx: Transaction, request: Signal): CommandAnswer {
  return obey(tx, decideSignal(commandView(tx, request.id), request, tx.now));
}
