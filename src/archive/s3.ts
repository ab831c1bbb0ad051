// An archive in S3-compatible storage, with one object per document. aws4fetch, an optional
// dependency, signs the requests. An object is complete or does not exist, as the port requires.

import { digestOf } from '../support/digest.ts';
import { Fault, InvalidInput } from '../support/fault.ts';
import { loadPackage } from '../support/load-package.ts';
import {
  boundedText,
  integerOption,
  readOptions,
  requireUrl,
  thrownText,
  wordsIn,
} from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { type Archive, ArchiveUnavailable, isArchivePath } from './port.ts';

export type { Archive, ArchiveDocument } from './port.ts';

/** Options of `openS3Archive`. */
export interface S3ArchiveOptions {
  /** The URL of the storage without the bucket, such as `https://s3.eu-central-1.amazonaws.com`. */
  readonly url: string;
  /** The name of the bucket. */
  readonly bucket: string;
  /** The id of the credentials. */
  readonly accessKeyId: string;
  /** The secret of the credentials. */
  readonly secretAccessKey: string;
  /** The token of temporary credentials. */
  readonly sessionToken?: string;
  /** The region. Default `us-east-1`. */
  readonly region?: string;
  /** A folder in front of every key. Default none. */
  readonly prefix?: string;
  /** Time limit of one request in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
}

const NAMES: readonly (keyof S3ArchiveOptions)[] = wordsIn(
  'url bucket accessKeyId secretAccessKey sessionToken region prefix timeoutMs',
);
const TEXT_BYTES_MAX = 1_024;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

interface Signer {
  sign(url: string, init: RequestInit): Promise<Request>;
}

interface Bucket {
  readonly client: Signer;
  readonly root: string;
  readonly timeoutMs: number;
}

/**
 * Opens an archive in S3-compatible storage, with one object per document. Needs the package
 * `aws4fetch`.
 *
 * Throws `InvalidInput` for invalid options. Reads and writes throw `ArchiveUnavailable` if the
 * storage cannot be reached.
 *
 * @example
 * const archive = await openS3Archive({
 *   url: 'https://s3.eu-central-1.amazonaws.com',
 *   bucket: 'holdfast-archive',
 *   accessKeyId: process.env['S3_KEY_ID'] ?? '',
 *   secretAccessKey: process.env['S3_SECRET'] ?? '',
 * });
 */
export async function openS3Archive(given: S3ArchiveOptions): Promise<Archive> {
  const options = readS3Options(given);
  const { url, bucket, accessKeyId, secretAccessKey, sessionToken, prefix = '' } = options;
  const AwsClient = (await loadPackage('An archive in S3', 'aws4fetch', () => import('aws4fetch')))
    .AwsClient;
  const client = new AwsClient({
    ...{ accessKeyId, secretAccessKey, service: 's3', region: options.region ?? 'us-east-1' },
    ...(sessionToken === undefined ? {} : { sessionToken }),
  });
  const base = `${url.replace(/\/+$/, '')}/${bucket}`;
  const root = prefix === '' ? base : `${base}/${prefix.replace(/\/+$/, '')}`;
  const at: Bucket = { client, root, timeoutMs: options.timeoutMs ?? 30_000 };
  return {
    name: `the bucket ${bucket} at ${new URL(url).host}`,
    async put({ path, type, bytes }) {
      const headers = { 'content-type': headerType(type), 'x-amz-content-sha256': digestOf(bytes) };
      const body = Uint8Array.from(bytes);
      const reply = await sendRequest(at, path, { method: 'PUT', headers, body });
      if (reply.status !== 200) throw refused(at, path, reply);
    },
    async get(path) {
      const reply = await sendRequest(at, path, { method: 'GET' });
      if (reply.status === 404 && !reply.text().includes('NoSuchBucket')) return undefined;
      if (reply.status !== 200) throw refused(at, path, reply);
      return reply.bytes;
    },
  };
}

function readS3Options(given: S3ArchiveOptions): S3ArchiveOptions {
  const what = 'openS3Archive';
  const options = readOptions(what, given, NAMES);
  requireUrl(what, options.url);
  if (typeof options.bucket !== 'string' || !BUCKET.test(options.bucket)) {
    throw new InvalidInput(
      `${what}: bucket must be a name of lower-case letters, digits, dots and dashes.`,
    );
  }
  for (const name of ['accessKeyId', 'secretAccessKey', 'sessionToken'] as const) {
    const isLeftOut = name === 'sessionToken' && options[name] === undefined;
    // Secrets: never print these values.
    if (!isLeftOut && (typeof options[name] !== 'string' || options[name] === '')) {
      throw new InvalidInput(`${what}: ${name} is required, as text.`);
    }
  }
  const { region, prefix, timeoutMs } = options;
  if (region !== undefined) boundedText(`${what}: region`, region, TEXT_BYTES_MAX);
  const isOdd = typeof prefix !== 'string' || !isArchivePath(prefix.replace(/\/+$/, ''));
  if (prefix !== undefined && isOdd) {
    throw new InvalidInput(
      `${what}: prefix must have letters, digits, ".", "_" and "-", with "/" between them.`,
    );
  }
  if (timeoutMs !== undefined) {
    integerOption(`${what}: timeoutMs`, timeoutMs, { min: 100, max: 3_600_000 });
  }
  return options;
}

interface S3Response {
  readonly status: number;
  readonly bytes: Uint8Array;
  text(): string;
}

/** Returns the whole response within the time limit. */
async function sendRequest(at: Bucket, path: string, init: RequestInit): Promise<S3Response> {
  if (!isArchivePath(path)) {
    throw new InvalidInput(
      `${JSON.stringify(path)} is not a path in an archive: letters, digits, ".", "_" and "-", with "/" between them.`,
    );
  }
  const aborter = new AbortController();
  const cancel = systemTimers.after(at.timeoutMs, () =>
    aborter.abort(new Error(`no response within ${at.timeoutMs} ms`)),
  );
  try {
    const signed = await at.client.sign(`${at.root}/${path}`, init);
    // `fetch` keeps this signal. It would not keep one inside `signed`: garbage collection cuts
    // that link.
    const response = await fetch(signed, { signal: aborter.signal });
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { status: response.status, bytes, text: () => Buffer.from(bytes).toString() };
  } catch (cause) {
    const reason: unknown = aborter.signal.aborted ? aborter.signal.reason : cause;
    if (!aborter.signal.aborted && !isOfNetwork(cause)) {
      throw new Fault(
        'archive-refused',
        `${path} cannot be sent to the archive: ${thrownText(cause)}. The execution stays in the store.`,
        { cause },
      );
    }
    // The error of `fetch` itself names no cause.
    const why = thrownText((reason as { readonly cause?: unknown }).cause ?? reason);
    throw new ArchiveUnavailable(
      `The archive at ${at.root} did not respond: ${why}. Nothing was removed from the store. Check archive.url, and that the storage runs.`,
      { cause },
    );
  } finally {
    cancel();
  }
}

const DETAIL_CHARS_MAX = 300;

/** Workers choose the types of attachments, and a header allows only some characters. */
function headerType(type: string): string {
  return /^[ -~]+$/.test(type) ? type : 'application/octet-stream';
}

/** A request that never left concerns only this document. For others, `fetch` sets a cause. */
function isOfNetwork(fault: unknown): boolean {
  return (fault as { readonly cause?: unknown } | undefined)?.cause !== undefined;
}

/**
 * Statuses that concern the storage, not one document. With others, the archive still tries the
 * next documents.
 */
function isAwayBy(status: number): boolean {
  return status >= 500 || [401, 403, 404, 408, 429].includes(status);
}

function refused(at: Bucket, path: string, reply: S3Response): Fault {
  const code = /<Code>([^<]{1,80})<\/Code>/.exec(reply.text())?.[1];
  const detail = code ?? reply.text().slice(0, DETAIL_CHARS_MAX);
  const why = `The archive at ${at.root} refused ${path} with status ${reply.status} (${detail}). The execution stays in the store.`;
  return isAwayBy(reply.status)
    ? new ArchiveUnavailable(`${why} Check the credentials, the bucket and its quota.`)
    : new Fault('archive-refused', why);
}
