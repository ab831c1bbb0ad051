import type { ExecutionCase } from '../contract-case.ts';
import { fireScheduleCases } from './fire-schedule.ts';
import { scheduleCases } from './schedules.ts';
import { templateCases } from './templates.ts';

export const schedulingCases: readonly ExecutionCase[] = [
  ...templateCases,
  ...scheduleCases,
  ...fireScheduleCases,
];
