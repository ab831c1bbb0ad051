import type { ExecutionCase } from '../contract-case.ts';
import { auditedExecutionCases } from './executions.ts';
import { auditNoteCases } from './notes.ts';
import { auditedOtherCases } from './others.ts';
import { refusalCases } from './refusals.ts';

export const auditCases: readonly ExecutionCase[] = [
  ...auditedExecutionCases,
  ...auditedOtherCases,
  ...auditNoteCases,
  ...refusalCases,
];
