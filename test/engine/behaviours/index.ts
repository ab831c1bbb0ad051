// All behaviours, in the order in which the suites run them.

import type { Behaviour } from '../stage.ts';
import { AROUND_CODE } from './around-code.ts';
import { OF_CODE } from './of-code.ts';
import { REPINNING_MANY } from './repinning-many.ts';

export const BEHAVIOURS: readonly Behaviour[] = [...OF_CODE, ...AROUND_CODE, ...REPINNING_MANY];
