// `openWorker`: runs pipelines for a coordinator, over HTTP or whatever carrier it is given. The same
// pipelines as embedded, by the same engine; what is not there is what needs the store itself
// (ctx.transaction).

import { Holdfast } from '../engine/holdfast.ts';
import { type HoldfastOptions, limitsOf } from '../engine/holdfast-options.ts';
import { pipelinesByName } from '../engine/known-pipelines.ts';
import type { Worker, WorkerOptions } from '../engine/worker.ts';
import { resolveWorkerOptions } from '../engine/worker-options.ts';
import type { Carrier } from '../protocol/messages/carrier.ts';
import { OLDEST_WORK_VERSION, WORK_VERSION } from '../protocol/messages/envelope.ts';
import { Fault, InvalidInput } from '../support/fault.ts';
import {
  boundedText,
  readList,
  readOptions,
  requireMethods,
  requireUrl,
} from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { httpCarrier } from './http-carrier.ts';
import { type Hello, remoteStore } from './remote-store.ts';

export type { Worker } from '../engine/worker.ts';
export type { Ask, Carrier } from '../protocol/messages/carrier.ts';

export interface RemoteWorkerOptions
  extends Omit<WorkerOptions, 'reconcileMs'>,
    Pick<HoldfastOptions, 'codec' | 'observer' | 'payloads'> {
  /** Of one coordinator or of several on the same store, such as http://127.0.0.1:7433. */
  readonly url?: string | readonly string[];
  /** What carries its messages instead of HTTP; closed when the worker has stopped. */
  readonly carrier?: Carrier;
  /** With role `work`. */
  readonly key?: string;
  /** For keys of all projects, and where authentication is off. */
  readonly project?: string;
}

const NAMES: readonly (keyof RemoteWorkerOptions)[] = [
  ...(['url', 'carrier', 'key', 'project', 'codec', 'observer', 'payloads'] as const),
  ...(['pipelines', 'concurrency', 'owner', 'ttlMs', 'pollMs', 'stopGraceMs'] as const),
];

export async function openWorker(given: RemoteWorkerOptions): Promise<Worker> {
  const read = readOptions('openWorker', given, NAMES);
  checkFirst(read);
  const { url, carrier: carrying, key, project, codec, observer, payloads, ...options } = read;
  const timers = systemTimers;
  const carrier =
    carrying ??
    httpCarrier({ url: url ?? [], timers, ...(key && { key }), ...(project && { project }) });
  const hello = await greet(carrier);
  const pipelines = [...pipelinesByName('openWorker', options.pipelines).keys()];
  const store = remoteStore({ carrier, hello, timers, pipelines });
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

/** Both sides say what they speak; what they say from then on is of that version. */
export async function greet(carrier: Carrier): Promise<Hello> {
  const hello = await carrier.ask<Hello>({ kind: 'greet', body: { version: WORK_VERSION } });
  const { version = OLDEST_WORK_VERSION } = hello;
  if (version >= OLDEST_WORK_VERSION && version <= WORK_VERSION) return hello;
  throw new Fault(
    'version-unknown',
    `The coordinator speaks version ${version} of the worker protocol; this worker speaks ${OLDEST_WORK_VERSION} to ${WORK_VERSION}. Update whichever is older.`,
  );
}

/** Before anything is sent: what is wrong here is no matter of the coordinator's. */
function checkFirst(read: RemoteWorkerOptions): void {
  const { url, carrier, key, project, codec, observer, payloads, ...options } = read;
  if (carrier === undefined) checkUrls(url);
  else if ((url ?? key ?? project) !== undefined) {
    throw new InvalidInput(
      'openWorker: url, key and project are for HTTP; with a carrier they are given to it.',
    );
  } else requireMethods('openWorker: carrier', carrier, ['ask', 'close']);
  if (key !== undefined) boundedText('openWorker: key', key, WORD_BYTES_MAX);
  if (project !== undefined) boundedText('openWorker: project', project, WORD_BYTES_MAX);
  if (codec !== undefined) requireMethods('openWorker: codec', codec, ['encode', 'decode']);
  if (observer !== undefined) requireMethods('openWorker: observer', observer, ['report']);
  limitsOf(payloads);
  resolveWorkerOptions(options);
}

const WORD_BYTES_MAX = 256;

function checkUrls(url: unknown): void {
  const urls = typeof url === 'string' ? [url] : readList('openWorker: url', url);
  requireUrl('openWorker', urls[0]);
  for (const each of urls) requireUrl('openWorker', each);
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
