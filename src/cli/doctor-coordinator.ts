// Checks the running coordinator: its response, its store, and its workers.

import { callOperation } from '../client/calls.ts';
import { CallRefused } from '../client/client.ts';
import type { OverviewMessage } from '../features/overview/messages.ts';
import { blockedIn } from '../features/overview/model.ts';
import type { CallerMessage } from '../protocol/messages/coordinator.ts';
import type { DepthMessage, WorkerMessage } from '../protocol/messages/sessions.ts';
import { isLoopback } from '../server/gate.ts';
import { Fault } from '../support/fault.ts';
import { untrustedText } from '../support/no-reply.ts';
import type { Typed } from './command.ts';
import type { StoreFinding } from './doctor-store.ts';
import { clientFor, urlFor } from './remote/connection.ts';

const WORKERS_MAX = 1_000;
const NAMES_MAX = 5;

export interface CheckedCoordinator {
  /** True if a coordinator answers and admits this caller. */
  readonly isRunning: boolean;
  readonly findings: readonly StoreFinding[];
}

export async function checkCoordinator(typed: Typed): Promise<CheckedCoordinator> {
  const client = await clientFor(typed);
  const url = urlFor(typed);
  const what = 'coordinator';
  try {
    const caller = await callOperation(client, 'GET /v1/caller');
    const { kind, survives } = caller.store;
    const running = {
      what,
      found: `${url} responds; its store is ${kind}, which survives ${survives}`,
    };
    const findings = [running, listenerFinding(new URL(url), caller)];
    if (!caller.roles.includes('operate')) return { isRunning: true, findings };
    const [workers, depth, overview] = await Promise.all([
      client.sessions.workers({ limit: WORKERS_MAX }),
      client.executions.depth(),
      client.overview.read(),
    ]);
    const work = [workersFinding(workers.items, depth), blockedFinding(overview)];
    return { isRunning: true, findings: [...findings, ...work] };
  } catch (fault) {
    if (fault instanceof CallRefused) {
      const change = `${fault.message} Set HOLDFAST_KEY to a key of this coordinator.`;
      return { isRunning: false, findings: [{ what, found: `${url} refuses this key`, change }] };
    }
    if (!(fault instanceof Fault)) throw fault;
    const change = untrustedText(fault.cause);
    if (change !== undefined) {
      const found = `${url} has a certificate that this process does not trust`;
      return { isRunning: false, findings: [{ what, found, change }] };
    }
    // Without --url, doctor also serves to check a folder before the first start.
    const none =
      typed.text('url') !== undefined
        ? { found: `none at ${url}`, change: 'Start a coordinator there, or pass the URL of one.' }
        : { found: `none at ${url}; pass --url to check another address` };
    return { isRunning: false, findings: [{ what, ...none }] };
  }
}

/** Combines the coordinator's own report with the URL that reached it. */
export function listenerFinding(url: URL, { auth, hasAdmin }: CallerMessage): StoreFinding {
  const isEncrypted = url.protocol === 'https:';
  const finding = {
    what: 'its listener',
    found: `${isEncrypted ? 'TLS' : 'no TLS'}, auth ${auth}, admin routes ${hasAdmin ? 'here' : 'not here'}`,
  };
  if (isEncrypted || auth === 'off' || isLoopback(url.hostname.replace(/^\[|\]$/g, '')))
    return finding;
  const change =
    'Access keys travel unencrypted. Use https: set tls.keyFile and tls.certFile, or put a proxy in front.';
  return { ...finding, change };
}

export function blockedFinding(overview: Pick<OverviewMessage, 'pipelines'>): StoreFinding {
  const { count, capped } = blockedIn(overview);
  const what = 'blocked executions';
  if (count === 0) return { what, found: 'none' };
  const names = overview.pipelines.flatMap(({ pipeline, blocked }) => (blocked ? [pipeline] : []));
  return {
    what,
    found: `${count}${capped ? '+' : ''} of ${[...new Set(names)].slice(0, NAMES_MAX).join(', ')}`,
    change:
      'Their code threw outside of a step, or does not match their history. Run "holdfast list --hold blocked", then "holdfast explain <id>" for the cause.',
  };
}

/** Covers workers, not the shared duties of a coordinator. */
export function workersFinding(
  all: readonly WorkerMessage[],
  { lanes }: DepthMessage,
): StoreFinding {
  const workers = all.filter(({ kind, work }) => kind !== 'coordinator' && work !== 'gone');
  const stuck = workers.filter(({ work }) => work === 'stuck');
  const refused = workers.filter((each) => each.refused !== undefined);
  const ready = lanes.reduce((sum, lane) => sum + lane.ready, 0);
  const found = [
    `${workers.length}`,
    ...(stuck.length === 0 ? [] : [`${stuck.length} stuck`]),
    ...(refused.length === 0 ? [] : [`${refused.length} refused`]),
    `${ready} executions ready`,
  ].join(', ');
  const finding = { what: 'workers', found };
  if (stuck.length + refused.length > 0) {
    return { ...finding, change: 'Run "holdfast workers" to see which ones, and restart them.' };
  }
  if (workers.length > 0 || ready === 0) return finding;
  return { ...finding, change: 'No worker runs, and executions wait. Start one.' };
}
