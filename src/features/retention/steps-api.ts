// The plan of an execution as it came to be: every call that its code made, in order, and what became of it.

import type { HistoryEvent } from '../../execution/history.ts';
import { formatInstant } from '../../support/clock.ts';

export interface ArchivedStep {
  /** `step:charge#1`; again after a checkpoint, with the next part. */
  readonly call: string;
  /** How many checkpoints came before it. */
  readonly part: number;
  readonly name?: string;
  readonly outcome: 'completed' | 'failed' | 'open';
  /** How often it failed on the way. */
  readonly failures: number;
  readonly firstAt: string;
  readonly lastAt: string;
}

interface Draft {
  readonly call: string;
  readonly part: number;
  name: string | undefined;
  outcome: ArchivedStep['outcome'];
  failures: number;
  readonly firstAt: string;
  lastAt: string;
}

const SETTLES: ReadonlySet<string> = new Set([
  ...['step-completed', 'timer-fired', 'child-ended', 'signal-received', 'await-settled'],
  'attached',
]);

export function stepsOf(history: readonly HistoryEvent[]): readonly ArchivedStep[] {
  const steps = new Map<string, Draft>();
  let part = 0;
  for (const { kind, name, body, at } of history) {
    const { key: call, retryInMs } = bodyOf(body);
    if (kind === 'checkpointed') part += 1;
    if (call === undefined) continue;
    const when = formatInstant(at);
    const id = `${part} ${call}`;
    const step: Draft = steps.get(id) ?? {
      ...{ call, part, name, outcome: 'open', failures: 0, firstAt: when, lastAt: when },
    };
    step.lastAt = when;
    if (kind === 'step-failed') {
      step.failures += 1;
      if (retryInMs === undefined) step.outcome = 'failed';
    }
    if (SETTLES.has(kind)) step.outcome = 'completed';
    steps.set(id, step);
  }
  return [...steps.values()].map(({ name, ...step }) => {
    return { ...step, ...(name === undefined ? {} : { name }) };
  });
}

function bodyOf(body: string | undefined): {
  readonly key?: string;
  readonly retryInMs?: number;
} {
  try {
    const parsed: unknown = JSON.parse(body ?? '{}');
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}
