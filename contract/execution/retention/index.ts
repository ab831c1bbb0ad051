import type { ExecutionCase } from '../contract-case.ts';
import { archivedCases } from './archived.ts';
import { erasingCases } from './erasing.ts';
import { inUseCases } from './in-use.ts';
import { largeValueCases } from './large-values.ts';
import { removingCases } from './removing.ts';

export const retentionCases: readonly ExecutionCase[] = [
  ...removingCases,
  ...inUseCases,
  ...archivedCases,
  ...erasingCases,
  ...largeValueCases,
];
