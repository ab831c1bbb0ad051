// `holdfast/client`: the API of a coordinator, typed by the same schemas that check it. No dependency at run
// time but `fetch`.

import { Keys, Projects } from '../features/access/client.ts';
import { Records } from '../features/audit/client.ts';
import { Awaits } from '../features/awaits/client.ts';
import { Releases } from '../features/releases/client.ts';
import { DeadLetters, Jobs } from '../features/repair/client.ts';
import { ArchiveCalls } from '../features/retention/client.ts';
import { Schedules } from '../features/schedules/client.ts';
import { Templates } from '../features/templates/client.ts';
import { Fault, StoreUnavailable } from '../support/fault.ts';
import { noAnswerText } from '../support/no-answer.ts';
import { headerText, optionalFunctions, readOptions, requireUrl } from '../support/options.ts';
import type { CallOptions } from './calls.ts';
import { bodyOf, refusalOf } from './calls.ts';
import { readEvents, type ServerEvent } from './event-source.ts';
import { Executions } from './executions.ts';
import { Leases, Sessions } from './operations.ts';

export { type CallOptions, CallRefused, type Page } from './calls.ts';
export { Executions, type ListFilter } from './executions.ts';
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
  /** Builds of pipelines, and where new executions go. */
  readonly releases: Releases;
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
    this.releases = new Releases(this);
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

function queryText(query: CallOptions['query']): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const values = typeof value === 'object' ? value : [value];
    return values.map((each): [string, string] => [name, String(each)]);
  });
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}
