import type { Suite } from '../scenario.ts';
import { CONTROL } from './control.ts';
import { MESSAGES } from './messages.ts';

export const TEMPORAL: Suite = {
  id: 'temporal',
  name: 'Temporal',
  scenarios: [...MESSAGES, ...CONTROL],
};
