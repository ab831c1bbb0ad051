// An S3-compatible server on loopback: it puts, reads and deletes objects of one bucket, in the
// protocol of S3 clients, with conditional writes. It checks the signature of every request (AWS Signature Version 4), its time and the
// digest of its body, like real storage.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface S3Request {
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
}

/** The S3 code and status of a refusal. */
export type S3Refusal = readonly [code: string, status: number];

export interface S3Server {
  readonly port: number;
  /** The contents that a key had, in their order. */
  versions(key: string): readonly string[];
  close(): Promise<void>;
}

const SKEW_MS_MAX = 15 * 60_000;
const UNSIGNED = 'UNSIGNED-PAYLOAD';
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/,]+)\/(\d{8})\/([^/,]+)\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

export async function startS3(bucket: string, credentials: S3Credentials): Promise<S3Server> {
  const objects = new Map<string, { readonly type: string; readonly bytes: Uint8Array }>();
  const versions = new Map<string, readonly string[]>();
  const server = createServer(async (incoming, outgoing) => {
    const request = await readRequest(incoming);
    const refusal = refuseUnsigned(request, credentials, Date.now());
    if (refusal !== undefined) return refuse(refusal);
    const [named, ...rest] = decodeURIComponent(pathOf(request)).slice(1).split('/');
    const key = rest.join('/');
    if (named !== bucket) return refuse(['NoSuchBucket', 404]);
    const current = objects.get(key);
    if (request.method === 'DELETE') {
      objects.delete(key);
      return outgoing.writeHead(204).end();
    }
    if (request.method === 'PUT') {
      const isExpected = isAllowed(request, current && tagOf(current.bytes));
      if (!isExpected) return refuse(['PreconditionFailed', 412]);
      versions.set(key, [...(versions.get(key) ?? []), Buffer.from(request.body).toString()]);
      objects.set(key, { type: headerOf(request, 'content-type'), bytes: request.body });
      return outgoing.writeHead(200, { etag: tagOf(request.body) }).end();
    }
    if (request.method !== 'GET') return refuse(['MethodNotAllowed', 405]);
    if (current === undefined) return refuse(['NoSuchKey', 404]);
    const headers = { 'content-type': current.type, etag: tagOf(current.bytes) };
    return outgoing.writeHead(200, headers).end(current.bytes);

    function refuse([code, status]: S3Refusal): void {
      const xml = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`;
      outgoing.writeHead(status, { 'content-type': 'application/xml' }).end(xml);
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    versions: (key) => versions.get(key) ?? [],
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

/** The tag depends on the content only, as in S3. */
function tagOf(bytes: Uint8Array): string {
  return `"${hashOf('md5', bytes)}"`;
}

/** `tag` is that of the object, if it exists. */
function isAllowed(request: S3Request, tag: string | undefined): boolean {
  const wanted = headerOf(request, 'if-match');
  if (wanted !== '' && wanted !== tag) return false;
  return headerOf(request, 'if-none-match') !== '*' || tag === undefined;
}

async function readRequest(incoming: IncomingMessage): Promise<S3Request> {
  const { method = '', url = '', headers } = incoming;
  return { method, target: url, headers, body: await buffer(incoming) };
}

/** Undefined if the signature is valid. */
export function refuseUnsigned(
  request: S3Request,
  credentials: S3Credentials,
  nowMs: number,
): S3Refusal | undefined {
  const found = AUTHORIZATION.exec(headerOf(request, 'authorization'));
  if (found === null) return ['AccessDenied', 403];
  const [, accessKeyId, day = '', region = '', names = '', signature = ''] = found;
  if (accessKeyId !== credentials.accessKeyId) return ['InvalidAccessKeyId', 403];
  const signed = names.split(';');
  const at = headerOf(request, 'x-amz-date');
  if (!at.startsWith(day) || !isAllSigned(request, signed)) return ['AccessDenied', 403];
  if (Math.abs(timeOf(at) - nowMs) > SKEW_MS_MAX) return ['RequestTimeTooSkewed', 403];
  const { secretAccessKey } = credentials;
  const expected = signatureOf(request, { at, day, region, signed, secretAccessKey });
  if (!timingSafeEqual(Buffer.from(expected), Buffer.from(signature))) {
    return ['SignatureDoesNotMatch', 403];
  }
  const digest = headerOf(request, 'x-amz-content-sha256');
  // A write is signed with its body.
  if (digest === UNSIGNED && request.method === 'GET') return undefined;
  return digest === hashOf('sha256', request.body) ? undefined : ['XAmzContentSHA256Mismatch', 400];
}

/** The headers that name the destination, and all of S3's own. */
function isAllSigned({ headers }: S3Request, signed: readonly string[]): boolean {
  const own = Object.keys(headers).filter((name) => name.startsWith('x-amz-'));
  return ['host', 'x-amz-content-sha256', ...own].every((name) => signed.includes(name));
}

interface Signing {
  readonly at: string;
  readonly day: string;
  readonly region: string;
  readonly signed: readonly string[];
  readonly secretAccessKey: string;
}

function signatureOf(request: S3Request, signing: Signing): string {
  const { at, day, region, signed, secretAccessKey } = signing;
  const canonical = [
    request.method,
    pathOf(request),
    queryOf(request),
    ...signed.map((name) => `${name}:${headerOf(request, name).trim().replace(/ +/g, ' ')}`),
    '',
    signed.join(';'),
    headerOf(request, 'x-amz-content-sha256'),
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', at, scope, hashOf('sha256', Buffer.from(canonical))].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (made, part) => createHmac('sha256', made).update(part).digest(),
    `AWS4${secretAccessKey}`,
  );
  return createHmac('sha256', key).update(text).digest('hex');
}

function headerOf({ headers }: S3Request, name: string): string {
  return [headers[name] ?? ''].flat().join(',');
}

function pathOf({ target }: S3Request): string {
  return target.split('?')[0] ?? '';
}

function queryOf({ target }: S3Request): string {
  const given = (target.split('?')[1] ?? '').split('&').filter((each) => each !== '');
  return given
    .map((each) => (each.includes('=') ? each : `${each}=`))
    .sort()
    .join('&');
}

/** From 20130524T000000Z. */
function timeOf(at: string): number {
  const iso = at.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  return Date.parse(iso);
}

function hashOf(algorithm: string, bytes: Uint8Array): string {
  return createHash(algorithm).update(bytes).digest('hex');
}
