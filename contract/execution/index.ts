// The contract of a store that keeps executions. Register every case with your test runner:
//
//   for (const each of executionContract)
//     test(`${each.upholds}: ${each.name}`, () => runExecutionCase(each, backend));

import { auditCases } from './audit/index.ts';
import { awaitCases } from './awaits/index.ts';
import type { ExecutionCase } from './contract-case.ts';
import { ownershipCases } from './ownership/index.ts';
import { readCases } from './reads/index.ts';
import { releaseCases } from './releases/index.ts';
import { repairCases } from './repair/index.ts';
import { retentionCases } from './retention/index.ts';
import { schedulingCases } from './scheduling/index.ts';
import { sealingCases } from './sealing/index.ts';
import { verbCases } from './verbs/index.ts';

/** The contract of stores that keep executions: all cases. */
export const executionContract: readonly ExecutionCase[] = [
  ...ownershipCases,
  ...verbCases,
  ...readCases,
  ...schedulingCases,
  ...awaitCases,
  ...repairCases,
  ...auditCases,
  ...retentionCases,
  ...sealingCases,
  ...releaseCases,
];
