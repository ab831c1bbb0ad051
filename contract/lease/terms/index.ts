import type { ContractCase } from '../contract-case.ts';
import { acquireCases } from './acquire.ts';
import { checkpointCases } from './checkpoint.ts';
import { drainCases } from './drain.ts';
import { flapCases } from './flap.ts';
import { guardCases } from './guards.ts';
import { intentCases } from './intents.ts';
import { predecessorCases } from './predecessor.ts';
import { queueCases } from './queue.ts';
import { releaseCases } from './release.ts';
import { replayCases } from './replay.ts';
import { reservationCases } from './reservation.ts';
import { revokeCases } from './revoke.ts';
import { waiterCases } from './waiters.ts';

export const termCases: readonly ContractCase[] = [
  ...acquireCases,
  ...predecessorCases,
  ...replayCases,
  ...queueCases,
  ...waiterCases,
  ...checkpointCases,
  ...intentCases,
  ...releaseCases,
  ...drainCases,
  ...reservationCases,
  ...revokeCases,
  ...flapCases,
  ...guardCases,
];
