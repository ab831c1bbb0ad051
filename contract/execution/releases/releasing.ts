// Builders for cases of releases.

import assert from 'node:assert/strict';
import {
  CONTRACT_FORMAT,
  type Contract,
  contractVersion,
} from '../../../src/features/releases/contract-model.ts';
import type { Announcement, RolloutAction } from '../../../src/features/releases/model.ts';
import type { ChangeRollout, RegisterRelease } from '../../../src/features/releases/port.ts';
import type { SessionId } from '../../../src/lease/names.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
import { claimAll, type Held, heldOf, PIPELINE, PROJECT, worker } from '../worker.ts';

export const CONTRACT: Contract = {
  format: CONTRACT_FORMAT,
  pipeline: PIPELINE,
  input: { type: 'object' },
  output: true,
  awaits: [],
  remoteSteps: [],
  retry: {},
  checkpoint: {},
};

/** Accepts less input than the contract above. */
export const NARROWER: Contract = { ...CONTRACT, input: { type: 'object', required: ['order'] } };

export function registering(name: string, options: Partial<RegisterRelease> = {}): RegisterRelease {
  const contract = options.contract ?? CONTRACT;
  return {
    project: PROJECT,
    pipeline: PIPELINE,
    name,
    artifact: 'orders',
    digest: `sha256:${name}`,
    contractVersion: contractVersion(contract),
    contract,
    createdBy: 'ann',
    ...options,
  };
}

export async function mustRegister(
  store: CoordinatorStore,
  name: string,
  options: Partial<RegisterRelease> = {},
): Promise<void> {
  const result = await store.executions.registerRelease(registering(name, options));
  expectKind(result, 'registered');
}

export function changing(
  action: RolloutAction,
  options: Partial<ChangeRollout> = {},
): ChangeRollout {
  return { project: PROJECT, pipeline: PIPELINE, action, actor: 'olga', reason: '', ...options };
}

export async function mustChange(
  store: CoordinatorStore,
  action: RolloutAction,
  options: Partial<ChangeRollout> = {},
): Promise<void> {
  expectKind(await store.executions.changeRollout(changing(action, options)), 'changed');
}

/** Registers and activates a release. */
export async function mustActivate(store: CoordinatorStore, name: string): Promise<void> {
  await mustRegister(store, name);
  await mustChange(store, 'activate', { name });
}

export function announcing(
  session: SessionId,
  name?: string,
  options: Partial<Announcement> = {},
): Announcement {
  const contracts = { [PIPELINE]: contractVersion(CONTRACT) };
  return {
    session,
    pipelines: [PIPELINE],
    ...(name === undefined ? {} : { release: { name, digest: `sha256:${name}`, contracts } }),
    state: 'ready',
    everyMs: 5_000,
    room: 10,
    ...options,
  };
}

/** A worker that has announced this release. */
export async function workerOf(
  store: CoordinatorStore,
  name: string,
  owner: string = name,
): Promise<OpenedSession> {
  const who = await worker(store, owner);
  expectKind(await store.executions.announce(announcing(who.id, name)), 'announced');
  return who;
}

/** Claims the one execution that a worker of this release can claim. */
export async function mustClaimOf(
  store: CoordinatorStore,
  who: Pick<OpenedSession, 'id'>,
  release: string,
): Promise<Held> {
  const claims = await claimAll(store, who, { release });
  const [claimed] = claims;
  assert(claimed !== undefined && claims.length === 1, `one claim, not ${claims.length}`);
  return heldOf(claimed, who);
}

/** Returns the contents of the refusal. */
export function refusedBy(result: { readonly kind: string }, why: string): Record<string, unknown> {
  const refusal = result as Record<string, unknown>;
  assert.deepEqual([refusal['kind'], refusal['why']], ['refused', why], JSON.stringify(result));
  return refusal;
}
