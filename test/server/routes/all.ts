import { test } from 'node:test';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { TestCoordinator } from '../coordinator.ts';
import { adminCases } from './admin.ts';
import { archiveCases } from './archive.ts';
import { awaitCases } from './awaits.ts';
import type { Case } from './case.ts';
import { channelCases } from './channels.ts';
import { operationCases } from './operations.ts';
import { overviewCases } from './overview.ts';
import { planCases } from './plans.ts';
import { recordCases } from './records.ts';
import { relayCases } from './relay.ts';
import { repairCases } from './repair.ts';
import { updateCases } from './updates.ts';

const CASES: readonly Case[] = [
  ...awaitCases,
  ...relayCases,
  ...repairCases,
  ...recordCases,
  ...archiveCases,
  ...overviewCases,
  ...planCases,
  ...channelCases,
  ...operationCases,
  ...updateCases,
  ...adminCases,
];

export function registerRoutes(kind: string, open?: () => Promise<CoordinatorStore>): void {
  for (const { name, given, run } of CASES) {
    test(`${kind}: ${name}`, { timeout: 60_000 }, async () => {
      const store = await open?.();
      await using coordinator = await TestCoordinator.open({ ...given, ...(store && { store }) });
      await run(coordinator);
    });
  }
}
