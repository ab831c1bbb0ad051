// Plans that once broke a rule, in `kept-plans.jsonl`: one per line, with its description. They are
// kept as plans and not as seeds, since a seed changes its meaning when a workload changes.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plan } from '../../contract/index.ts';

export interface KeptPlan {
  readonly why: string;
  readonly plan: Plan;
}

const FILE = join(import.meta.dirname, 'kept-plans.jsonl');

export function keptPlans(): readonly KeptPlan[] {
  return readFileSync(FILE, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as KeptPlan);
}
