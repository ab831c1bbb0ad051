// Calls of a context inside a step would be recorded before the step that made them, and a replay, which
// does not run the step again, would never ask for them. They are refused where they are made.

import { AsyncLocalStorage } from 'node:async_hooks';

/** The run whose step the current code is part of. */
export const insideStep: AsyncLocalStorage<object> = new AsyncLocalStorage();
