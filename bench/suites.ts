import { channelsSuite } from './channels/suite.ts';
import { consoleSuite } from './console/suite.ts';
import { coordinatorSuite } from './coordinator/suite.ts';
import { costSuite } from './cost/suite.ts';
import { executionsSuite } from './executions/suite.ts';
import { growthSuite } from './growth/suite.ts';
import { leaseSuite } from './lease/suite.ts';
import { leaseServiceSuite } from './lease-service/suite.ts';
import { redriveSuite } from './redrive/suite.ts';
import { regressSuite } from './regress/suite.ts';
import type { Suite } from './suite.ts';
import { tenantsSuite } from './tenants/suite.ts';
import { transportsSuite } from './transports/suite.ts';

export const SUITES: readonly Suite[] = [
  leaseSuite,
  leaseServiceSuite,
  executionsSuite,
  redriveSuite,
  coordinatorSuite,
  channelsSuite,
  consoleSuite,
  transportsSuite,
  costSuite,
  regressSuite,
  tenantsSuite,
  growthSuite,
];
