// All cases of the browser besides the tour of the pages.

import { AUDIT_CASES } from './audit-operations.ts';
import { CHANNEL_CASES } from './channel-operations.ts';
import { INBOX_CASES } from './inbox-operations.ts';
import { INCIDENT_CASES } from './incidents.ts';
import { OPERATION_CASES } from './operations.ts';
import { CHOICE_CASES } from './page-operations.ts';
import type { BrowserCase } from './register.ts';
import { START_CASES } from './start-operations.ts';
import { WATERFALL_CASES } from './waterfall-operations.ts';

export const OTHER_CASES: readonly BrowserCase[] = [
  ...WATERFALL_CASES,
  ...AUDIT_CASES,
  ...INBOX_CASES,
  ...START_CASES,
  ...INCIDENT_CASES,
  ...CHANNEL_CASES,
  ...CHOICE_CASES,
  ...OPERATION_CASES,
];
