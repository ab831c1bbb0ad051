// Reads of a run: a store that is away for a moment is asked again, for as long as the session lives.

import { OutcomeUnknown, StoreUnavailable } from '../support/fault.ts';
import type { Run } from './run.ts';

const RETRY_MS = 200;

export async function patiently<Answer>(
  { config, session }: Pick<Run, 'config' | 'session'>,
  read: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    try {
      return await read();
    } catch (fault) {
      const isAway = fault instanceof StoreUnavailable || fault instanceof OutcomeUnknown;
      if (!isAway || session.signal.aborted) throw fault;
      await config.timers.pause(RETRY_MS, session.signal);
    }
  }
}
