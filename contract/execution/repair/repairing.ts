// Builders for cases about compensation and repair.

import type { TerminalStatus } from '../../../src/execution/execution.ts';
import type { NewEvent } from '../../../src/execution/history.ts';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { DeadLetter } from '../../../src/features/repair/model.ts';
import type { Redrive, RedriveResult } from '../../../src/features/repair/port.ts';
import type { CoordinatorStore, Submit } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
import {
  type Held,
  mustClaim,
  mustFinish,
  PROJECT,
  payload,
  running,
  submitting,
  writing,
} from '../worker.ts';

/** The event of an owner that starts to compensate. */
export const COMPENSATING: NewEvent = {
  kind: 'compensating',
  body: payload({ status: 'failed', failure: { code: 'declined' } }),
};

export async function mustTurnBack(store: CoordinatorStore, held: Held): Promise<void> {
  const request = { ...writing(held, COMPENSATING), compensating: true };
  expectKind(await store.executions.giveBack(request), 'given-back');
}

/** Submits, claims, turns back and claims again. */
export async function undoing(
  store: CoordinatorStore,
  who: Pick<OpenedSession, 'id'>,
  options: Partial<Submit> = {},
): Promise<Held> {
  const held = await running(store, who, options);
  await mustTurnBack(store, held);
  return mustClaim(store, who, held.id);
}

export function letter(options: Partial<DeadLetter> = {}): DeadLetter {
  const failure = { category: 'permanent', code: 'declined', reason: 'The card was declined.' };
  return { ...failure, step: 'step:charge#1', attempts: 3, ...options } as DeadLetter;
}

/** Submits, claims and ends. */
export async function ended(
  store: CoordinatorStore,
  who: Pick<OpenedSession, 'id'>,
  {
    status = 'failed',
    deadLetter,
    ...options
  }: Partial<Submit> & { readonly status?: TerminalStatus; readonly deadLetter?: DeadLetter } = {},
): Promise<ExecutionId> {
  const held = await running(store, who, options);
  await mustFinish(store, held, { status, ...(deadLetter === undefined ? {} : { deadLetter }) });
  return held.id;
}

export function redriving(of: ExecutionId, options: Partial<Redrive> = {}): Redrive {
  return {
    of,
    project: PROJECT,
    submit: submitting({ redriveOf: of, lineage: of, body: payload({ by: 'olga' }) }),
    events: [],
    compensating: false,
    compensable: false,
    ...options,
  };
}

export async function mustRedrive(
  store: CoordinatorStore,
  of: ExecutionId,
  options: Partial<Redrive> = {},
): Promise<ExecutionId> {
  const result = await store.executions.redrive(redriving(of, options));
  return expectKind<RedriveResult, 'submitted'>(result, 'submitted').id;
}
