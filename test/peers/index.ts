import { DBOS } from './dbos/index.ts';
import { LOCKS } from './locks.ts';
import { OPENWORKFLOW } from './openworkflow.ts';
import { RESTATE } from './restate/index.ts';
import { RIVER } from './river.ts';
import type { Suite } from './scenario.ts';
import { TEMPORAL } from './temporal/index.ts';

export const SUITES: readonly Suite[] = [DBOS, RESTATE, TEMPORAL, OPENWORKFLOW, RIVER, LOCKS];
