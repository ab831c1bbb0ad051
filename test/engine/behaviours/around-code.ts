// What happens around the code: queues, stores that misbehave, answers from outside, undoing and repairing.

import type { Behaviour } from '../stage.ts';
import { AWAITS } from './awaits.ts';
import { QUEUEING } from './queueing.ts';
import { REFUSALS } from './refusals.ts';
import { REPAIRING } from './repairing.ts';
import { SAGAS } from './sagas.ts';
import { SCHEDULING } from './scheduling.ts';
import { SLOW_STORES } from './slow-stores.ts';

export const AROUND_CODE: readonly Behaviour[] = [
  ...SLOW_STORES,
  ...REFUSALS,
  ...QUEUEING,
  ...SCHEDULING,
  ...SAGAS,
  ...REPAIRING,
  ...AWAITS,
];
