// The fence in S3-compatible storage, by conditional writes.
//
// The guarded object is small: it has the mark and the name of the object with the content. Only a
// write of that small object can change either, and it succeeds only if the object is still the one
// that the guard has read (If-Match, If-None-Match). Each version has a token of its own, because
// storage derives the tag of an object from its content, and equal content would have equal tags.

import { digestOf } from '../support/digest.ts';
import { InvalidInput, OutcomeUnknown, StoreCorrupt, StoreUnavailable } from '../support/fault.ts';
import { rejectUnknownOptions } from '../support/options.ts';
import { systemRandom } from '../support/random.ts';
import {
  CURRENT,
  type Fenced,
  type GuardResult,
  needFunction,
  parseFenced,
  parseMark,
  type Stale,
  staleAt,
} from './mark.ts';

export { type Fenced, type GuardResult, type Stale, StaleFence } from './mark.ts';

/** Options of `S3Guard`. */
export interface S3GuardOptions {
  /** The URL of the bucket, and of a folder in it if you like. */
  readonly url: string;
  /** Signs a request and sends it, as `fetch` of a client of the package `aws4fetch` does. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

/** The result of a write: `written`, or a refusal. */
export type S3Result = { readonly kind: 'written' } | Stale;

/** The content of a guarded object. */
export interface S3Content {
  /** The bytes. */
  readonly bytes: Uint8Array;
  /** The media type that the writer gave. */
  readonly type: string;
}

interface Head {
  readonly fence: number;
  readonly token: string;
  /** The name of the object with the content. Absent until the first write. */
  readonly content?: string;
}

interface Found {
  readonly head: Head;
  readonly tag: string;
}

const TYPE = 'application/octet-stream';
/** Each further try means that another writer got in between. */
const TRIES_MAX = 100;

/**
 * Checks fences in S3-compatible storage that has conditional writes.
 *
 * Methods throw `InvalidInput` for invalid arguments, `StoreUnavailable` if the storage refused or
 * did not respond, and `OutcomeUnknown` if the write may have been made. Then repeat it.
 *
 * @example
 * import { AwsClient } from 'aws4fetch';
 *
 * const client = new AwsClient({ accessKeyId: 'id', secretAccessKey: 'secret', service: 's3' });
 * const guard = new S3Guard({
 *   url: 'https://s3.eu-central-1.amazonaws.com/reports',
 *   fetch: (url, init) => client.fetch(url, init),
 * });
 * await guard.admit(lease);
 * await guard.write(lease, 'the report of Monday', { type: 'text/plain' });
 */
export class S3Guard {
  readonly #url: string;
  readonly #fetch: S3GuardOptions['fetch'];

  constructor(options: S3GuardOptions) {
    rejectUnknownOptions('S3Guard', options, ['url', 'fetch']);
    if (!URL.canParse(options.url)) {
      throw new InvalidInput(
        'S3Guard: `url` must be the URL of a bucket, such as https://s3.example.com/reports.',
      );
    }
    const pass = 'fetch: (url, init) => client.fetch(url, init)';
    needFunction(options.fetch, { what: 'S3Guard: `fetch` signs and sends a request', pass });
    this.#url = options.url.replace(/\/+$/, '');
    this.#fetch = options.fetch;
  }

  /**
   * Shuts out every earlier holder. Call it right after the grant, before the first read or write.
   */
  async admit(fenced: Fenced): Promise<GuardResult> {
    const result = await this.#swap(parseFenced(fenced), undefined);
    return result.kind === 'stale' ? result : CURRENT;
  }

  /**
   * Replaces the content. Readers get the old content or the new. `type` is its media type; default
   * `application/octet-stream`.
   */
  async write(
    fenced: Fenced,
    bytes: Uint8Array | string,
    options: { readonly type?: string } = {},
  ): Promise<S3Result> {
    rejectUnknownOptions('S3Guard.write', options, ['type']);
    const presented = parseFenced(fenced);
    const content = `${nameOf(presented.key)}.content/${presented.fence}-${systemRandom.uuid()}`;
    const headers = { 'content-type': options.type ?? TYPE };
    // No reader knows this name yet, so it needs no condition.
    await this.#send(content, { method: 'PUT', headers, body: Buffer.from(bytes) }, [200]);
    const result = await this.#swap(presented, content);
    await this.#remove(result.kind === 'stale' ? content : result.before);
    return result.kind === 'stale' ? result : { kind: 'written' };
  }

  /** Returns the content of a resource; undefined if there is none. */
  async read(key: string): Promise<S3Content | undefined> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const content = (await this.#find(key))?.head.content;
      if (content === undefined) return undefined;
      const response = await this.#send(content, { method: 'GET' }, [200, 404]);
      // A writer replaced it between the two reads.
      if (response.status === 404) continue;
      const type = response.headers.get('content-type') ?? TYPE;
      return { bytes: new Uint8Array(await response.arrayBuffer()), type };
    }
    throw new StoreUnavailable(`"${key}" is replaced faster than it can be read. Try again.`);
  }

  /** Changes the mark, and the content if there is one, unless the fence is stale. */
  async #swap(
    fenced: Fenced,
    content: string | undefined,
  ): Promise<{ readonly kind: 'swapped'; readonly before?: string } | Stale> {
    const { key, fence } = fenced;
    const token = systemRandom.uuid();
    let before: string | undefined;
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const found = await this.#find(key);
      // An earlier try was made, and its reply was lost.
      if (found?.head.token === token) return { kind: 'swapped', ...(before && { before }) };
      if (found !== undefined && found.head.fence > fence) return staleAt(fenced, found.head.fence);
      before = found?.head.content;
      if (content === undefined && found?.head.fence === fence) return { kind: 'swapped' };
      const kept = content ?? before;
      const head: Head = { fence, token, ...(kept && { content: kept }) };
      if (await this.#put(key, head, found?.tag)) {
        return { kind: 'swapped', ...(content && before && { before }) };
      }
    }
    throw new StoreUnavailable(
      `Other writers of "${key}" were faster. Nothing was written. Try again.`,
    );
  }

  /** False if another writer changed the object since it was read. */
  async #put(key: string, head: Head, tag: string | undefined): Promise<boolean> {
    const condition = tag === undefined ? { 'if-none-match': '*' } : { 'if-match': tag };
    const headers = { 'content-type': 'application/json', ...condition };
    const body = JSON.stringify(head);
    const init = { method: 'PUT', headers, body };
    // 404: the object was deleted. 409: another conditional write was under way.
    const { status } = await this.#send(nameOf(key), init, [200, 404, 409, 412]);
    return status === 200;
  }

  async #find(key: string): Promise<Found | undefined> {
    const response = await this.#send(nameOf(key), { method: 'GET' }, [200, 404]);
    const text = await response.text();
    if (response.status === 404 && !text.includes('NoSuchBucket')) return undefined;
    const tag = response.headers.get('etag');
    const head = parsedHead(text);
    if (tag !== null && head !== undefined)
      return { head: { ...head, fence: parseMark(key, head.fence) }, tag };
    throw new StoreCorrupt(
      `The object of "${key}" was not written by a guard. Nothing was written. Use another folder, or delete the object while no process writes.`,
    );
  }

  /** A leftover object costs space and does no harm. */
  async #remove(content: string | undefined): Promise<void> {
    if (content === undefined) return;
    await this.#send(content, { method: 'DELETE' }, [200, 204, 404]).catch(() => undefined);
  }

  async #send(name: string, init: RequestInit, expected: readonly number[]): Promise<Response> {
    const url = `${this.#url}/${name}`;
    const isRead = init.method === 'GET';
    const digest = digestOf(Buffer.from((init.body as Uint8Array | string | undefined) ?? ''));
    const headers = { ...init.headers, ...(isRead ? {} : { 'x-amz-content-sha256': digest }) };
    const response = await this.#fetch(url, { ...init, headers }).catch((cause: unknown) => {
      const what = `The storage did not respond to ${init.method} ${name}.`;
      if (isRead) throw new StoreUnavailable(`${what} Nothing was written. Try again.`, { cause });
      throw new OutcomeUnknown(`${what} The write may have been made. Repeat it.`, { cause });
    });
    if (expected.includes(response.status)) return response;
    const what = `The storage refused ${init.method} ${name} with status ${response.status}.`;
    if (response.status < 500 || isRead) {
      throw new StoreUnavailable(
        `${what} Nothing was written. Check the bucket and the credentials.`,
      );
    }
    throw new OutcomeUnknown(`${what} The write may have been made. Repeat it.`);
  }
}

/** Only characters that URLs and signatures never change. Others become `_` and their bytes. */
function nameOf(key: string): string {
  const escaped = (character: string): string =>
    [...Buffer.from(character)].map((byte) => `_${byte.toString(16).padStart(2, '0')}`).join('');
  return key.replaceAll(/[^A-Za-z0-9/-]/gu, escaped);
}

function parsedHead(text: string): Head | undefined {
  try {
    const head = JSON.parse(text) as Partial<Head> | null;
    return typeof head?.token === 'string' ? (head as Head) : undefined;
  } catch {
    return undefined;
  }
}
