import type { Suite } from '../scenario.ts';
import { CALLS } from './calls.ts';
import { CONTROL } from './control.ts';

export const RESTATE: Suite = {
  id: 'restate',
  name: 'Restate',
  scenarios: [...CALLS, ...CONTROL],
};
