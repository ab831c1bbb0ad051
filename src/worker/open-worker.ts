// `openWorker`: runs pipelines for a coordinator, over HTTP. The same pipelines as embedded, by the same
// engine; what is not there is what needs the store itself (ctx.transaction).

import { Holdfast } from '../engine/holdfast.ts';
import type { HoldfastOptions } from '../engine/holdfast-options.ts';
import { pipelinesByName } from '../engine/known-pipelines.ts';
import type { Worker, WorkerOptions } from '../engine/worker.ts';
import { readOptions } from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { Link } from './link.ts';
import { type Hello, remoteStore } from './remote-store.ts';

export interface RemoteWorkerOptions
  extends WorkerOptions,
    Pick<HoldfastOptions, 'codec' | 'observer' | 'payloads'> {
  /** Of one coordinator or of several on the same store, such as http://127.0.0.1:7433. */
  readonly url: string | readonly string[];
  /** With role `work`. */
  readonly key?: string;
  /** For keys of all projects, and where authentication is off. */
  readonly project?: string;
}

const NAMES: readonly (keyof RemoteWorkerOptions)[] = [
  ...(['url', 'key', 'project', 'codec', 'observer', 'payloads'] as const),
  ...(['pipelines', 'concurrency', 'owner', 'ttlMs', 'pollMs', 'stopGraceMs'] as const),
];

export async function openWorker(given: RemoteWorkerOptions): Promise<Worker> {
  const { url, key, project, codec, observer, payloads, ...options } = readOptions(
    'openWorker',
    given,
    NAMES,
  );
  const timers = systemTimers;
  const link = new Link({ url, timers, ...(key && { key }), ...(project && { project }) });
  const hello = await link.json<Hello>({ method: 'GET', path: '/v1/work', isRead: true });
  const pipelines = [...pipelinesByName('openWorker', options.pipelines).keys()];
  const store = remoteStore({ link, hello, timers, pipelines });
  const holdfast = new Holdfast({
    store,
    ...(codec && { codec }),
    ...(observer && { observer }),
    ...(payloads && { payloads }),
  });
  const worker = await holdfast.worker(options);
  return withEnd(worker, async () => {
    await holdfast.close();
    await store.close();
  });
}

/** When the worker stops, what was opened for it is closed. */
function withEnd(worker: Worker, close: () => Promise<void>): Worker {
  const stop = async (): Promise<void> => {
    await worker.stop();
    await close();
  };
  return {
    get session() {
      return worker.session;
    },
    get running() {
      return worker.running;
    },
    stop,
    crash: () => worker.crash(),
    [Symbol.asyncDispose]: stop,
  };
}
