import { decideResume } from '../../../execution/decide/command.ts';
import type { Command, CommandAnswer } from '../../contract/execution-store.ts';
import type { Transaction } from '../transaction.ts';
import { command } from './command-view.ts';

export function resume(tx: Transaction, request: Command): CommandAnswer {
  return command(tx, request, decideResume);
}
