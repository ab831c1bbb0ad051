import type { ExecutionCase } from '../contract-case.ts';
import { attachmentCases } from './attachments.ts';
import { blobCases } from './blobs.ts';
import { censusCases } from './census.ts';
import { historyCases } from './history.ts';
import { listCases } from './list.ts';
import { overviewCases } from './overview.ts';
import { projectCases } from './projects.ts';

export const readCases: readonly ExecutionCase[] = [
  ...historyCases,
  ...listCases,
  ...attachmentCases,
  ...blobCases,
  ...projectCases,
  ...censusCases,
  ...overviewCases,
];
