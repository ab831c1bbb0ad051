// `holdfast/client`: the API of a coordinator, typed by the same schemas that check it. No dependency at run
// time but `fetch`.

import type { Static } from 'typebox';
import type {
  commandAnswer,
  ExecutionInFull,
  ExecutionMessage,
  explanation,
  HistoryMessage,
  ResultMessage,
  SubmitBody,
  submitted,
} from '../protocol/messages/execution.ts';
import type { Problem } from '../protocol/messages/problem.ts';
import type { RedriveBody } from '../protocol/messages/repair.ts';
import { Fault, StoreUnavailable } from '../support/fault.ts';
import { noAnswerText } from '../support/no-answer.ts';
import { headerText, optionalFunctions, readOptions, requireUrl } from '../support/options.ts';
import { Keys, Projects } from './admin.ts';
import { ArchiveCalls } from './archive.ts';
import { Awaits } from './awaits.ts';
import { type CallOptions, CallRefused, type Page } from './calls.ts';
import { readEvents, type ServerEvent } from './event-source.ts';
import { followed, type Seen, type WatchOptions } from './follow.ts';
import { Leases, Sessions } from './operations.ts';
import { Schedules, Templates } from './plans.ts';
import { Records } from './records.ts';
import { DeadLetters, Jobs } from './repair.ts';

export { type CallOptions, CallRefused, type Page } from './calls.ts';
export type { Seen, WatchOptions } from './follow.ts';

export interface ClientOptions {
  /** Of the coordinator, such as http://127.0.0.1:7433. */
  readonly url: string;
  readonly key?: string;
  /** For keys of all projects. */
  readonly project?: string;
  readonly fetch?: typeof fetch;
}

const WORD_BYTES_MAX = 256;

export class HoldfastClient {
  readonly executions: Executions;
  readonly awaits: Awaits;
  readonly deadLetters: DeadLetters;
  readonly jobs: Jobs;
  readonly records: Records;
  readonly archive: ArchiveCalls;
  readonly templates: Templates;
  readonly schedules: Schedules;
  readonly sessions: Sessions;
  readonly leases: Leases;
  readonly projects: Projects;
  readonly keys: Keys;
  readonly #options: ClientOptions;

  constructor(given: ClientOptions) {
    const options = readOptions('HoldfastClient', given, ['url', 'key', 'project', 'fetch']);
    const { url, key, project } = options;
    requireUrl('HoldfastClient', url);
    if (key !== undefined) headerText('HoldfastClient: key', key, WORD_BYTES_MAX);
    if (project !== undefined) headerText('HoldfastClient: project', project, WORD_BYTES_MAX);
    optionalFunctions('HoldfastClient', { fetch: options.fetch });
    this.#options = { ...options, url: url.replace(/\/+$/, '') };
    this.executions = new Executions(this);
    this.awaits = new Awaits(this);
    this.deadLetters = new DeadLetters(this);
    this.jobs = new Jobs(this);
    this.records = new Records(this);
    this.archive = new ArchiveCalls(this);
    this.templates = new Templates(this);
    this.schedules = new Schedules(this);
    this.sessions = new Sessions(this);
    this.leases = new Leases(this);
    this.projects = new Projects(this);
    this.keys = new Keys(this);
  }

  /** Says when lists may have changed: `changed`, or `reset` when it is not known what was missed. */
  hints(
    options: { readonly after?: string; readonly signal?: AbortSignal } = {},
  ): AsyncIterable<ServerEvent> {
    const { after, ...rest } = options;
    return readEvents(this, '/v1/events', { ...rest, query: { after } });
  }

  /** Any route of the API, for what has no method here. Throws CallRefused. */
  async call<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
    const response = await this.send(path, options);
    const body = await bodyOf(response);
    if (response.ok) return body as Answer;
    throw refusalOf(response, body);
  }

  /** As `call`, for what is answered with bytes. */
  async bytes(path: string, options: CallOptions = {}): Promise<Uint8Array> {
    const response = await this.send(path, options);
    if (response.ok) return new Uint8Array(await response.arrayBuffer());
    throw refusalOf(response, await bodyOf(response));
  }

  async send(path: string, options: CallOptions): Promise<Response> {
    const { url, key, project, fetch: send = fetch } = this.#options;
    const { method = 'GET', query, body, signal } = options;
    const asked = {
      method,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(project === undefined ? {} : { 'holdfast-project': project }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    };
    try {
      return await send(`${url}${path}${queryText(query)}`, asked);
    } catch (cause) {
      if (signal?.aborted === true || cause instanceof Fault) throw cause;
      throw new StoreUnavailable(noAnswerText(url, path, cause), { cause });
    }
  }
}

export interface ListFilter {
  readonly status?: readonly string[];
  readonly pipeline?: string;
  readonly tag?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

/** How long one request waits for a result before the next one does. */
const HELD_MS = 25_000;

export class Executions {
  readonly #client: HoldfastClient;

  constructor(client: HoldfastClient) {
    this.#client = client;
  }

  submit(body: SubmitBody): Promise<Static<typeof submitted>> {
    return this.#client.call('/v1/executions', { method: 'POST', body });
  }

  read(id: string): Promise<ExecutionInFull> {
    return this.#client.call(pathOf(id));
  }

  /** Newest first. */
  list(filter: ListFilter = {}): Promise<Page<ExecutionMessage>> {
    return this.#client.call('/v1/executions', { query: { ...filter } });
  }

  /** Waits until it has ended, whichever way. */
  async result(
    id: string,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ResultMessage> {
    for (;;) {
      const response = await this.#client.send(`${pathOf(id)}/result`, {
        ...options,
        query: { waitMs: HELD_MS },
      });
      const body = await bodyOf(response);
      if (response.status === 200) return body as ResultMessage;
      if (response.status !== 202) throw refusalOf(response, body);
    }
  }

  async history(
    id: string,
    page: { readonly after?: number; readonly limit?: number } = {},
  ): Promise<readonly HistoryMessage[]> {
    const query = { ...page };
    const { items } = await this.#client.call<Page<HistoryMessage>>(`${pathOf(id)}/history`, {
      query,
    });
    return items;
  }

  /** Its history as it happens, from `after` on, until its end. A connection that broke is made again. */
  async *watch(id: string, options: WatchOptions = {}): AsyncGenerator<HistoryMessage> {
    for await (const seen of this.#seen(id, { ...options, progress: false })) {
      if (seen.kind === 'event') yield seen.event;
    }
  }

  /** As `watch`, with its progress between the events. */
  live(id: string, options: WatchOptions = {}): AsyncGenerator<Seen> {
    return this.#seen(id, { ...options, progress: true });
  }

  #seen(
    id: string,
    { after = 0, progress, ...rest }: WatchOptions & { readonly progress: boolean },
  ): AsyncGenerator<Seen> {
    const query = progress ? { progress } : {};
    return followed(this.#client, { path: `${pathOf(id)}/events`, query, after, ...rest });
  }

  explain(id: string): Promise<Static<typeof explanation>> {
    return this.#client.call(`${pathOf(id)}/explain`);
  }

  cancel(id: string, reason?: string): Promise<Static<typeof commandAnswer>> {
    return this.#act(id, 'cancel', reason);
  }

  pause(id: string, reason?: string): Promise<Static<typeof commandAnswer>> {
    return this.#act(id, 'pause', reason);
  }

  resume(id: string, reason?: string): Promise<Static<typeof commandAnswer>> {
    return this.#act(id, 'resume', reason);
  }

  signal(id: string, name: string, value?: unknown): Promise<Static<typeof commandAnswer>> {
    const body = { name, ...(value === undefined ? {} : { value }) };
    return this.#client.call(`${pathOf(id)}/signals`, { method: 'POST', body });
  }

  /** A new execution that goes on where this one went wrong. */
  redrive(id: string, body: RedriveBody = {}): Promise<{ readonly id: string }> {
    return this.#client.call(`/v1/executions/${id}/redrive`, { method: 'POST', body });
  }

  skipCompensation(
    id: string,
    body: { readonly step: string; readonly reason: string },
  ): Promise<Static<typeof commandAnswer>> {
    return this.#client.call(`/v1/executions/${id}/skip-compensation`, { method: 'POST', body });
  }

  retryCompensation(
    id: string,
    body: { readonly step: string; readonly reason?: string },
  ): Promise<Static<typeof commandAnswer>> {
    return this.#client.call(`/v1/executions/${id}/retry-compensation`, { method: 'POST', body });
  }

  #act(id: string, verb: string, reason?: string): Promise<Static<typeof commandAnswer>> {
    const body = reason === undefined ? {} : { reason };
    return this.#client.call(`${pathOf(id)}/${verb}`, { method: 'POST', body });
  }
}

function pathOf(id: string): string {
  return `/v1/executions/${encodeURIComponent(id)}`;
}

async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notOurs(response, cause);
  }
}

function refusalOf(response: Response, body: unknown): Fault {
  const isProblem = typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
  return isProblem ? new CallRefused(body as Problem) : notOurs(response);
}

/** Something between us and the coordinator answered, or something else than one. */
function notOurs({ status, url }: Response, cause?: unknown): Fault {
  return new Fault(
    'no-coordinator',
    `${new URL(url).origin} answered with status ${status} and nothing that a coordinator says. Is it one, and is there a proxy before it?`,
    cause === undefined ? {} : { cause },
  );
}

function queryText(query: CallOptions['query']): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const values = typeof value === 'object' ? value : [value];
    return values.map((each): [string, string] => [name, String(each)]);
  });
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}
