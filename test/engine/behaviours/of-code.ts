// The promises that pipeline code can rely on.

import type { Behaviour } from '../stage.ts';
import { ARRIVALS } from './arrivals.ts';
import { BUGS } from './bugs.ts';
import { CANCELLING } from './cancelling.ts';
import { CHILDREN } from './children.ts';
import { CODE } from './code.ts';
import { DRIFT } from './drift.ts';
import { HEARTBEATS } from './heartbeats.ts';
import { PAYLOADS } from './payloads.ts';
import { RECOVERY } from './recovery.ts';
import { REMOTE_STEPS } from './remote-steps.ts';
import { RETRIES } from './retries.ts';
import { RUNNING_AHEAD } from './running-ahead.ts';
import { STEPS } from './steps.ts';
import { WAITING } from './waiting.ts';

export const OF_CODE: readonly Behaviour[] = [
  ...STEPS,
  ...RUNNING_AHEAD,
  ...RETRIES,
  ...HEARTBEATS,
  ...WAITING,
  ...CHILDREN,
  ...REMOTE_STEPS,
  ...CANCELLING,
  ...ARRIVALS,
  ...RECOVERY,
  ...DRIFT,
  ...BUGS,
  ...CODE,
  ...PAYLOADS,
];
