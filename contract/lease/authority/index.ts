import type { ContractCase } from '../contract-case.ts';
import { adversarialCases } from './adversarial.ts';
import { clockCases } from './clock.ts';
import { durabilityCases } from './durability.ts';
import { eventCases } from './events.ts';
import { fenceCases } from './fences.ts';
import { haltingCases } from './halting.ts';
import { inspectCases } from './inspect.ts';
import { listCases } from './list.ts';
import { raceCases } from './races.ts';
import { serverCases } from './server.ts';
import { verifyCases } from './verify.ts';

export const authorityCases: readonly ContractCase[] = [
  ...fenceCases,
  ...haltingCases,
  ...verifyCases,
  ...inspectCases,
  ...listCases,
  ...eventCases,
  ...clockCases,
  ...durabilityCases,
  ...adversarialCases,
  ...raceCases,
  ...serverCases,
];
