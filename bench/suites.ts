import { executionsSuite } from './executions/suite.ts';
import { leaseSuite } from './lease/suite.ts';
import type { Suite } from './suite.ts';

export const SUITES: readonly Suite[] = [leaseSuite, executionsSuite];
