import type { ContractCase } from '../contract-case.ts';
import { awayCases } from './away.ts';
import { endSessionCases } from './end-session.ts';
import { expiryCases } from './expiry.ts';
import { fairChanceCases } from './fair-chance.ts';
import { sessionGuardCases } from './guards.ts';
import { heartbeatCases } from './heartbeat.ts';
import { hierarchyCases } from './hierarchy.ts';
import { massExpiryCases } from './mass-expiry.ts';
import { openSessionCases } from './open-session.ts';
import { retentionCases } from './retention.ts';

export const sessionCases: readonly ContractCase[] = [
  ...openSessionCases,
  ...heartbeatCases,
  ...endSessionCases,
  ...hierarchyCases,
  ...expiryCases,
  ...retentionCases,
  ...fairChanceCases,
  ...awayCases,
  ...massExpiryCases,
  ...sessionGuardCases,
];
