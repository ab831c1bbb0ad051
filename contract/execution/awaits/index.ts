import type { ExecutionCase } from '../contract-case.ts';
import { answeringCases } from './answering.ts';
import { correlatingCases } from './correlating.ts';
import { earlyCases } from './early.ts';
import { endingCases } from './ending.ts';
import { keepingCases } from './keeping.ts';
import { listCases } from './lists.ts';
import { openingCases } from './opening.ts';
import { outsiderCases } from './outsiders.ts';
import { awaitRaceCases } from './races.ts';
import { settlingCases } from './settling.ts';
import { slotCases } from './slots.ts';
import { timeCases } from './time.ts';
import { togetherCases } from './together.ts';

export const awaitCases: readonly ExecutionCase[] = [
  ...openingCases,
  ...earlyCases,
  ...settlingCases,
  ...answeringCases,
  ...correlatingCases,
  ...timeCases,
  ...togetherCases,
  ...outsiderCases,
  ...endingCases,
  ...keepingCases,
  ...listCases,
  ...slotCases,
  ...awaitRaceCases,
];
