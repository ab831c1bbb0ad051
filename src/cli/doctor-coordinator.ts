// The coordinator that runs: whether it answers, on which store, and whether its workers take work.

import { ask } from '../client/calls.ts';
import { CallRefused } from '../client/client.ts';
import type { DepthMessage, WorkerMessage } from '../protocol/messages/sessions.ts';
import { Fault } from '../support/fault.ts';
import type { Typed } from './command.ts';
import type { Finding } from './doctor-store.ts';
import { clientFor, urlFor } from './remote/connection.ts';

const WORKERS_MAX = 1_000;

export interface LookedAt {
  /** Whether one answers that lets this caller in. */
  readonly isRunning: boolean;
  readonly findings: readonly Finding[];
}

export async function lookAtCoordinator(typed: Typed): Promise<LookedAt> {
  const client = await clientFor(typed);
  const url = urlFor(typed);
  const what = 'coordinator';
  try {
    const caller = await ask(client, 'GET /v1/caller');
    const { kind, survives } = caller.store;
    const running = {
      what,
      found: `${url} answers; its store is ${kind}, which survives ${survives}`,
    };
    if (!caller.roles.includes('operate')) return { isRunning: true, findings: [running] };
    const [workers, depth] = await Promise.all([
      client.sessions.workers({ limit: WORKERS_MAX }),
      client.executions.depth(),
    ]);
    return { isRunning: true, findings: [running, workersFinding(workers.items, depth)] };
  } catch (fault) {
    if (fault instanceof CallRefused) {
      const change = `Set HOLDFAST_KEY to a key of this coordinator: ${fault.message}`;
      return { isRunning: false, findings: [{ what, found: `${url} refuses this key`, change }] };
    }
    if (!(fault instanceof Fault)) throw fault;
    return { isRunning: false, findings: [{ what, found: `none answers at ${url}` }] };
  }
}

/** Of workers, not of what a coordinator does for all. */
export function workersFinding(all: readonly WorkerMessage[], { lanes }: DepthMessage): Finding {
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
    return { ...finding, change: 'Run "holdfast workers" to see which, and restart those.' };
  }
  if (workers.length > 0 || ready === 0) return finding;
  return { ...finding, change: 'No worker runs. Start one; executions wait for it.' };
}
