// Behaviour around the code: queues, failing stores, answers, compensation, repair, the audit.

import type { Behaviour } from '../stage.ts';
import { AUDITING } from './auditing.ts';
import { AWAITS } from './awaits.ts';
import { EXPLAINING } from './explaining.ts';
import { HELD } from './held.ts';
import { KEYS } from './keys.ts';
import { LEFT_BEHIND } from './left-behind.ts';
import { MISTAKES } from './mistakes.ts';
import { QUEUEING } from './queueing.ts';
import { REFUSALS } from './refusals.ts';
import { RELEASING } from './releasing.ts';
import { REPAIRING } from './repairing.ts';
import { SAGAS } from './sagas.ts';
import { SCHEDULING } from './scheduling.ts';
import { SLOW_STORES } from './slow-stores.ts';
import { TEMPLATED_CHILDREN } from './templated-children.ts';

export const AROUND_CODE: readonly Behaviour[] = [
  ...SLOW_STORES,
  ...HELD,
  ...KEYS,
  ...LEFT_BEHIND,
  ...MISTAKES,
  ...REFUSALS,
  ...QUEUEING,
  ...SCHEDULING,
  ...TEMPLATED_CHILDREN,
  ...SAGAS,
  ...REPAIRING,
  ...AWAITS,
  ...AUDITING,
  ...EXPLAINING,
  ...RELEASING,
];
