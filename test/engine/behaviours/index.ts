// All behaviours, in the order in which they are tried.

import type { Behaviour } from '../stage.ts';
import { ARRIVALS } from './arrivals.ts';
import { CANCELLING } from './cancelling.ts';
import { CHILDREN } from './children.ts';
import { CODE } from './code.ts';
import { DRIFT } from './drift.ts';
import { PAYLOADS } from './payloads.ts';
import { QUEUEING } from './queueing.ts';
import { RECOVERY } from './recovery.ts';
import { REFUSALS } from './refusals.ts';
import { RETRIES } from './retries.ts';
import { SCHEDULING } from './scheduling.ts';
import { SLOW_STORES } from './slow-stores.ts';
import { STEPS } from './steps.ts';
import { WAITING } from './waiting.ts';

export const BEHAVIOURS: readonly Behaviour[] = [
  ...STEPS,
  ...RETRIES,
  ...WAITING,
  ...CHILDREN,
  ...CANCELLING,
  ...ARRIVALS,
  ...RECOVERY,
  ...SLOW_STORES,
  ...REFUSALS,
  ...DRIFT,
  ...CODE,
  ...PAYLOADS,
  ...QUEUEING,
  ...SCHEDULING,
];
