import type { ExecutionCase } from '../contract-case.ts';
import { sealedCases } from './sealed.ts';
import { whatWasHeldCases } from './what-was-held.ts';

export const sealingCases: readonly ExecutionCase[] = [...sealedCases, ...whatWasHeldCases];
