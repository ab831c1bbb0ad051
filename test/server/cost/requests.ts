// The worst requests that a tenant may send: every route and every message of the worker protocol, against a project
// that is as large as one may make it.

import { createHash } from 'node:crypto';
import type { TSchema } from 'typebox';
import { Holdfast, interactionId } from '../../../src/index.ts';
import { WORK_KINDS, workMessage } from '../../../src/protocol/messages/work-messages.ts';
import type { Route } from '../../../src/protocol/rest/route.ts';
import { ROUTES } from '../../../src/protocol/rest/routes.ts';
import type { TestCoordinator } from '../coordinator.ts';
import { RawWorker } from '../raw-worker.ts';

export interface Request {
  /** The name of the route, or of the message. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

const MIB = 1024 * 1024;
const PROJECT = 'default';

export interface Rich {
  readonly key: string;
  readonly execution: string;
  readonly interaction: string;
  readonly session: string;
  readonly digest: string;
}

/** An execution with a long history, many questions, children and messages; large templates and schedules. */
export async function plantRich(coordinator: TestCoordinator): Promise<Rich> {
  const { store } = coordinator;
  const key = await coordinator.key(['admin', 'operate', 'submit', 'work'], PROJECT);
  const worker = new RawWorker(coordinator.url, key, PROJECT);
  const opening = { id: worker.session, owner: 'rich', ttlMs: 600_000, graceMs: 1_000 };
  await worker.call('POST', '/v1/work/sessions', opening);
  const own = await worker.running('rich');
  let { seq } = own;
  const write = async (what: object): Promise<void> => {
    const { json } = await worker.write({ ...own, seq }, what);
    if (json.answers?.[0].kind !== 'recorded') throw new Error(JSON.stringify(json).slice(0, 500));
    seq += (what as { readonly events: readonly object[] }).events.length;
  };
  const body = JSON.stringify({ out: { v: 'y'.repeat(1_000_000) } });
  const says = [{ kind: 'step-completed', name: 's', body: '{}' }];
  for (let nth = 0; nth < 30; nth += 1) {
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
  await write({ events: says, awaits: [{ ...asking, reminders: [], items }] });
  const input = JSON.stringify({ v: 'i'.repeat(120_000) });
  for (let nth = 0; nth < 4; nth += 1) {
    const children = Array.from({ length: 200 }, () => worker.submission({ input, pipeline: 'c' }));
    await write({ events: says, children });
  }
  const holdfast = new Holdfast({ store });
  const large = 'w'.repeat(5_000_000);
  for (let nth = 0; nth < 10; nth += 1) {
    await holdfast.templates.put({ id: 't', version: nth + 1, pipeline: 'rich', defaults: large });
    const put = { id: `s${nth}`, every: 86_400_000, pipeline: 'rich' };
    await holdfast.schedules.put({ ...put, input: large });
    await holdfast.signal(own.id, { name: 'm', value: large });
  }
  await holdfast.close();
  const { session } = worker;
  return { key, execution: own.id, interaction: items[0]?.id ?? '', session, digest };
}

type Shape = TSchema & {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly maximum?: number;
};

/** A name that nobody knows, as long as the body may be, and as much of the query as there is. */
export function requestsFor(rich: Rich): readonly Request[] {
  const all = ROUTES.filter(({ isLong }) => isLong !== true);
  // Reads first: what others do to it makes it smaller.
  const inOrder = [
    ...all.filter(({ method }) => method === 'GET'),
    ...all.filter(({ method }) => method !== 'GET'),
  ];
  return inOrder.flatMap((route) => requestsOf(route, rich));
}

function requestsOf(route: Route, rich: Rich): readonly Request[] {
  const { name, method } = route;
  const path = `${pathOf(route, rich)}${queryOf(route.query as Shape | undefined)}`;
  if (method === 'GET') return [{ name, method, path }];
  const isLarge = route.takesValues === true;
  const length = route.allows === 'public' ? MIB / 16 : isLarge ? 8 * MIB : MIB;
  const long = JSON.stringify({ ['n'.repeat(length - 100)]: 1 });
  return [
    { name, method, path, body: long },
    { name, method, path, body: '{}' },
  ];
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

function queryOf(schema: Shape | undefined): string {
  const limit = schema?.properties?.['limit']?.maximum;
  return limit === undefined ? '' : `?limit=${limit}`;
}

/** Of a worker, in envelopes: as gRPC, queues and endpoints carry them. */
export function envelopesFor(
  rich: Rich,
): readonly { readonly kind: string; readonly body: object }[] {
  const { execution: id, interaction, session, digest } = rich;
  const shares = [{ lane: 'interactive', limit: 1_000 }];
  const of: Readonly<Record<string, object>> = {
    claimExecutions: { session, pipelines: ['c'], shares },
    listClaims: { id: session },
    readInbox: { id, limit: 10_000 },
    readStoredHistory: { id, limit: 10_000 },
    readStoredExecution: { id },
    readStoredAwait: { id: interaction },
    expireAwaits: { id },
    getBlob: { digest },
  };
  const long = { ['n'.repeat(8 * MIB)]: 1 };
  return WORK_KINDS.filter((kind) => workMessage(kind).isLong !== true).flatMap((kind) => [
    { kind, body: of[kind] ?? {} },
    { kind, body: long },
  ]);
}
