// The worst requests that a tenant may send: every route and every message of the worker protocol,
// against a project of the largest size.

import { createHash, randomUUID } from 'node:crypto';
import type { TSchema } from 'typebox';
import type { ProjectName } from '../../../src/execution/names.ts';
import { QUOTAS, ROLES } from '../../../src/features/access/model.ts';
import { storedKeyOf } from '../../../src/features/leases/model.ts';
import { contractOf } from '../../../src/features/releases/contract-api.ts';
import { Holdfast, interactionId, pipeline } from '../../../src/index.ts';
import { type AttemptId, parseEffectId, type SessionId } from '../../../src/lease/names.ts';
import {
  WORK_KINDS,
  type WorkKind,
  workMessage,
} from '../../../src/protocol/messages/work-messages.ts';
import type { Route } from '../../../src/protocol/rest/route.ts';
import { ROUTES } from '../../../src/protocol/rest/routes.ts';
import { digestOf } from '../../../src/support/digest.ts';
import { isFullRun } from '../../services/tier.ts';
import type { TestCoordinator } from '../coordinator.ts';
import { RawWorker } from '../raw-worker.ts';
import { type History, must, plantHistory } from './history.ts';
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
  /** A question whose schema a worker checks. */
  readonly form: string;
  readonly session: string;
  /** Carries many leases. It is the last of a deep chain of sessions with much metadata. */
  readonly holder: string;
  readonly digest: string;
  readonly fence: number;
  readonly seq: number;
  readonly history: History;
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
  const form = interactionId({ execution: own.id, name: 'form' });
  const opened = { key: 'await:form#1', answerSchema: { type: 'string' } };
  await write({
    events: [{ kind: 'await-opened', name: 'form', body: JSON.stringify(opened) }],
    awaits: [
      {
        ...{ ...asking, call: opened.key, name: 'form', checked: true },
        ...{ reminders: [], items: [{ id: form }] },
      },
    ],
  });
  const published = `{"out":{"v":[${'1,'.repeat(60_000)}1]}}`;
  const attached = { 'holdfast.published/rich': published, rich: 'a'.repeat(5_000_000) };
  for (const [name, text] of Object.entries(attached)) {
    const type = 'application/octet-stream';
    const file = { name, type, bytes: Buffer.from(text).toString('base64') };
    await write({ events: expected, attachments: [file] });
  }
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
  const history = await plantHistory(worker, store);
  await plantReleases(worker);
  await plantViews(worker);
  const { session } = worker;
  const { fence } = own;
  const holder = await plantLeases(coordinator, worker);
  const interaction = items[0]?.id ?? '';
  return {
    key,
    execution: own.id,
    interaction,
    form,
    session,
    holder,
    digest,
    fence,
    seq,
    history,
  };
}

/** Almost the largest contract, in two releases that differ in each property. */
const CONTRACT_PROPERTIES = 2_000;
const RELEASES = 20;

async function plantReleases(worker: RawWorker): Promise<void> {
  const contract = contractOf(pipeline({ name: 'rich', run: () => 1 }) as never);
  for (let nth = 0; nth <= RELEASES; nth += 1) {
    const schema = { type: nth % 2 === 0 ? 'string' : 'number' };
    const names = Array.from({ length: CONTRACT_PROPERTIES }, (_, each) => [`n${each}`, schema]);
    const input = { type: 'object', properties: Object.fromEntries(names) };
    const name = nth === RELEASES ? 'rich' : `r${nth}`;
    await must(worker, 'POST /v1/pipelines/rich/releases', {
      ...{ name, artifact: 'image', digest: `sha256:${nth}`, contract: { ...contract, input } },
    });
  }
  // The release before the one that the requests name differs from it.
  const change = { action: 'activate', name: `r${RELEASES - 1}`, reason: 'first' };
  await must(worker, 'POST /v1/pipelines/rich/rollout', change);
}

/** As many as a project can have. */
async function plantViews(worker: RawWorker): Promise<void> {
  const query = `pipeline=${'p'.repeat(2_000)}`;
  for (let nth = 0; nth < QUOTAS.views.default; nth += 1) {
    await must(worker, `PUT /v1/views/v${nth}`, { name: 'large', page: 'executions', query });
  }
}

/** One page of leases, and just below the limits of a session. */
const LEASES = { count: 500, depth: 8, names: 60, chars: 1_000, intents: 64, bytes: 256 * 1024 };
/** The lease with the largest record. */
const LEASE_KEY = 'k0';

/** Returns the session that carries the leases. */
async function plantLeases(
  { store: { leases, policy } }: TestCoordinator,
  worker: RawWorker,
): Promise<string> {
  const texts = Array.from({ length: LEASES.names }, (_, nth) => [
    `n${nth}`,
    'm'.repeat(LEASES.chars),
  ]);
  const metadata = Object.fromEntries(texts);
  let parent: string | undefined;
  for (let depth = 0; depth < Math.min(LEASES.depth, policy.sessionDepthMax); depth += 1) {
    const id = randomUUID();
    const opening = { id, owner: 'holder', ttlMs: 600_000, graceMs: 1_000, metadata };
    const body = { ...opening, ...(parent === undefined ? {} : { parent }) };
    const { status } = await worker.call('POST', '/v1/work/sessions', body);
    if (status !== 200) throw new Error(`A session was refused with ${status}.`);
    parent = id;
  }
  const session = parent as SessionId;
  const acquired = await Promise.all(
    Array.from({ length: LEASES.count }, (_, nth) => {
      const key = storedKeyOf(PROJECT as ProjectName, `k${nth}`);
      return leases.acquire({ key, session, attempt: randomUUID() as AttemptId });
    }),
  );
  const [first] = acquired;
  if (first?.kind !== 'granted') throw new Error(JSON.stringify(first));
  const tenure = {
    key: storedKeyOf(PROJECT as ProjectName, LEASE_KEY),
    fence: first.fence,
    session,
  };
  const bytes = new Uint8Array(LEASES.bytes);
  for (const seq of [1, 2]) {
    await leases.checkpoint({ ...tenure, seq, bytes, digest: digestOf(bytes) });
  }
  for (let nth = 0; nth < LEASES.intents; nth += 1) {
    const effect = parseEffectId(`effect-${nth}`);
    await leases.beginIntent({ ...tenure, effect, note: 'n'.repeat(2_000) });
  }
  return session;
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
  readonly required?: readonly string[];
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

function pathOf({ path, name, method }: Route, rich: Rich): string {
  const { execution, interaction, form, session, holder, digest, history } = rich;
  return path.replaceAll(/:(\w+)/g, (_, param: string) => {
    if (param === 'digest') return digest;
    if (param === 'version') return '1';
    if (param !== 'id') return param === 'project' ? PROJECT : 'rich';
    if (path.includes('/awaits/')) return method === 'GET' ? form : interaction;
    if (path.includes('/sessions/')) return method === 'GET' ? holder : session;
    if (path.includes('/templates/')) return 't';
    if (path.includes('/schedules/')) return 's0';
    if (path.includes('/channels/')) return 'c0';
    if (path.includes('/dead-letters/')) return history.letter;
    if (path.includes('/jobs/')) return history.job;
    if (path.includes('/archive/')) return history.archived;
    return name.includes('Key') ? 'a'.repeat(16) : execution;
  });
}

/** The largest page, without waiting. */
function queryOf(schema: Schema | undefined): string {
  const { limit, waitMs, key } = schema?.properties ?? {};
  if (waitMs !== undefined) return '?waitMs=1';
  if (schema?.required?.includes('after')) return `?after=0&limit=${limit?.maximum}`;
  if (key !== undefined && schema?.required?.includes('key')) {
    return `?key=${LEASE_KEY}${schema.required.includes('fence') ? '&fence=1' : ''}`;
  }
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
  const { execution: id, interaction, session, holder, digest } = rich;
  const shares = [{ lane: 'interactive', limit: 1_000 }];
  const reads: Readonly<Partial<Record<WorkKind, object>>> = {
    waitForWakeup: { waitMs: 1 },
    waitForLeaseHint: { waitMs: 1 },
    listCarriedLeases: { id: holder },
    inspectSession: { id: holder },
    inspectLease: { key: LEASE_KEY },
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
