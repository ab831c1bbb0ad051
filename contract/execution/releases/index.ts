import type { ExecutionCase } from '../contract-case.ts';
import { pinningCases } from './pinning.ts';
import { plainNameCases } from './plain-names.ts';
import { registryCases } from './registry.ts';
import { repinningCases } from './repinning.ts';
import { rolloutCases } from './rollouts.ts';
import { routingCases } from './routing.ts';

export const releaseCases: readonly ExecutionCase[] = [
  ...registryCases,
  ...rolloutCases,
  ...pinningCases,
  ...routingCases,
  ...repinningCases,
  ...plainNameCases,
];
