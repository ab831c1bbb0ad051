// The transports of a coordinator besides HTTP.

import type { Role } from '../features/access/model.ts';
import type { WriteTransport } from '../features/audit/model.ts';
import { type GrpcServer, serveGrpc } from '../protocol/grpc/serve-grpc.ts';
import type { Transport } from '../protocol/messages/envelope.ts';
import { sqsQueues } from '../protocol/messages/queued.ts';
import { WORK_ROLES } from '../protocol/messages/work-messages.ts';
import { pushSettingsOf, sharedKeysWarning } from '../protocol/push/push-options.ts';
import { Pusher } from '../protocol/push/pusher.ts';
import type { Caller, Coordinator } from '../protocol/rest/route.ts';
import { AnswerQueue } from '../protocol/sqs/read-answers.ts';
import { SqsServer } from '../protocol/sqs/serve-sqs.ts';
import { signingKeys } from '../protocol/sqs/sqs-options.ts';
import { type Dispatch, dispatchOf, inProcessTransport } from '../protocol/work/dispatch.ts';
import { boundedText, readOptions } from '../support/options.ts';
import type { Entrance } from './admission.ts';
import { bodyTurnsOf } from './bodies.ts';
import type { AccessRequest, Gate } from './gate.ts';
import type { EndpointCircuit } from './metrics.ts';
import { faultLogOf, type ServerLog, type ServerOptions } from './server-options.ts';

/** Options of a transport for a worker in this process. */
export interface TransportOptions {
  /** An access key with role `work`. Not needed if authentication is off. */
  readonly key?: string;
  /** The project, for access keys of all projects and if authentication is off. */
  readonly project?: string;
}

export interface TransportParts extends Entrance {
  readonly coordinator: Coordinator;
  readonly log: ServerLog;
  readonly stopping: AbortSignal;
}

const WORD_BYTES_MAX = 256;

export function transportOf(parts: TransportParts, given: TransportOptions = {}): Transport {
  const { key, project } = readOptions('transport', given, ['key', 'project']);
  if (key !== undefined) boundedText('transport: key', key, WORD_BYTES_MAX);
  if (project !== undefined) boundedText('transport: project', project, WORD_BYTES_MAX);
  const access = { authorization: key === undefined ? undefined : `Bearer ${key}`, project };
  const { coordinator, stopping } = parts;
  const admit = (): Promise<Caller> => admitWorker(parts.gate, access);
  const dispatch = dispatchFor(parts, 'in-process');
  return inProcessTransport({ coordinator, dispatch, admit, stopping });
}

function dispatchFor({ coordinator, log }: TransportParts, transport: WriteTransport): Dispatch {
  return dispatchOf({ coordinator, transport, onFault: faultLogOf(log) });
}

/** The role of each message is checked later. There is no guessing to limit inside this process. */
export function admitWorker(gate: Gate, access: AccessRequest): Promise<Caller> {
  return gate.admit({ allows: WORK_ROLES }, access);
}

const LOOPBACK = '127.0.0.1';

/** Undefined if gRPC is not configured. */
async function openGrpc(
  parts: TransportParts,
  { grpc, tls }: ServerOptions,
): Promise<GrpcServer | undefined> {
  if (grpc === undefined) return undefined;
  const { coordinator, limiter, held, limits, addresses, stopping } = parts;
  const { host = LOOPBACK, port } = grpc;
  return serveGrpc({
    ...{ coordinator, host, port, stopping },
    bytesMax: limits.bodyBytesMax,
    connectionsMax: limits.connectionsMax,
    requestMs: limits.requestMs,
    connected: (socket) => addresses.came(socket),
    dispatch: dispatchFor(parts, 'grpc'),
    admit: ({ ip, ...access }) => limiter.admit({ route: { allows: WORK_ROLES }, access, ip }),
    hold: (caller) => held.hold(caller),
    ...(tls === undefined ? {} : { tls }),
  });
}

const VISIBLE_MS = 30_000;

/** Each request queue is read on its own, so that a full one delays no other. */
async function openSqs(
  parts: TransportParts,
  { sqs }: ServerOptions,
): Promise<readonly SqsServer[]> {
  if (sqs === undefined) return [];
  const { poisonQueueUrl, replyQueues, visibleMs = VISIBLE_MS } = sqs;
  const { coordinator, stopping, log, limits } = parts;
  const { signer, projectOf, replyQueuesOf, requestQueueOf, requestQueues } = signingKeys(sqs.keys);
  const common = {
    ...{ coordinator, signer, stopping, poisonQueueUrl, replyQueues, visibleMs },
    replyQueuesOf,
    bytesMax: limits.bodyBytesMax,
    queues: await sqsQueues(sqs.client),
    dispatch: dispatchFor(parts, 'sqs'),
    callerOf: (kid: string) => ({
      // One key for the whole project, so that a worker can rotate its key in the middle of an
      // execution (M-20).
      key: 'queue',
      name: `key ${kid} of the queue`,
      project: projectOf(kid),
      isOfAll: false,
      roles: new Set<Role>(['work']),
    }),
    onFault: faultLogOf(log),
  };
  const all = new Set([sqs.requestQueueUrl, ...requestQueues]);
  return [...all].map((requestQueueUrl) => {
    const isOfQueue = (kid: string): boolean =>
      (requestQueueOf(kid) ?? sqs.requestQueueUrl) === requestQueueUrl;
    const projects = new Set(Object.keys(sqs.keys).filter(isOfQueue).map(projectOf));
    return new SqsServer({ ...common, requestQueueUrl, isOfQueue, isShared: projects.size > 1 });
  });
}

async function openAnswers(
  { coordinator, stopping, log }: TransportParts,
  { channels }: ServerOptions,
): Promise<readonly AnswerQueue[]> {
  const { client, answersQueueUrl: queueUrl } = channels?.sqs ?? {};
  if (client === undefined || queueUrl === undefined) return [];
  const queues = await sqsQueues(client);
  const onFault = faultLogOf(log);
  return [new AnswerQueue({ coordinator, queues, queueUrl, stopping, onFault })];
}

function openPushers(parts: TransportParts, { push }: ServerOptions): readonly Pusher[] {
  if (push === undefined) return [];
  const { coordinator, stopping, log, limits } = parts;
  const settings = pushSettingsOf(push);
  const bytesMax = limits.bodyBytesMax;
  const onFault = faultLogOf(log);
  const warning = sharedKeysWarning(settings.endpoints);
  if (warning !== undefined) onFault('push-keys-shared', warning);
  const responses = bodyTurnsOf(limits);
  const common = { coordinator, settings, bytesMax, responses, stopping, onFault };
  return settings.endpoints.map((endpoint) => new Pusher({ ...common, endpoint }));
}

interface OpenedTransports {
  readonly grpc: GrpcServer | undefined;
  circuits(): readonly EndpointCircuit[];
  close(): Promise<void>;
}

/** Opens all configured transports besides HTTP. */
export async function openTransports(
  parts: TransportParts,
  options: ServerOptions,
): Promise<OpenedTransports> {
  const grpc = await openGrpc(parts, options);
  const sqs = await openSqs(parts, options);
  const pushers = openPushers(parts, options);
  const answers = await openAnswers(parts, options);
  return {
    grpc,
    circuits: () => pushers.map(({ circuit }) => circuit),
    async close() {
      await Promise.all([
        grpc?.close(),
        ...[...sqs, ...pushers, ...answers].map((each) => each.close()),
      ]);
    },
  };
}
