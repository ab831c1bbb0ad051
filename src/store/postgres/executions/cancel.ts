import { decideCancel } from '../../../execution/decide/command.ts';
import type { Cancel, CommandAnswer } from '../../contract/execution-store.ts';
import { command } from './command.ts';
import type { Parts } from './parts.ts';

export function cancel(parts: Parts, request: Cancel): Promise<CommandAnswer> {
  return command(parts, request, (view, now) => decideCancel(view, request, now));
}
