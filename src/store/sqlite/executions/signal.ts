import { decideSignal } from '../../../execution/decide/command.ts';
import type { CommandAnswer, Signal } from '../../contract/execution-store.ts';
import type { Transaction } from '../transaction.ts';
import { command } from './command-view.ts';

export function signal(tx: Transaction, request: Signal): CommandAnswer {
  return command(tx, request, decideSignal);
}
