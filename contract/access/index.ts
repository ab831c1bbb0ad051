// The contract of projects and access keys. Register every case with your test runner:
//
//   for (const each of accessContract)
//     test(`${each.upholds}: ${each.name}`, () => runAccessCase(each, backend));

import { auditedCases } from './audited.ts';
import { channelCases } from './channels.ts';
import type { AccessCase } from './contract-case.ts';
import { createKeyCases } from './create-key.ts';
import { createdByKeyCases } from './created-by-key.ts';
import { firstKeyCases } from './first-key.ts';
import { keyQuotaCases } from './key-quota.ts';
import { listKeyCases } from './list-keys.ts';
import { projectCases } from './projects.ts';
import { revokeKeyCases } from './revoke-key.ts';
import { usageCases } from './usage.ts';
import { viewCases } from './views.ts';

/** The contract of projects and access keys: all cases. */
export const accessContract: readonly AccessCase[] = [
  ...projectCases,
  ...createKeyCases,
  ...firstKeyCases,
  ...revokeKeyCases,
  ...listKeyCases,
  ...auditedCases,
  ...usageCases,
  ...keyQuotaCases,
  ...createdByKeyCases,
  ...viewCases,
  ...channelCases,
];
