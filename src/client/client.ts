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
import { Fault } from '../support/fault.ts';

export interface ClientOptions {
  /** Of the coordinator, such as http://127.0.0.1:7433. */
  readonly url: string;
  readonly key?: string;
  /** For keys of all projects. */
  readonly project?: string;
  readonly fetch?: typeof fetch;
}

/** The coordinator said no: `code` is for programs, the message for people. */
export class CallRefused extends Fault {
  override readonly name = 'CallRefused';
  readonly status: number;
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.code, problem.detail);
    this.status = problem.status;
    this.problem = problem;
  }
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly cursor?: string;
}

export interface CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly query?: Readonly<Record<string, string | number | readonly string[] | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export class HoldfastClient {
  readonly executions: Executions;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = { ...options, url: options.url.replace(/\/+$/, '') };
    this.executions = new Executions(this);
  }

  /** Any route of the API, for what has no method here. Throws CallRefused. */
  async call<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
    const response = await this.send(path, options);
    const text = await response.text();
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    if (response.ok) return body as Answer;
    throw new CallRefused(body as Problem);
  }

  async send(path: string, options: CallOptions): Promise<Response> {
    const { url, key, project, fetch: send = fetch } = this.#options;
    const { method = 'GET', query, body, signal } = options;
    return send(`${url}${path}${queryText(query)}`, {
      method,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(project === undefined ? {} : { 'holdfast-project': project }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
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
    return this.#client.call(`/v1/executions/${id}`);
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
      const response = await this.#client.send(`/v1/executions/${id}/result`, {
        ...options,
        query: { waitMs: HELD_MS },
      });
      const body: unknown = await response.json();
      if (response.status === 200) return body as ResultMessage;
      if (response.status !== 202) throw new CallRefused(body as Problem);
    }
  }

  async history(
    id: string,
    page: { readonly after?: number; readonly limit?: number } = {},
  ): Promise<readonly HistoryMessage[]> {
    const query = { ...page };
    const { items } = await this.#client.call<Page<HistoryMessage>>(
      `/v1/executions/${id}/history`,
      { query },
    );
    return items;
  }

  explain(id: string): Promise<Static<typeof explanation>> {
    return this.#client.call(`/v1/executions/${id}/explain`);
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
    return this.#client.call(`/v1/executions/${id}/signals`, { method: 'POST', body });
  }

  #act(id: string, verb: string, reason?: string): Promise<Static<typeof commandAnswer>> {
    const body = reason === undefined ? {} : { reason };
    return this.#client.call(`/v1/executions/${id}/${verb}`, { method: 'POST', body });
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
