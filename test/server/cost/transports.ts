// Every transport of the worker protocol to one coordinator, and a push endpoint whose answers are large.

import { randomUUID } from 'node:crypto';
import { FakeEndpoint } from '../../../contract/index.ts';
import {
  envelopeOf,
  type ReplyEnvelope,
  resultIn,
  type Transport,
  type TransportRequest,
} from '../../../src/protocol/messages/envelope.ts';
import {
  type PushCommand,
  type PushResult,
  pushResult,
} from '../../../src/protocol/messages/push.ts';
import { envelopeFromJson, toJson } from '../../../src/protocol/messages/queued.ts';
import { Signer } from '../../../src/protocol/messages/signing.ts';
import { grpcTransport } from '../../../src/worker/grpc-transport.ts';
import { ALLOW, type Mounted, mounted, SIGNING } from '../../transport/push-stand.ts';
import { RawStream } from '../../transport/raw-stream.ts';
import { SqsStand } from '../../transport/sqs-stand.ts';
import { type Given, TestCoordinator } from '../coordinator.ts';
import { largestOf } from './largest.ts';
import type { Rich } from './requests.ts';

const MIB = 1024 * 1024;

/**
 * By folder of src/protocol; `stream` is in `work`. Workers over `rest` send the requests of its
 * routes; `push` sends its own messages.
 */
export const TRANSPORTS = {
  work: ({ coordinator, key }) => coordinator.server.transport({ key }),
  grpc: ({ coordinator, key }) =>
    grpcTransport({ address: coordinator.server.grpcAddress ?? '', key, bytesMax: 32 * MIB }),
  sqs: ({ sqs, options }) => sqs.transport(options),
  stream: ({ coordinator, key }) => framed(coordinator.url, key),
} satisfies Readonly<
  Record<string, (stand: Stand & { key: string }) => Transport | Promise<Transport>>
>;

/** The most characters of a message in a frame, which is JSON in JSON. */
export const FRAME_CHARS = MIB / 2;

/** Each message is a frame, in a stream of its own, because a refused one ends its stream. */
function framed(url: string, key: string): Transport {
  return {
    name: 'stream',
    async request<Result>(message: TransportRequest): Promise<Result> {
      const stream = await RawStream.open(url, key);
      stream.send([toJson(envelopeOf(message, 'one'))]);
      const [reply] = await Promise.race([stream.next(), stream.closed.then(() => [])]);
      stream.close();
      if (reply === undefined) throw new Error('The frame was refused.');
      return resultIn(message, envelopeFromJson(reply) as ReplyEnvelope);
    },
    close: async () => undefined,
  };
}

interface Stand {
  readonly coordinator: TestCoordinator;
  readonly sqs: SqsStand;
  readonly options: ReturnType<SqsStand['options']>;
}

export async function openStand(given: Given): Promise<Stand & AsyncDisposable> {
  const sqs = await SqsStand.open();
  const options = sqs.options();
  const coordinator = await TestCoordinator.open({ ...given, grpc: { port: 0 }, sqs: options });
  return {
    ...{ coordinator, sqs, options },
    async [Symbol.asyncDispose]() {
      await coordinator[Symbol.asyncDispose]();
      await sqs.close();
    },
  };
}

/** With its own session: sessions belong to the key that opened them. */
export async function transportTo(
  stand: Stand,
  name: keyof typeof TRANSPORTS,
  rich: Rich,
): Promise<{ readonly transport: Transport; readonly rich: Rich }> {
  const transport = await TRANSPORTS[name]({ ...stand, key: rich.key });
  const session = randomUUID();
  const body = { id: session, owner: 'rich', ttlMs: 600_000, graceMs: 1_000 };
  await transport.request({ kind: 'openSession', body });
  return { transport, rich: { ...rich, session } };
}

/** The messages of `push`, whose answers the test makes large. */
export const PUSHED = ['probe', 'drive'] as const;

/** An endpoint that gives one of them the largest answer. */
export class LargeEndpoint {
  readonly #signer: Signer = new Signer('cost', SIGNING);
  readonly #fake: FakeEndpoint = new FakeEndpoint({ signing: SIGNING, older: SIGNING.current });
  large: (typeof PUSHED)[number] = 'probe';
  #endpoint: Mounted | undefined;

  async open(given: Given): Promise<TestCoordinator> {
    this.#endpoint = await mounted(async (request) => {
      return new Response(this.#fake.signed(this.#answer(await request.text())));
    });
    const { url } = this.#endpoint;
    const endpoints = [{ url, pipelines: ['pushed'], capacity: 1 }];
    return TestCoordinator.open({ ...given, push: { endpoints, signing: SIGNING, allow: ALLOW } });
  }

  close(): void {
    this.#endpoint?.close();
  }

  #answer(text: string): Partial<PushResult> {
    const verified = this.#signer.verify<PushCommand>(text, { to: 'worker', nowMs: Date.now() });
    if (verified.kind !== 'verified') throw new Error(verified.kind);
    const { drive, nonce = '' } = verified.claims;
    if (drive === undefined)
      return this.large === 'probe' ? { nonce, ...manyPipelines() } : { nonce };
    const { execution, fence } = drive.claimed;
    const about = { id: execution.id, fence };
    const seq = execution.seq + 1;
    const events = Array.from({ length: this.large === 'drive' ? 4_000 : 1 }, () => ({
      kind: 'step-completed' as const,
      ...{ name: 's', body: JSON.stringify({ key: 'step:s#1', out: { v: 'y'.repeat(1_000) } }) },
    }));
    const { session } = drive;
    const ends = [...events, { kind: 'completed' as const }];
    const write = {
      verb: 'finish',
      status: 'completed',
      ...about,
      session,
      seq,
      events: ends,
    } as const;
    return { ...about, writes: [{ ...write, outcome: '{"v":1}' }] };
  }
}

function manyPipelines(): Pick<PushResult, 'pipelines'> {
  const schema = pushResult.properties.pipelines;
  const pipelines = largestOf(schema, { of: 'many', chars: MIB, known: {} }) as string[];
  return { pipelines: ['pushed', ...pipelines.slice(1)] };
}
