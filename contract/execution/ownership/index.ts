import type { ExecutionCase } from '../contract-case.ts';
import { carriedCases } from './carried.ts';
import { claimCases } from './claim.ts';
import { fenceCases } from './fences.ts';
import { haltingCases } from './halting.ts';
import { inboxCases } from './inbox.ts';
import { lostCases } from './lost.ts';
import { raceCases } from './races.ts';
import { replayCases } from './replay.ts';
import { suspectCases } from './suspects.ts';
import { terminalCases } from './terminal.ts';

export const ownershipCases: readonly ExecutionCase[] = [
  ...fenceCases,
  ...terminalCases,
  ...replayCases,
  ...inboxCases,
  ...claimCases,
  ...carriedCases,
  ...lostCases,
  ...suspectCases,
  ...haltingCases,
  ...raceCases,
];
