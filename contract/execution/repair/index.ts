import type { ExecutionCase } from '../contract-case.ts';
import { deadLetterCases } from './dead-letters.ts';
import { jobCases } from './jobs.ts';
import { redriveCases } from './redrive.ts';
import { redrivenCases } from './redriven.ts';
import { sagaCases } from './sagas.ts';
import { terminalRepairCases } from './terminal.ts';
import { turningBackCases } from './turning-back.ts';

export const repairCases: readonly ExecutionCase[] = [
  ...sagaCases,
  ...turningBackCases,
  ...deadLetterCases,
  ...redriveCases,
  ...redrivenCases,
  ...jobCases,
  ...terminalRepairCases,
];
