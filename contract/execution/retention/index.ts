import type { ExecutionCase } from '../contract-case.ts';
import { archivedCases } from './archived.ts';
import { inUseCases } from './in-use.ts';
import { removingCases } from './removing.ts';

export const retentionCases: readonly ExecutionCase[] = [
  ...removingCases,
  ...inUseCases,
  ...archivedCases,
];
