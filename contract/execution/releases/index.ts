import type { ExecutionCase } from '../contract-case.ts';
import { rolloutCases } from './rollouts.ts';
import { movingCases } from './moving.ts';
import { pinningCases } from './pinning.ts';
import { plainNameCases } from './plain-names.ts';
import { registryCases } from './registry.ts';
import { routingCases } from './routing.ts';

export const releaseCases: readonly ExecutionCase[] = [
  ...registryCases,
  ...rolloutCases,
  ...pinningCases,
  ...routingCases,
  ...movingCases,
  ...plainNameCases,
];
