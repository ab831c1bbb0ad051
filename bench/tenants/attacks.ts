// Attacks by a tenant that has keys of every role. Each one loads a shared part of the coordinator with
// valid requests.

import { randomBytes, randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { PurgeQueueCommand } from '@aws-sdk/client-sqs';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { WebSocket } from 'ws';
import { handlerAnywhere } from '../../contract/transport/fake-endpoint.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { type RequestEnvelope, WORK_VERSION } from '../../src/protocol/messages/envelope.ts';
import { WORK_SERVICE } from '../../src/protocol/messages/grpc-service.ts';
import { type QueuedRequest, sqsQueues, toJson } from '../../src/protocol/messages/queued.ts';
import { Signer } from '../../src/protocol/messages/signing.ts';
import { digestOf } from '../../src/support/digest.ts';
import { Caller } from '../coordinator/caller.ts';
import { openEndpoint } from '../transports/transport-set.ts';
import { type QueuesByProject, queueClient, signingOf } from './queues.ts';

/** The addresses and keys of a tenant. */
export interface Access {
  readonly url: string;
  readonly grpcAddress: string;
  readonly key: string;
  /** A key that may only submit. */
  readonly weakKey: string;
  /** The port of the push endpoint. */
  readonly endpointPort: number;
  readonly queues?: QueuesByProject;
}

export class Tenant extends Caller {
  readonly access: Access;
  readonly weak: Caller;

  constructor(access: Access) {
    super(access.url, access.key);
    this.access = access;
    this.weak = new Caller(access.url, access.weakKey);
  }

  override close(): void {
    this.weak.close();
    super.close();
  }
}

/**
 * `push`: an endpoint of the hostile project. `archive`: retention of three seconds there. `queue`:
 * workers over SQS, with a request queue for each project.
 */
export type Need = 'push' | 'archive' | 'queue';

export interface Attack {
  /** The shared part that it loads. */
  readonly name: string;
  /** How many requests run at the same time. */
  readonly inFlight: number;
  /** A part that the coordinator has only for this attack. */
  readonly needs?: Need;
  /** Runs before each round. */
  begin?(tenant: Tenant): Promise<void>;
  /** Runs repeatedly. The coordinator may refuse it. */
  operation?(tenant: Tenant, nth: number): Promise<unknown>;
  /** Runs after each round. */
  end?(tenant: Tenant): Promise<void>;
}

const SCHEDULES = 200;
/** Tags, and as many attributes. */
const LABELS = 60;
const SESSIONS = 50;
const VALUE_BYTES = 256 * 1024;
const LARGE_BYTES = 15 * 1024 * 1024;
/** A body of 8 MiB that takes long to parse. */
const LARGE_SUBMIT = `{"pipeline":"hostile","input":[${'1,'.repeat(4 * 1024 * 1024)}1]}`;
/** A value whose many different names take long to parse, just within the limit. */
const MANY_NAMES = `{${Array.from({ length: 249_000 }, (_, nth) => `"${nth.toString(36)}":1`).join(',')}}`;
const MANY_NAMES_SUBMIT = `{"pipeline":"hostile","input":${MANY_NAMES}}`;
const LATE_BODIES = 10;
const PIPELINES = 2_000;
const DEAD_LETTERS = 3_000;
const JOBS = 20;
const CANCELLED = 8_000;
const GRPC_STREAMS = 8;
const GRPC_AHEAD = 128;
const FRAMES = { streams: 8, ahead: 4, messages: 200 };
const IDLE_STREAMS = 2_000;
const LISTED = 20_000;
const THIRTY_ATTRIBUTES = Object.fromEntries(
  Array.from({ length: 30 }, (_, nth) => [`a${nth}`, nth]),
);
const TEN_RANGES = Array.from({ length: 10 }, (_, nth) => `where=a${nth}%3E%3D0`).join('&');
const RESTLESS = { executions: 32, steps: 5, chars: 200_000, sleeps: 1_000 };
const ARCHIVED = { executions: 1_500, events: 20, chars: 1_000 };
/** The keys of the push endpoint. */
export const PUSH_SIGNING = {
  keys: { k: 'a secret of the bench, 32 bytes or more' },
  current: 'k',
};
const LEASE_KEYS = 500;
const CHECKPOINT_BYTES = 32 * 1024;
const UNKNOWN = randomUUID();

async function openSession(tenant: Caller, ttlMs: number): Promise<string> {
  const session = { id: randomUUID(), owner: 'hostile', ttlMs, graceMs: 0 };
  const { status, body } = await tenant.call('POST', '/v1/work/sessions', JSON.stringify(session));
  if (status !== 200) throw new Error(`Opening a session returned ${status}: ${body}`);
  return session.id;
}

function claim(tenant: Caller, session: string): Promise<unknown> {
  const shares = [{ lane: 'interactive', limit: 250 }];
  const body = { session, pipelines: ['timed', 'hostile'], shares };
  return tenant.call('POST', '/v1/work/claims', JSON.stringify(body));
}

function submit(tenant: Caller): Promise<unknown> {
  return tenant.call('POST', '/v1/executions', '{"pipeline":"hostile"}');
}

function eachSchedule(operation: (id: string) => Promise<unknown>): Promise<unknown> {
  return Promise.all(Array.from({ length: SCHEDULES }, (_, nth) => operation(`s${nth}`)));
}

async function removeSchedules(tenant: Caller): Promise<void> {
  await eachSchedule((id) => tenant.call('DELETE', `/v1/schedules/${id}`));
}

let sessions: readonly string[] = [];
let followed = '';
let large: Uint8Array = new Uint8Array();
let grpcStreams: readonly ClientDuplexStream<Buffer, Buffer>[] = [];
let webSockets: readonly WebSocket[] = [];

interface Claimed {
  readonly fence: number;
  readonly execution: { readonly id: string; readonly seq: number };
}

/** Submits so many executions, and claims them in one session. */
async function carry(tenant: Caller, count: number): Promise<readonly object[]> {
  const session = await openSession(tenant, 600_000);
  const owners: object[] = [];
  while (owners.length < count) {
    const limit = Math.min(250, count - owners.length);
    await Promise.all(Array.from({ length: limit }, () => submit(tenant)));
    const asked = { session, pipelines: ['hostile'], shares: [{ lane: 'interactive', limit }] };
    const { body } = await tenant.call('POST', '/v1/work/claims', JSON.stringify(asked));
    const { claims } = JSON.parse(body) as { claims: readonly Claimed[] };
    for (const { fence, execution } of claims) {
      owners.push({ session, fence, id: execution.id, seq: execution.seq + 1 });
    }
  }
  return owners;
}

async function write(tenant: Caller, writes: readonly object[]): Promise<void> {
  const { body } = await tenant.call('POST', '/v1/work/writes', JSON.stringify({ writes }));
  if (/refused|fault|problem/.test(body)) throw new Error(`a write was answered with ${body}`);
}

/** Follows an execution whose history has so many events of this length. */
async function withHistory(tenant: Caller, events: number, chars: number): Promise<void> {
  if (followed !== '') return;
  const [owner] = (await carry(tenant, 1)) as readonly { id: string; seq: number }[];
  if (owner === undefined) throw new Error('an execution was not claimed');
  const pad = 'x'.repeat(chars);
  const atOnce = Math.min(1_000, Math.floor(4_000_000 / (chars + 100)));
  for (let done = 0; done < events; done += atOnce) {
    const seq = owner.seq + done;
    const one = (nth: number): object => ({
      ...{ kind: 'step-completed', name: 'n' },
      body: JSON.stringify({ key: `step:${nth}#1`, pad }),
    });
    const length = Math.min(atOnce, events - done);
    const page = Array.from({ length }, (_, nth) => one(seq + nth));
    await write(tenant, [{ verb: 'record', ...owner, seq, events: page }]);
  }
  followed = owner.id;
}

/** Lets executions fail, each at a step of its own with a long name. */
async function failMany(tenant: Caller): Promise<void> {
  if (followed !== '') return;
  const owners = await carry(tenant, DEAD_LETTERS);
  for (let first = 0; first < owners.length; first += 250) {
    const writes = owners.slice(first, first + 250).map((owner, nth) => ({
      ...{ verb: 'finish', ...owner, status: 'failed' },
      events: [{ kind: 'failed', body: '{"failure":{"code":"x","message":"y"}}' }],
      deadLetter: {
        ...{ category: 'permanent', code: `code ${first + nth}`, reason: 'r', attempts: 1 },
        step: `${first + nth} ${'\u0001'.repeat(8_000)}`,
      },
    }));
    await write(tenant, writes);
  }
  followed = 'letters';
}

/** Sends messages on several gRPC streams, and the next one for each reply. */
async function floodGrpc({ access }: Tenant, kind: string, body: object): Promise<void> {
  const { Client, credentials, Metadata } = await import('@grpc/grpc-js');
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${access.key}`);
  const envelope = { v: WORK_VERSION, id: 'x', kind, body };
  const wire = WORK_SERVICE.Call.requestSerialize(envelope as never);
  const same = (bytes: Buffer): Buffer => bytes;
  grpcStreams = Array.from({ length: GRPC_STREAMS }, () => {
    const client = new Client(access.grpcAddress, credentials.createInsecure(), {
      ...{ 'grpc.use_local_subchannel_pool': 1, 'grpc.max_receive_message_length': -1 },
    });
    const { path } = WORK_SERVICE.Stream;
    const call = client.makeBidiStreamRequest<Buffer, Buffer>(path, same, same, metadata);
    call.on('data', () => call.write(wire));
    call.on('error', () => client.close());
    for (let nth = 0; nth < GRPC_AHEAD; nth += 1) call.write(wire);
    return call;
  });
}

async function cancelGrpc(): Promise<void> {
  for (const call of grpcStreams) call.cancel();
}

function openSockets({ access }: Tenant, count: number): readonly WebSocket[] {
  const headers = { authorization: `Bearer ${access.key}` };
  const address = `${access.url.replace(/^http/, 'ws')}/v1/stream`;
  return Array.from({ length: count }, () => {
    const socket = new WebSocket(address, { headers, perMessageDeflate: false });
    socket.on('error', () => undefined);
    return socket;
  });
}

/** Sends frames of many messages on several streams, and the next one for each frame of replies. */
async function floodStreams(tenant: Tenant, kind: string, body: object): Promise<void> {
  const message = { v: WORK_VERSION, id: 'x', kind, body };
  const frame = JSON.stringify(Array(FRAMES.messages).fill(message));
  webSockets = openSockets(tenant, FRAMES.streams);
  for (const socket of webSockets) {
    let replies = 0;
    socket.on('message', (data) => {
      replies += (JSON.parse(String(data)) as readonly object[]).length;
      for (; replies >= FRAMES.messages; replies -= FRAMES.messages) socket.send(frame);
    });
    socket.once('open', () => {
      for (let nth = 0; nth < FRAMES.ahead; nth += 1) socket.send(frame);
    });
  }
}

async function closeStreams(): Promise<void> {
  for (const socket of webSockets) socket.terminate();
}

/** Submits executions with keys and tags, which lists must check one by one. */
async function submitListed(tenant: Caller): Promise<void> {
  if (followed !== '') return;
  for (let sent = 0; sent < LISTED; sent += 250) {
    await Promise.all(
      Array.from({ length: 250 }, (_, nth) => {
        const attributes = { ...THIRTY_ATTRIBUTES, n: sent + nth };
        const about = { key: `k${sent + nth}`, tags: ['t'], attributes };
        return tenant.call(
          ...([
            'POST',
            '/v1/executions',
            JSON.stringify({ pipeline: 'hostile', ...about }),
          ] as const),
        );
      }),
    );
  }
  followed = 'listed';
}

/** Returns when all executions have ended. */
async function cancelAll(tenant: Caller): Promise<void> {
  const filter = JSON.stringify({ reason: 'x', filter: {} });
  const { body } = await tenant.call('POST', '/v1/jobs/cancel', filter);
  const { id } = JSON.parse(body) as { id: string };
  for (let status = ''; status !== 'completed'; await pause(100)) {
    const job = await tenant.call('GET', `/v1/jobs/${id}`);
    ({ status } = JSON.parse(job.body) as { status: string });
  }
}

/** Ends executions of many pipelines, whose rollups trends must read. */
async function endPipelines(tenant: Caller): Promise<void> {
  if (followed !== '') return;
  await submitPipelines(tenant);
  await cancelAll(tenant);
}

/** Submits executions that no worker runs, and starts jobs that cancel all of them. */
async function cancelMany(tenant: Caller): Promise<void> {
  for (let sent = 0; sent < CANCELLED; sent += 250) {
    await Promise.all(Array.from({ length: 250 }, () => submit(tenant)));
  }
  const job = JSON.stringify({ reason: 'x', filter: {} });
  for (let nth = 0; nth < JOBS; nth += 1) {
    const { status, body } = await tenant.call('POST', '/v1/jobs/cancel', job);
    if (status !== 202) throw new Error(`Starting a job returned ${status}: ${body}`);
  }
}

/** Large steps, then as many calls as the coordinator makes. */
const restless = pipeline({
  name: 'restless',
  async run(ctx) {
    for (let nth = 0; nth < RESTLESS.steps; nth += 1) {
      await ctx.step(`large ${nth}`, () => 'x'.repeat(RESTLESS.chars));
    }
    for (let nth = 0; nth < RESTLESS.sleeps; nth += 1) await ctx.sleep(1, `sleep ${nth}`);
  },
});

async function callMe(tenant: Tenant): Promise<void> {
  if (followed === '') {
    const handler = handlerAnywhere({ pipelines: [restless], signing: PUSH_SIGNING });
    await openEndpoint(handler, tenant.access.endpointPort);
  }
  followed = 'endpoint';
  await Promise.all(
    Array.from({ length: RESTLESS.executions }, () =>
      tenant.call('POST', '/v1/executions', '{"pipeline":"restless"}'),
    ),
  );
}

let sendQueued: () => Promise<void>;

async function openQueue({ access: { queues } }: Tenant): Promise<void> {
  if (queues === undefined) throw new Error('there is no queue');
  const { requests, replies } = queues.hostile;
  const { send } = await sqsQueues(queueClient());
  const signer = new Signer('hostile', signingOf('hostile'));
  const message: RequestEnvelope = { v: WORK_VERSION, id: 'x', kind: 'greet', body: {} };
  const envelope = toJson(message);
  sendQueued = () => {
    const at = Date.now();
    const to = 'coordinator';
    const request: QueuedRequest = { to, at, until: at + 60_000, replyTo: replies, envelope };
    return send(requests, signer.sign(request));
  };
}

/** Leaves no backlog to the next round. */
async function purgeQueue({ access: { queues } }: Tenant): Promise<void> {
  await queueClient().send(new PurgeQueueCommand({ QueueUrl: queues?.hostile.requests }));
}

/** Ends executions with long histories. They fall due together, while the round runs. */
async function endMany(tenant: Caller): Promise<void> {
  const owners = (await carry(tenant, ARCHIVED.executions)) as readonly { seq: number }[];
  const body = JSON.stringify({ key: 'step:n#1', pad: 'x'.repeat(ARCHIVED.chars) });
  const step = { kind: 'step-completed', name: 'n', body };
  const events = [...Array(ARCHIVED.events).fill(step), { kind: 'completed', body: '{}' }];
  const atOnce = 50;
  for (let first = 0; first < owners.length; first += atOnce) {
    const some = owners.slice(first, first + atOnce);
    const writes = some.map((owner) => ({ verb: 'finish', ...owner, status: 'completed', events }));
    await write(tenant, writes);
  }
}

/** Leaves nothing to archive to the next round. */
async function untilArchived(tenant: Caller): Promise<void> {
  for (let left = 1; left > 0; await pause(100)) {
    const { body } = await tenant.call('GET', '/v1/executions?limit=1');
    left = (JSON.parse(body) as { items: readonly object[] }).items.length;
  }
}

async function putLarge(tenant: Caller): Promise<void> {
  large = randomBytes(LARGE_BYTES);
  await tenant.call('PUT', `/v1/work/blobs/${digestOf(large)}`, large);
}

/** Ends an execution with this value as its output. */
async function withResult(tenant: Caller, json: string): Promise<void> {
  if (followed !== '') return;
  const bytes = Buffer.from(json);
  const ref = digestOf(bytes);
  await tenant.call('PUT', `/v1/work/blobs/${ref}`, bytes);
  const [owner] = (await carry(tenant, 1)) as readonly { id: string }[];
  const body = JSON.stringify({ out: { ref, size: bytes.length } });
  const events = [{ kind: 'completed', body }];
  await write(tenant, [{ verb: 'finish', ...owner, status: 'completed', events }]);
  followed = owner?.id ?? '';
}

/** Sends all but the last byte of large bodies, then the last bytes together. */
async function sendLate({ access }: Tenant): Promise<void> {
  const headers = {
    ...{ authorization: `Bearer ${access.key}`, 'content-type': 'application/json' },
    'content-length': String(LARGE_SUBMIT.length),
  };
  const calls = Array.from({ length: LATE_BODIES }, () => {
    const call = request(`${access.url}/v1/executions`, { method: 'POST', headers });
    const ended = new Promise((resolve) => call.on('error', resolve).on('response', resolve));
    return { call, ended };
  });
  const [first] = calls;
  await Promise.race([
    first?.ended,
    Promise.all(
      calls.map(({ call }) => new Promise((sent) => call.write(LARGE_SUBMIT.slice(0, -1), sent))),
    ),
  ]);
  for (const { call } of calls) call.end(LARGE_SUBMIT.slice(-1));
  await Promise.all(calls.map(({ ended }) => ended));
}

async function submitPipelines(tenant: Caller): Promise<void> {
  if (followed !== '') return;
  for (let nth = 0; nth < PIPELINES; nth += 1) {
    await tenant.call('POST', '/v1/executions', `{"pipeline":"p${nth}"}`);
  }
  followed = 'pipelines';
}

async function openSessions(tenant: Caller): Promise<void> {
  sessions = await Promise.all(
    Array.from({ length: SESSIONS }, () => openSession(tenant, 600_000)),
  );
}

const ANNOUNCED = 1_000;

/** Announces pipelines with long names that no other announcement has. */
function announce(tenant: Caller, session: string, nth: number): Promise<unknown> {
  const name = (each: number): string => `${nth}-${each}-`.padEnd(60, 'abcdefgh');
  const pipelines = Array.from({ length: ANNOUNCED }, (_, each) => name(each));
  const about = { session, pipelines, state: 'starting', everyMs: 10_000, room: 1 };
  return tenant.call('POST', '/v1/work/announcements', JSON.stringify(about));
}

async function announceMany(tenant: Caller): Promise<void> {
  await openSessions(tenant);
  for (const [nth, session] of sessions.entries()) await announce(tenant, session, nth);
}

const someSession = (nth: number): string => sessions[nth % sessions.length] ?? '';

/** Terms whose holder saves checkpoints. */
let checkpoints: { key: string; session: string; fence: number; seq: number }[] = [];

async function acquireMany(tenant: Caller): Promise<void> {
  const session = await openSession(tenant, 600_000);
  await Promise.all(
    Array.from({ length: LEASE_KEYS }, (_, nth) => {
      const body = { key: `k${nth}`, session, attempt: randomUUID() };
      return tenant.call('POST', '/v1/work/leases/acquire', JSON.stringify(body));
    }),
  );
}

/** Repeats one read. */
function reading(name: string, path: string, begin?: Attack['begin']): Attack {
  const operation: Attack['operation'] = (tenant) => tenant.call('GET', path);
  return { name, inFlight: 16, operation, ...(begin && { begin }) };
}

export const ATTACKS: readonly Attack[] = [
  { name: 'submits', inFlight: 32, operation: submit },
  {
    name: 'claims',
    inFlight: 32,
    begin: openSessions,
    operation: (tenant, nth) => claim(tenant, someSession(nth)),
  },
  {
    name: 'heartbeats',
    inFlight: 32,
    begin: openSessions,
    operation: (tenant, nth) =>
      tenant.call('POST', `/v1/work/sessions/${someSession(nth)}/heartbeat`, '{"owner":"hostile"}'),
  },
  {
    // Refused at once, so only the shared process limits their rate.
    name: 'refused requests',
    inFlight: 32,
    operation: (tenant) =>
      tenant.call('POST', `/v1/work/sessions/${UNKNOWN}/heartbeat`, '{"owner":"hostile"}'),
  },
  {
    // The sessions claim work and expire, so that the coordinator must take it back.
    name: 'sessions that die',
    inFlight: 8,
    async operation(tenant) {
      await submit(tenant);
      await claim(tenant, await openSession(tenant, 100));
    },
  },
  {
    name: 'long polls',
    inFlight: 1_000,
    operation: (tenant) => tenant.call('GET', '/v1/work/wakeup?waitMs=20000'),
  },
  {
    name: 'streams',
    inFlight: 200,
    begin: async (tenant) => {
      const { body } = await tenant.call('POST', '/v1/executions', '{"pipeline":"hostile"}');
      followed = (JSON.parse(body) as { id: string }).id;
    },
    operation: (tenant) => tenant.call('GET', `/v1/executions/${followed}/events`),
  },
  {
    name: 'schedules',
    inFlight: 0,
    begin: async (tenant) => {
      const body = JSON.stringify({ every: 100, pipeline: 'hostile', overlap: 'allow' });
      await eachSchedule((id) => tenant.call('PUT', `/v1/schedules/${id}`, body));
    },
    end: removeSchedules,
  },
  {
    // Each fire has many labels to write, and late fires catch up.
    name: 'schedules with labels',
    inFlight: 0,
    begin: async (tenant) => {
      const numbers = Array.from({ length: LABELS }, (_, nth) => nth);
      const attributes = Object.fromEntries(numbers.map((nth) => [`a${nth}`, 'x'.repeat(20)]));
      const options = { attributes, tags: numbers.map((nth) => `t${nth}`) };
      const often = { every: 100, pipeline: 'hostile', overlap: 'allow', catchUp: 'all' };
      const body = JSON.stringify({ ...often, options });
      await eachSchedule((id) => tenant.call('PUT', `/v1/schedules/${id}`, body));
    },
    end: removeSchedules,
  },
  {
    name: 'large values',
    inFlight: 8,
    operation(tenant) {
      const bytes = randomBytes(VALUE_BYTES);
      return tenant.call('PUT', `/v1/work/blobs/${digestOf(bytes)}`, bytes);
    },
  },
  reading('lists', '/v1/executions?limit=1000'),
  {
    name: 'big pages',
    inFlight: 16,
    begin: (tenant) => withHistory(tenant, 900, 15_000),
    operation: (tenant) => tenant.call('GET', `/v1/executions/${followed}/history?limit=1000`),
  },
  {
    name: 'big submits',
    inFlight: 16,
    operation: (tenant) => tenant.call('POST', '/v1/executions', LARGE_SUBMIT),
  },
  {
    name: 'long streams',
    inFlight: 64,
    begin: (tenant) => withHistory(tenant, 20_000, 50),
    operation: (tenant) => tenant.call('GET', `/v1/executions/${followed}/events`),
  },
  {
    name: '2,000 polls',
    inFlight: 2_000,
    begin: (tenant) => withHistory(tenant, 10, 50),
    operation: (tenant) => tenant.call('GET', `/v1/executions/${followed}/events`),
  },
  {
    name: 'waits for values',
    inFlight: 2_000,
    begin: (tenant) => withHistory(tenant, 1, 10),
    operation: (tenant) =>
      tenant.call('GET', `/v1/executions/${followed}/published/none?waitMs=60000`),
  },
  {
    name: 'explanations',
    inFlight: 16,
    begin: (tenant) => withHistory(tenant, 60, 1_000_000),
    operation: (tenant) => tenant.call('GET', `/v1/executions/${followed}/explain`),
  },
  {
    name: 'forbidden requests',
    inFlight: 256,
    operation: ({ weak }) => weak.call('GET', '/v1/work'),
  },
  {
    name: 'malformed gRPC',
    inFlight: 0,
    begin: (tenant) => floodGrpc(tenant, 'nothing', {}),
    end: cancelGrpc,
  },
  {
    name: 'gRPC heartbeats',
    inFlight: 0,
    async begin(tenant) {
      const id = await openSession(tenant, 600_000);
      await floodGrpc(tenant, 'heartbeat', { id, owner: 'hostile' });
    },
    end: cancelGrpc,
  },
  {
    name: 'gRPC values',
    inFlight: 0,
    async begin(tenant) {
      await putLarge(tenant);
      await floodGrpc(tenant, 'getBlob', { digest: digestOf(large) });
    },
    end: cancelGrpc,
  },
  {
    name: 'blob puts',
    inFlight: 16,
    begin: putLarge,
    operation: (tenant) => tenant.call('PUT', `/v1/work/blobs/${digestOf(large)}`, large),
  },
  {
    name: 'blob gets',
    inFlight: 16,
    begin: putLarge,
    operation: (tenant) => tenant.call('GET', `/v1/work/blobs/${digestOf(large)}`),
  },
  reading('dead-letter groups', '/v1/dead-letters/groups', failMany),
  { name: 'bulk jobs', inFlight: 0, begin: cancelMany, end: cancelAll },
  {
    name: 'many names',
    inFlight: 8,
    operation: (tenant) => tenant.call('POST', '/v1/executions', MANY_NAMES_SUBMIT),
  },
  {
    name: 'large results',
    inFlight: 16,
    begin: (tenant) => withResult(tenant, MANY_NAMES),
    operation: (tenant) => tenant.call('GET', `/v1/executions/${followed}/result`),
  },
  { name: 'late bodies', inFlight: 1, operation: sendLate },
  reading('queue depth', '/v1/depth', submitPipelines),
  {
    name: 'stream messages',
    inFlight: 0,
    begin: (tenant) => floodStreams(tenant, 'nothing', {}),
    end: closeStreams,
  },
  {
    name: 'stream submits',
    inFlight: 0,
    begin: (tenant) => floodStreams(tenant, 'submitExecution', { pipeline: 'hostile' }),
    end: closeStreams,
  },
  {
    name: 'stream heartbeats',
    inFlight: 0,
    async begin(tenant) {
      const id = await openSession(tenant, 600_000);
      await floodStreams(tenant, 'heartbeat', { id, owner: 'hostile' });
    },
    end: closeStreams,
  },
  {
    name: 'stream values',
    inFlight: 0,
    async begin(tenant) {
      await putLarge(tenant);
      await floodStreams(tenant, 'getBlob', { digest: digestOf(large) });
    },
    end: closeStreams,
  },
  {
    name: 'stream leases',
    inFlight: 0,
    async begin(tenant) {
      const session = await openSession(tenant, 600_000);
      const body = { key: 'k', session, attempt: randomUUID() };
      await floodStreams(tenant, 'acquireLease', body);
    },
    end: closeStreams,
  },
  {
    name: 'lease terms',
    inFlight: 32,
    begin: openSessions,
    async operation(tenant, nth) {
      const tenure = { key: `k${nth % LEASE_KEYS}`, session: someSession(nth) };
      const body = JSON.stringify({ ...tenure, attempt: randomUUID() });
      const granted = await tenant.call('POST', '/v1/work/leases/acquire', body);
      const { fence } = JSON.parse(granted.body) as { fence?: number };
      if (fence === undefined) return;
      const release = JSON.stringify({ ...tenure, fence, exit: 'finished' });
      await tenant.call('POST', '/v1/work/leases/release', release);
    },
  },
  {
    name: 'lease checkpoints',
    inFlight: 16,
    async begin(tenant) {
      const session = await openSession(tenant, 600_000);
      checkpoints = await Promise.all(
        Array.from({ length: 16 }, async (_, nth) => {
          const tenure = { key: `c${nth}-${session}`, session };
          const body = JSON.stringify({ ...tenure, attempt: randomUUID() });
          const granted = await tenant.call('POST', '/v1/work/leases/acquire', body);
          const { fence } = JSON.parse(granted.body) as { fence: number };
          return { ...tenure, fence, seq: 0 };
        }),
      );
    },
    operation(tenant, nth) {
      const term = checkpoints[nth % checkpoints.length];
      if (term === undefined) throw new Error('there is no term');
      term.seq += 1;
      const bytes = randomBytes(CHECKPOINT_BYTES);
      const content = { bytes: bytes.toString('base64'), digest: digestOf(bytes) };
      const body = JSON.stringify({ ...term, ...content });
      return tenant.call('POST', '/v1/work/leases/checkpoint', body);
    },
  },
  {
    name: 'lease hints',
    inFlight: 1_000,
    operation: (tenant) => tenant.call('GET', '/v1/work/leases/hints?waitMs=20000'),
  },
  reading('lease events', '/v1/work/leases/events?after=0', openSessions),
  reading('lease lists', '/v1/work/leases', acquireMany),
  reading('sessions', '/v1/work/sessions', openSessions),
  {
    name: 'idle streams',
    inFlight: 8,
    begin: async (tenant) => {
      webSockets = openSockets(tenant, IDLE_STREAMS);
    },
    // Each write wakes what waits in its project.
    operation: submit,
    end: closeStreams,
  },
  reading('overviews', '/v1/overview', submitPipelines),
  {
    name: 'announcements',
    inFlight: 16,
    begin: openSessions,
    operation: (tenant, nth) => announce(tenant, someSession(nth), nth),
  },
  reading('workers with many names', '/v1/workers', announceMany),
  {
    // Each name is compared with those that workers announced.
    name: 'unknown pipelines',
    inFlight: 16,
    begin: announceMany,
    operation: (tenant, nth) => {
      const pipeline = `${nth}-`.padEnd(60, 'abcdefgh');
      return tenant.call('POST', '/v1/executions', JSON.stringify({ pipeline }));
    },
  },
  {
    name: 'trends',
    inFlight: 16,
    begin: endPipelines,
    // Equal requests share one read.
    operation: (tenant, nth) =>
      tenant.call('GET', `/v1/trends?rangeMs=${3_600_000 + (nth % 10_000)}`),
  },
  reading('filtered lists', '/v1/executions?status=failed&tag=t', submitListed),
  reading('lists by key prefix', '/v1/executions?keyPrefix=k&limit=1', submitListed),
  reading('counts', '/v1/executions/count?tag=t', submitListed),
  {
    name: 'counts by ten attributes',
    inFlight: 64,
    begin: submitListed,
    operation: (tenant) => tenant.call('GET', `/v1/executions/count?tag=t&${TEN_RANGES}`),
  },
  reading('ranges of an attribute', '/v1/executions?attribute=n&min=0&limit=1', submitListed),
  reading('audit', '/v1/audit?actor=unknown&action=cancel', submitListed),
  reading('lists of pipelines', '/v1/executions?limit=1', submitPipelines),
  { name: 'push calls', inFlight: 0, needs: 'push', begin: callMe, end: cancelAll },
  {
    name: 'queued messages',
    inFlight: 32,
    needs: 'queue',
    begin: openQueue,
    operation: () => sendQueued(),
    end: purgeQueue,
  },
  {
    name: 'archived executions',
    inFlight: 0,
    needs: 'archive',
    begin: endMany,
    end: untilArchived,
  },
];
