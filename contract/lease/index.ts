// The contract of a kernel store. Register every case with your test runner:
//
//   for (const each of leaseContract) test(`${each.upholds}: ${each.name}`, () => runCase(each, backend));

import { authorityCases } from './authority/index.ts';
import type { ContractCase } from './contract-case.ts';
import { sessionCases } from './sessions/index.ts';
import { termCases } from './terms/index.ts';

/** The contract of lease stores: all cases. */
export const leaseContract: readonly ContractCase[] = [
  ...sessionCases,
  ...termCases,
  ...authorityCases,
];
