import { decidePause } from '../../../execution/decide/command.ts';
import type { Command, CommandAnswer } from '../../contract/execution-store.ts';
import { command } from './command.ts';
import type { Parts } from './parts.ts';

export function pause(parts: Parts, request: Command): Promise<CommandAnswer> {
  return command(parts, request, (view, now) => decidePause(view, request, now));
}
