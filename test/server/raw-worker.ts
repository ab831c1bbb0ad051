// A worker with full control over its messages: it has a key of its project and writes the protocol
// by hand.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { checkedFetch } from './checked-fetch.ts';
import { type TestCoordinator, until } from './coordinator.ts';

export interface Raw {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever came back.
  readonly json: any;
}

/** The common fields of every write under this claim. */
export interface RawOwner {
  readonly id: string;
  readonly fence: number;
  readonly session: string;
  readonly seq: number;
}

export class RawWorker {
  readonly project: string;
  readonly session: string = randomUUID();
  readonly headers: { readonly authorization: string; readonly 'content-type': string };
  readonly #url: string;

  constructor(url: string, key: string, project: string) {
    this.#url = url;
    this.headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    this.project = project;
  }

  static async open(coordinator: TestCoordinator, project: string): Promise<RawWorker> {
    const key = await coordinator.key(['work', 'submit', 'operate'], project);
    const worker = new RawWorker(coordinator.url, key, project);
    const session = { id: worker.session, owner: project, ttlMs: 60_000, graceMs: 1_000 };
    assert.equal((await worker.call('POST', '/v1/work/sessions', session)).status, 200);
    return worker;
  }

  /** A stream. */
  open(path: string, signal: AbortSignal): Promise<Response> {
    const { authorization } = this.headers;
    const headers = { authorization };
    return checkedFetch(`${this.#url}${path}`, { headers, signal });
  }

  // biome-ignore lint/complexity/useMaxParams: as `fetch` is called.
  async call(method: string, path: string, body?: object, signal?: AbortSignal): Promise<Raw> {
    const response = await checkedFetch(`${this.#url}${path}`, {
      method,
      headers: this.headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
  }

  /** Submits an execution and claims it. */
  async running(pipeline: string): Promise<RawOwner> {
    await this.call('POST', '/v1/executions', { pipeline, input: 1 });
    return this.claim(pipeline);
  }

  async claim(pipeline: string): Promise<RawOwner> {
    const claimed = await this.#claimed(pipeline);
    assert.ok(claimed !== undefined, `there is a ${pipeline}`);
    return claimed;
  }

  /** Claims until there is one. */
  async claimWhenThere(pipeline: string): Promise<RawOwner> {
    return until(() => this.#claimed(pipeline));
  }

  async #claimed(pipeline: string): Promise<RawOwner | undefined> {
    const { session } = this;
    const shares = [{ lane: 'interactive', limit: 1 }];
    const { json } = await this.call('POST', '/v1/work/claims', {
      ...{ session, pipelines: [pipeline], shares },
    });
    if (json.claims[0] === undefined) return undefined;
    const { execution, fence } = json.claims[0];
    return { id: execution.id, fence, session, seq: execution.seq + 1 };
  }

  async putValue(
    digest: string,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<{ readonly status: number }> {
    return fetch(`${this.#url}/v1/work/blobs/${digest}`, {
      method: 'PUT',
      headers: { ...this.headers, 'content-type': 'application/octet-stream' },
      body: bytes,
    });
  }

  write(owner: RawOwner, what: object): Promise<Raw> {
    const write = { verb: 'record', ...owner, events: [], ...what };
    return this.call('POST', '/v1/work/writes', { writes: [write] });
  }

  /** In its own project. */
  submission(what: object = {}): object {
    const id = `01a1e190-0000-7000-8000-${randomUUID().slice(24)}`;
    const { project } = this;
    const input = '{"v":1}';
    const about = { lane: 'interactive', input, lineage: id, tags: [], attributes: {} };
    return { id, project, pipeline: 'child', ...about, ...what };
  }
}
