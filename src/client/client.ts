// `holdfast/client`: the API of a coordinator, typed by the schemas that check it. At run time it
// depends only on `fetch`.

import { keysClient, projectsClient } from '../features/access/client.ts';
import { recordsOf } from '../features/audit/client.ts';
import { awaitsClient } from '../features/awaits/client.ts';
import { releasesClient } from '../features/releases/client.ts';
import { deadLettersClient, jobsClient } from '../features/repair/client.ts';
import { archiveOf } from '../features/retention/client.ts';
import { schedulesClient } from '../features/schedules/client.ts';
import { templatesClient } from '../features/templates/client.ts';
import { requestTo } from '../protocol/messages/request.ts';
import { Fault, StoreUnavailable } from '../support/fault.ts';
import { noReplyText } from '../support/no-reply.ts';
import { headerText, optionalFunctions, readOptions, requireUrl } from '../support/options.ts';
import { bodyOf, type CallOptions, refusalOf } from './calls.ts';
import { Executions } from './executions.ts';
import { eventsOf, type ServerEvent } from './follow.ts';
import { leasesOf, sessionsOf } from './sessions.ts';

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
  readonly executions: Executions = new Executions(this);
  readonly awaits = awaitsClient(this);
  readonly deadLetters = deadLettersClient(this);
  readonly jobs = jobsClient(this);
  readonly records = recordsOf(this);
  readonly archive = archiveOf(this);
  readonly templates = templatesClient(this);
  readonly schedules = schedulesClient(this);
  /** Builds of pipelines, and where new executions go. */
  readonly releases = releasesClient(this);
  readonly sessions = sessionsOf(this);
  readonly leases = leasesOf(this);
  readonly projects = projectsClient(this);
  readonly keys = keysClient(this);
  readonly #options: ClientOptions;

  constructor(given: ClientOptions) {
    const options = readOptions('HoldfastClient', given, ['url', 'key', 'project', 'fetch']);
    const { url, key, project } = options;
    requireUrl('HoldfastClient', url);
    if (key !== undefined) headerText('HoldfastClient: key', key, WORD_BYTES_MAX);
    if (project !== undefined) headerText('HoldfastClient: project', project, WORD_BYTES_MAX);
    optionalFunctions('HoldfastClient', { fetch: options.fetch });
    this.#options = { ...options, url: url.replace(/\/+$/, '') };
  }

  /** Says when lists may have changed: `changed`, or `reset` when it is not known what was missed. */
  hints(
    options: { readonly after?: string; readonly signal?: AbortSignal } = {},
  ): AsyncIterable<ServerEvent> {
    const { after, ...rest } = options;
    return eventsOf(this, requestTo('GET /v1/events').path, { ...rest, query: { after } });
  }

  /** Any route of the API, for what has no method here. Throws CallRefused. */
  async call<Body>(path: string, options: CallOptions = {}): Promise<Body> {
    const response = await this.send(path, options);
    const body = await bodyOf(response);
    if (response.ok) return body as Body;
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
      throw new StoreUnavailable(noReplyText(url, path, cause), { cause });
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
