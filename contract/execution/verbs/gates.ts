// Concurrency and rate keys.

import type { ExecutionCase } from '../contract-case.ts';
import { forgettingCases } from './forgetting.ts';
import { rateCases } from './rate.ts';
import { slotCases } from './slots.ts';

export const gateCases: readonly ExecutionCase[] = [...slotCases, ...rateCases, ...forgettingCases];
