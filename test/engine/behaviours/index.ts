// All behaviours, in the order in which they are tried.

import type { Behaviour } from '../stage.ts';
import { CANCELLING } from './cancelling.ts';
import { CHILDREN } from './children.ts';
import { CODE } from './code.ts';
import { CONTINUING } from './continuing.ts';
import { DRIFT } from './drift.ts';
import { PAUSING } from './pausing.ts';
import { PAYLOADS } from './payloads.ts';
import { QUEUEING } from './queueing.ts';
import { RECOVERY } from './recovery.ts';
import { REFUSALS } from './refusals.ts';
import { RETRIES } from './retries.ts';
import { SCHEDULING } from './scheduling.ts';
import { STEPS } from './steps.ts';
import { WAITING } from './waiting.ts';

export const BEHAVIOURS: readonly Behaviour[] = [
  ...STEPS,
  ...RETRIES,
  ...WAITING,
  ...CHILDREN,
  ...CANCELLING,
  ...PAUSING,
  ...CONTINUING,
  ...RECOVERY,
  ...REFUSALS,
  ...DRIFT,
  ...CODE,
  ...PAYLOADS,
  ...QUEUEING,
  ...SCHEDULING,
];
