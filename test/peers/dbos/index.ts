import type { Suite } from '../scenario.ts';
import { QUEUES } from './queues.ts';
import { SCHEDULES } from './schedules.ts';
import { WORKFLOWS } from './workflows.ts';

export const DBOS: Suite = {
  id: 'dbos',
  name: 'DBOS',
  scenarios: [...WORKFLOWS, ...QUEUES, ...SCHEDULES],
};
