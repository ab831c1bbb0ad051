import type { Behaviour } from '../stage.ts';
import { ANSWERING } from './answering.ts';
import { AWAIT_RECOVERY } from './await-recovery.ts';
import { AWAIT_REPAIR } from './await-repair.ts';
import { AWAIT_TIMES } from './await-times.ts';
import { AWAITING } from './awaiting.ts';

export const AWAITS: readonly Behaviour[] = [
  ...AWAITING,
  ...AWAIT_TIMES,
  ...ANSWERING,
  ...AWAIT_RECOVERY,
  ...AWAIT_REPAIR,
];
