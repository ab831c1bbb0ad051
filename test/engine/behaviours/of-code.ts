// The promises that pipeline code can rely on.

import type { Behaviour } from '../stage.ts';
import { ARRIVALS } from './arrivals.ts';
import { ATTRIBUTES } from './attributes.ts';
import { BUGS } from './bugs.ts';
import { CANCELLING } from './cancelling.ts';
import { CHILDREN } from './children.ts';
import { CIRCUITS } from './circuits.ts';
import { CODE } from './code.ts';
import { DRIFT } from './drift.ts';
import { EXECUTION_RETRIES } from './execution-retries.ts';
import { HEARTBEATS } from './heartbeats.ts';
import { LEASING } from './leasing.ts';
import { PATCHING } from './patching.ts';
import { PAYLOADS } from './payloads.ts';
import { RECOVERY } from './recovery.ts';
import { REMOTE_STEPS } from './remote-steps.ts';
import { RETRIES } from './retries.ts';
import { RUNNING_AHEAD } from './running-ahead.ts';
import { SCOPES } from './scopes.ts';
import { STEPS } from './steps.ts';
import { UPDATES } from './updates.ts';
import { WAITING } from './waiting.ts';

export const OF_CODE: readonly Behaviour[] = [
  ...STEPS,
  ...RUNNING_AHEAD,
  ...RETRIES,
  ...EXECUTION_RETRIES,
  ...CIRCUITS,
  ...HEARTBEATS,
  ...ATTRIBUTES,
  ...LEASING,
  ...WAITING,
  ...UPDATES,
  ...CHILDREN,
  ...REMOTE_STEPS,
  ...CANCELLING,
  ...SCOPES,
  ...ARRIVALS,
  ...RECOVERY,
  ...DRIFT,
  ...PATCHING,
  ...BUGS,
  ...CODE,
  ...PAYLOADS,
];
