// The worst requests that a tenant may send: every route and every message of the worker protocol,
// against a project of the largest size.

import { createHash } from 'node:crypto';
import type { TSchema } from 'typebox';
import { ROLES } from '../../../src/features/access/model.ts';
import { Holdfast, interactionId } from '../../../src/index.ts';
import {
  WORK_KINDS,
  type WorkKind,
  workMessage,
} from '../../../src/protocol/messages/work-messages.ts';
import type { Route } from '../../../src/protocol/rest/route.ts';
import { ROUTES } from '../../../src/protocol/rest/routes.ts';
import { isFullRun } from '../../services/tier.ts';
import type { TestCoordinator } from '../coordinator.ts';
import { RawWorker } from '../raw-worker.ts';
import { largestOf, SHAPES } from './largest.ts';

export interface Request {
  /** The name of the route. */
  readonly name: string;
  /** The large part of it. */
  readonly shape: Shape;
  readonly method: string;
  readonly path: string;
  /** Created when it is sent, since it is large. */
  readonly body?: () => string | Uint8Array<ArrayBuffer>;
  /** The response never ends, so the test drops it after its first bytes. */
  readonly isStream?: boolean;
}

/** `name`: an unknown name, as long as the body may be. */
type Shape = 'query' | 'empty' | 'name' | 'own' | 'bytes' | (typeof SHAPES)[number];

const MIB = 1024 * 1024;
/** A quarter of the largest bodies, to save time; in a sampled run less. */
const VALUES_MAX = isFullRun() ? 8 * MIB : MIB;
/** A sampled run plants just more than one page holds. */
const PLANTED = isFullRun()
  ? { events: 30, batches: 4, values: 10 }
  : { events: 18, batches: 1, values: 4 };
const PROJECT = 'default';

export interface Rich {
  readonly key: string;
  readonly execution: string;
  readonly interaction: string;
  readonly session: string;
  readonly digest: string;
  readonly fence: number;
  readonly seq: number;
}

/** An execution with a long history, many questions, children and messages; large templates and schedules. */
export async function plantRich(coordinator: TestCoordinator): Promise<Rich> {
  const { store } = coordinator;
  const key = await coordinator.key(ROLES, PROJECT);
  const worker = new RawWorker(coordinator.url, key, PROJECT);
  const opening = { id: worker.session, owner: 'rich', ttlMs: 600_000, graceMs: 1_000 };
  await worker.call('POST', '/v1/work/sessions', opening);
  const own = await worker.running('rich');
  let { seq } = own;
  const write = async (what: object): Promise<void> => {
    const { json } = await worker.write({ ...own, seq }, what);
    if (json.results?.[0].kind !== 'recorded') throw new Error(JSON.stringify(json).slice(0, 500));
    seq += (what as { readonly events: readonly object[] }).events.length;
  };
  const body = JSON.stringify({ key: 'step:s#1', out: { v: 'y'.repeat(1_000_000) } });
  const expected = [{ kind: 'step-completed', name: 's', body: '{"key":"step:s#1"}' }];
  for (let nth = 0; nth < PLANTED.events; nth += 1) {
    await write({ events: [{ kind: 'step-completed', name: 's', body }] });
  }
  const bytes = Buffer.from(JSON.stringify('z'.repeat(5_000_000)));
  const digest = createHash('sha256').update(bytes).digest('hex');
  await store.executions.putBlob({ project: PROJECT as never, digest, bytes });
  const request = JSON.stringify({ ref: digest, size: 1 });
  const items = Array.from({ length: 1_000 }, (_, item) => ({
    id: interactionId({ execution: own.id, name: 'a', item }),
    request,
  }));
  const asking = { call: 'await:a#1', name: 'a', needed: 1, signed: false, checked: false };
  await write({ events: expected, awaits: [{ ...asking, reminders: [], items }] });
  const input = JSON.stringify({ v: 'i'.repeat(120_000) });
  for (let nth = 0; nth < PLANTED.batches; nth += 1) {
    const children = Array.from({ length: 200 }, () => worker.submission({ input, pipeline: 'c' }));
    await write({ events: expected, children });
  }
  const holdfast = new Holdfast({ store });
  const large = 'w'.repeat(5_000_000);
  for (let nth = 0; nth < PLANTED.values; nth += 1) {
    await holdfast.templates.put({ id: 't', version: nth + 1, pipeline: 'rich', defaults: large });
    const put = { id: `s${nth}`, every: 86_400_000, pipeline: 'rich' };
    await holdfast.schedules.put({ ...put, input: large });
    await holdfast.signal(own.id, { name: 'm', value: large });
  }
  await holdfast.close();
  const { session } = worker;
  const { fence } = own;
  return { key, execution: own.id, interaction: items[0]?.id ?? '', session, digest, fence, seq };
}

const ROWS_MAX = 20_000;

/**
 * The most events in one write. The store port is not called for those of `largestOf`, which are
 * refused earlier.
 */
function ownWrite({ execution: id, fence, session, seq }: Rich, chars: number): object {
  const event = { kind: 'step-completed', name: 's', body: '{"key":"step:s#1","out":{"v":1}}' };
  const count = Math.min(ROWS_MAX, Math.floor(chars / (JSON.stringify(event).length + 1)) - 10);
  const events = Array.from({ length: count }, () => event);
  return { writes: [{ verb: 'record', id, fence, session, seq, events }] };
}

type Schema = TSchema & {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly maximum?: number;
};

/** For every route. */
export function requestsFor(rich: Rich): readonly Request[] {
  // Reads first, since the other requests make it smaller.
  const inOrder = [
    ...ROUTES.filter(({ method }) => method === 'GET'),
    ...ROUTES.filter(({ method }) => method !== 'GET'),
  ];
  return inOrder.flatMap((route) => requestsOf(route, rich));
}

function requestsOf(route: Route, rich: Rich): readonly Request[] {
  const { name, method, query, body } = route;
  const isStream = name.startsWith('stream');
  const about = { name, method, path: `${pathOf(route, rich)}${queryOf(query as Schema)}` };
  if (method === 'GET') return [{ ...about, shape: 'query', ...(isStream && { isStream }) }];
  if (route.takesBytes === true) {
    return [{ ...about, shape: 'bytes', body: () => new Uint8Array(bodyCharsOf(route)) }];
  }
  const chars = bodyCharsOf(route);
  const shapes = body === undefined ? [] : SHAPES;
  const known = knownIn(rich);
  const own = (): string => JSON.stringify(ownWrite(rich, chars));
  return [
    ...(name === 'writeAsOwner' ? [{ ...about, shape: 'own' as const, body: own }] : []),
    { ...about, shape: 'name', body: () => JSON.stringify({ ['n'.repeat(chars)]: 1 }) },
    { ...about, shape: 'empty', body: () => '{}' },
    ...shapes.map((of) => {
      const largest = { of, chars, known };
      return {
        ...about,
        shape: of,
        body: () => JSON.stringify(largestOf(body as TSchema, largest)),
      };
    }),
  ];
}

function bodyCharsOf({ allows, takesValues, takesBytes }: Route): number {
  if (allows === 'public') return MIB / 16 - 1_000;
  return takesValues === true || takesBytes === true ? VALUES_MAX : MIB - 1_000;
}

export function knownIn(rich: Rich): Readonly<Record<string, string | number>> {
  const { session, execution, fence, seq, digest } = rich;
  return { session, id: execution, fence, seq: seq + 1, digest, project: PROJECT };
}

function pathOf({ path, name }: Route, rich: Rich): string {
  const { execution, interaction, session, digest } = rich;
  return path.replaceAll(/:(\w+)/g, (_, param: string) => {
    if (param === 'digest') return digest;
    if (param === 'version') return '1';
    if (param !== 'id') return param === 'project' ? PROJECT : 'rich';
    if (path.includes('/awaits/')) return interaction;
    if (path.includes('/sessions/')) return session;
    if (path.includes('/templates/')) return 't';
    if (path.includes('/schedules/')) return 's0';
    return name.includes('Key') ? 'a'.repeat(16) : execution;
  });
}

/** The largest page, without waiting. */
function queryOf(schema: Schema | undefined): string {
  const { limit, waitMs } = schema?.properties ?? {};
  if (waitMs !== undefined) return '?waitMs=1';
  return limit?.maximum === undefined ? '' : `?limit=${limit.maximum}`;
}

export interface Message {
  readonly kind: WorkKind;
  readonly body: () => object;
  readonly bytes?: Uint8Array;
}

/**
 * For every message of a worker, in envelopes, as gRPC, queues, streams and endpoints carry them.
 * `charsMax`: the most characters of one message.
 */
export function messagesFor(rich: Rich, charsMax: number = VALUES_MAX): readonly Message[] {
  const { execution: id, interaction, session, digest } = rich;
  const shares = [{ lane: 'interactive', limit: 1_000 }];
  const reads: Readonly<Partial<Record<WorkKind, object>>> = {
    waitForWakeup: { waitMs: 1 },
    waitForLeaseHint: { waitMs: 1 },
    listCarriedLeases: { id: session },
    inspectSession: { id: session },
    listProjectSessions: { limit: 500, all: true },
    listProjectLeases: { limit: 500 },
    readLeaseEvents: { after: 0, limit: 500 },
    claimExecutions: { session, pipelines: ['c'], shares },
    listClaims: { id: session },
    readInbox: { id, limit: 10_000 },
    readStoredHistory: { id, limit: 10_000 },
    readStoredExecution: { id },
    readStoredAwait: { id: interaction },
    expireAwaits: { id },
    getBlob: { digest },
    writeAsOwner: ownWrite(rich, charsMax),
  };
  const known = knownIn(rich);
  return WORK_KINDS.flatMap((kind): readonly Message[] => {
    const { body, bytes } = workMessage(kind);
    const chars = Math.min(charsMax, kind === 'writeAsOwner' ? VALUES_MAX : MIB);
    // In JSON, bytes take a third more characters.
    const length = Math.min(VALUES_MAX, charsMax / 2);
    if (bytes === 'sent')
      return [{ kind, body: () => ({ digest }), bytes: new Uint8Array(length) }];
    const read = reads[kind];
    const isOfSession = kind === 'heartbeat' || /Session$|^listCarried/.test(kind);
    const ids = { ...known, ...(isOfSession && { id: session }) };
    return [
      ...(read === undefined ? [] : [{ kind, body: () => read }]),
      { kind, body: () => ({ ['n'.repeat(chars)]: 1 }) },
      ...SHAPES.map((of) => ({
        kind,
        body: () => largestOf(body, { of, chars, known: ids }) as object,
      })),
    ];
  });
}

/**
 * Reads the whole response, or the first bytes of a stream. Returns the number of bytes it sent.
 */
export async function send(url: string, key: string, request: Request): Promise<number> {
  const { method, path, isStream = false } = request;
  const body = request.body?.();
  const type = typeof body === 'string' ? 'application/json' : 'application/octet-stream';
  const headers = { authorization: `Bearer ${key}`, 'content-type': type };
  const init = { method, headers, ...(body === undefined ? {} : { body }) };
  const response = await fetch(`${url}${path}`, init);
  const reader = isStream ? response.body?.getReader() : undefined;
  await (reader === undefined ? response.arrayBuffer() : reader.read());
  await reader?.cancel();
  return body?.length ?? 0;
}
