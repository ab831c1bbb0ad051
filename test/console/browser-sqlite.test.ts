import { sample } from '../services/tier.ts';
import { AUDIT_CASES } from './browser/audit-operations.ts';
import { INBOX_CASES } from './browser/inbox-operations.ts';
import { INCIDENT_CASES } from './browser/incidents.ts';
import { OPERATION_CASES } from './browser/operations.ts';
import { PAGE_CASES } from './browser/pages.ts';
import { registerBrowser } from './browser/register.ts';
import { START_CASES } from './browser/start-operations.ts';
import { WATERFALL_CASES } from './browser/waterfall-operations.ts';

const others = sample(
  'console cases',
  [
    ...WATERFALL_CASES,
    ...AUDIT_CASES,
    ...INBOX_CASES,
    ...START_CASES,
    ...INCIDENT_CASES,
    ...OPERATION_CASES,
  ],
  20,
);
registerBrowser('sqlite', [...PAGE_CASES, ...others], async () => undefined);
