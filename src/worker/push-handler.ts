// `pushHandler`: a worker that is called. It takes a Request and answers with a Response, so it mounts wherever those
// are known: Next, Deno, serverless functions; by a line in Hono, by a few in Express and Fastify.

import {
  type HoldfastOptions,
  limitsOf,
  remoteLimitsOf,
  resolveWorkerConfig,
} from '../engine/holdfast-options.ts';
import { type Pipelines, pipelinesByName } from '../engine/known-pipelines.ts';
import { LiveWorker } from '../engine/worker.ts';
import { resolveWorkerOptions, type WorkerRelease } from '../engine/worker-options.ts';
import type { Driven, PushResult } from '../protocol/messages/push.ts';
import { Signer, type SigningOptions } from '../protocol/messages/signing.ts';
import type { WorkerStore } from '../store/contract/execution-store.ts';
import { InvalidInput } from '../support/fault.ts';
import { readOptions, requireMethods } from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { addressOf, misdirectionOf } from './addressed.ts';
import { denialOf, offeredBy } from './offered.ts';
import { pushedStore } from './pushed-store.ts';
import { answerTo, callIn, InHand } from './signed-calls.ts';
import { type WayBack, wayBackOf } from './way-back.ts';

export type { WayBack } from './way-back.ts';

export interface PushHandlerOptions
  extends Pick<HoldfastOptions, 'codec' | 'observer' | 'payloads'> {
  readonly pipelines: Pipelines;
  /** The keys of the coordinator's `push.signing`, or of this endpoint's. */
  readonly signing: SigningOptions;
  /** Which build this is, for what is pinned to it. The digest is that of the artifact that is deployed here. */
  readonly release?: WorkerRelease;
  /** The way back: each step is recorded before the next. Without it all of them are in the answer, and run again when it is lost. */
  readonly coordinator?: WayBack;
  /** The URL of this endpoint, as the coordinator calls it. Calls for another are denied. */
  readonly audience: string;
  /** Calls for another project are denied. Default: those of any are taken. */
  readonly project?: string;
}

export type PushHandler = (request: Request) => Promise<Response>;

const NAMES: readonly (keyof PushHandlerOptions)[] = [
  ...(['pipelines', 'signing', 'coordinator', 'release', 'codec', 'observer', 'payloads'] as const),
  ...(['audience', 'project'] as const),
];
/** Before the coordinator stops waiting, what runs is given back. */
const EARLY_MS = 500;

export function pushHandler(given: PushHandlerOptions): PushHandler {
  const options = readOptions('pushHandler', given, NAMES);
  const pipelines = pipelinesByName('pushHandler', options.pipelines);
  if (pipelines.size === 0) {
    throw new InvalidInput('pushHandler: pipelines must have at least one pipeline.');
  }
  const signer = new Signer('pushHandler: signing', options.signing);
  const { codec, observer, coordinator } = options;
  if (codec !== undefined) requireMethods('pushHandler: codec', codec, ['encode', 'decode']);
  if (observer !== undefined) requireMethods('pushHandler: observer', observer, ['report']);
  limitsOf(options.payloads);
  const { release } = resolveWorkerOptions({
    pipelines: options.pipelines,
    ...(options.release !== undefined && { release: options.release }),
  });
  const wayBack = coordinator === undefined ? undefined : wayBackOf(coordinator);
  const offered = offeredBy(pipelines.values(), release, wayBack !== undefined);
  const address = addressOf(options);
  const inHand = new InHand();
  return async (request) => {
    const call = callIn(signer, await request.text());
    if (call === undefined)
      return new Response('Not signed by a key that is known.', { status: 401 });
    const { claims } = call;
    const answer = (result: Partial<PushResult>): Response => answerTo(call, signer, result);
    const { drive, nonce } = claims;
    const misdirected = misdirectionOf(address, claims);
    if (drive === undefined) {
      const said = misdirected === undefined ? offered : { denied: misdirected };
      return answer({ ...said, ...(nonce === undefined ? {} : { nonce }) });
    }
    const { execution, fence } = drive.claimed;
    const about = { id: execution.id, fence };
    const denied = misdirected ?? denialOf(execution, offered);
    if (denied !== undefined) return answer({ ...about, denied });
    const isNew = inHand.take(`${execution.id} ${fence}`, claims.until);
    if (!isNew) return new Response('in-hand: this call was taken before.', { status: 409 });
    const done = await driven(drive, options, await wayBack?.());
    return answer({ ...about, ...done });
  };
}

async function driven(
  drive: Driven,
  { pipelines, release, codec, observer, payloads }: PushHandlerOptions,
  wayBack: WorkerStore | undefined,
): Promise<Pick<PushResult, 'writes' | 'blobs'>> {
  const { store, left, result } = pushedStore(drive, wayBack);
  const config = resolveWorkerConfig(
    {
      store,
      ...(codec && { codec }),
      ...(observer && { observer }),
      payloads: remoteLimitsOf(payloads),
    },
    { ended: () => undefined, awaitDueIn: () => undefined },
  );
  const options = { pipelines, concurrency: 1, stopGraceMs: 0, ...(release && { release }) };
  const worker = await LiveWorker.open(config, options, () => undefined);
  const over = new AbortController();
  const patience = Math.max(0, drive.deadlineInMs - EARLY_MS);
  await Promise.race([left, systemTimers.pause(patience, over.signal)]);
  over.abort();
  // What has not left by then is given back: its steps that were recorded are not run again.
  await worker.stop();
  return result;
}
