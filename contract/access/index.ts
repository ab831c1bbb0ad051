// The contract of projects and access keys. Register every case with your test runner:
//
//   for (const each of accessContract)
//     test(`${each.upholds}: ${each.name}`, () => runAccessCase(each, backend));

import { addKeyCases } from './add-key.ts';
import { auditedCases } from './audited.ts';
import type { AccessCase } from './contract-case.ts';
import { endKeyCases } from './end-key.ts';
import { firstKeyCases } from './first-key.ts';
import { keyQuotaCases } from './key-quota.ts';
import { listKeyCases } from './list-keys.ts';
import { madeKeyCases } from './made-key.ts';
import { projectCases } from './projects.ts';
import { usageCases } from './usage.ts';

export const accessContract: readonly AccessCase[] = [
  ...projectCases,
  ...addKeyCases,
  ...firstKeyCases,
  ...endKeyCases,
  ...listKeyCases,
  ...auditedCases,
  ...usageCases,
  ...keyQuotaCases,
  ...madeKeyCases,
];
