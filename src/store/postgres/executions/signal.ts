import { decideSignal } from '../../../execution/decide/command.ts';
import type { CommandAnswer, Signal } from '../../contract/execution-store.ts';
import { command } from './command.ts';
import type { Parts } from './parts.ts';

export function signal(parts: Parts, request: Signal): Promise<CommandAnswer> {
  return command(parts, request, (view, now) => decideSignal(view, request, now));
}
