// `openWorker`: runs pipelines for a coordinator, over HTTP or another transport. It uses the same
// pipelines and the same engine as an embedded worker. Only features that need the store itself are
// missing (ctx.transaction).

import {
  type HoldfastOptions,
  limitsOf,
  remoteLimitsOf,
  resolveWorkerConfig,
} from '../engine/config.ts';
import { reportTrouble } from '../engine/observer.ts';
import { pipelinesByName } from '../engine/pipeline.ts';
import { LiveWorker } from '../engine/worker/worker.ts';
import {
  resolveWorkerOptions,
  type Worker,
  type WorkerOptions,
} from '../engine/worker/worker-options.ts';
import { systemClock } from '../support/clock.ts';
import { readOptions, requireMethods, wordsIn } from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { type ConnectionOptions, checkConnectionOptions, transportTo } from './connection.ts';
import { greet, warnOnStderr } from './greet.ts';
import { remoteStore } from './remote-store.ts';

export type { Worker } from '../engine/worker/worker-options.ts';
export type { Transport, TransportRequest } from '../protocol/messages/envelope.ts';
export { stopRequested } from '../support/stop-requested.ts';

/** Options of `openWorker`. */
export interface RemoteWorkerOptions
  extends Omit<WorkerOptions, 'reconcileMs'>,
    Pick<HoldfastOptions, 'codec' | 'observer' | 'payloads'>,
    ConnectionOptions {
  /** An access key with role `work`. Not needed if authentication is off. */
  readonly key?: string;
  /**
   * Milliseconds to wait for a coordinator that cannot be reached; 0 does not wait. By default it
   * waits for ever.
   */
  readonly connectMs?: number;
}

const NAMES: readonly (keyof RemoteWorkerOptions)[] = wordsIn(
  'url transport key project stream connectMs codec observer payloads pipelines concurrency owner ttlMs pollMs stopGraceMs release probeMs',
);

/**
 * Starts a worker that runs pipelines for a coordinator.
 *
 * It runs the same pipelines as an embedded worker, except for `ctx.transaction`. Throws
 * `InvalidInput` for invalid options, and a `Fault` with the coordinator's code if it refuses the
 * worker.
 *
 * @example
 * import { pipeline } from 'holdfast';
 *
 * const order = pipeline({ name: 'order', run: (_ctx, item: string) => `ordered ${item}` });
 * const worker = await openWorker({ url: 'http://127.0.0.1:7433', pipelines: [order] });
 * void stopRequested().then(() => worker.stop());
 */
export async function openWorker(given: RemoteWorkerOptions): Promise<Worker> {
  const read = readOptions('openWorker', given, NAMES);
  checkFirst(read);
  const { url, transport: carrying, key, project, stream, ...others } = read;
  const { codec, payloads, connectMs, ...rest } = others;
  const { observer: observerGiven, ...options } = rest;
  const timers = systemTimers;
  const observer = warnOnStderr(observerGiven);
  const transport = transportTo({ url, transport: carrying, key, project, stream }, (why) =>
    reportTrouble(observer, { code: 'stream-refused' }, why),
  );
  const hello = await greet(transport, { timers, observer, connectMs });
  const pipelines = [...pipelinesByName('openWorker', options.pipelines).keys()];
  const store = remoteStore({ transport, hello, clock: systemClock, timers, pipelines });
  const config = resolveWorkerConfig(
    { store, ...(codec && { codec }), observer, payloads: remoteLimitsOf(payloads) },
    { ended: () => undefined, awaitDueIn: () => undefined },
  );
  const worker = await LiveWorker.open(config, options);
  return withEnd(worker, () => store.close());
}

/** Runs before anything is sent, because these mistakes do not concern the coordinator. */
function checkFirst(read: RemoteWorkerOptions): void {
  const { url, transport, key, project, stream, connectMs, codec, observer, ...rest } = read;
  const { payloads, ...options } = rest;
  checkConnectionOptions('openWorker', { url, transport, key, project, stream, connectMs });
  if (codec !== undefined) requireMethods('openWorker: codec', codec, ['encode', 'decode']);
  if (observer !== undefined) requireMethods('openWorker: observer', observer, ['report']);
  limitsOf(payloads);
  resolveWorkerOptions(options);
}

/** Closes the transport when the worker stops. */
function withEnd(worker: Worker, close: () => Promise<void>): Worker {
  const stop = async (): Promise<void> => {
    await worker.stop();
    await close();
  };
  // A worker that is denied access ends by itself.
  const ended = worker.ended.then(async (end) => {
    if (end.kind === 'denied') await close();
    return end;
  });
  return {
    ended,
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
