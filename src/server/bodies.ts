// Bodies of requests: their largest size, the order in which large ones arrive, and their parsing.

import { type Readable, Transform } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ProjectName } from '../execution/names.ts';
import {
  type Coordinator,
  ProblemReply,
  projectShare,
  type Route,
} from '../protocol/rest/route.ts';
import { requireFewValues } from '../support/json-size.ts';
import { ByteTurns, LARGE_BYTES, weightOfParsing } from '../support/turns.ts';
import type { HttpLimits } from './server-options.ts';

export function addBodyParsers(
  app: FastifyInstance,
  { shares, jsonValuesMax }: Coordinator,
  projectOf: (request: FastifyRequest) => ProjectName,
): void {
  app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_, body, done) =>
    done(null, body),
  );
  // A large body takes its share after it has arrived. Otherwise, a caller could send all but the
  // last byte of many bodies, and then have all of them parsed in one turn.
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const weight = weightOfParsing(body.length);
    if (weight === 0) return parse(request, body.toString(), done);
    shares
      .begin(projectShare(projectOf(request)), weight)
      .then(() => {
        const text = body.toString();
        requireFewValues('The body', [text], jsonValuesMax);
        return parse(request, text, done);
      })
      .catch(done);
  });
}

/**
 * Limits for callers without a key, and for bodies without users' values, because parsing blocks
 * all other requests.
 */
const PUBLIC_BYTES_MAX = 64 * 1024;
const PLAIN_BYTES_MAX = 1024 * 1024;

export function bodyBytesMaxOf(
  { allows, takesBytes, takesValues }: Route,
  limits: HttpLimits,
): number {
  const isLarge = takesBytes === true || takesValues === true;
  if (isLarge) return limits.bodyBytesMax;
  return Math.min(limits.bodyBytesMax, allows === 'public' ? PUBLIC_BYTES_MAX : PLAIN_BYTES_MAX);
}

/**
 * The bytes of a body that count before it has arrived. Large JSON takes its share later. Another
 * body without a declared length counts as if it had the largest that is not a value.
 */
export function lengthOf(request: FastifyRequest): number {
  const { headers } = request;
  const length = Number(headers['content-length'] ?? 0);
  const isJson = headers['content-type']?.startsWith('application/json') === true;
  if (isJson) return length <= LARGE_BYTES ? length : 0;
  if (isChunked(request)) return PLAIN_BYTES_MAX;
  return Number.isFinite(length) ? length : 0;
}

/** A body without a declared length may have this many pieces, and more if they are not tiny. */
const PIECES_MAX = 10_000;
const PIECE_BYTES_MIN = 64;

function isChunked({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined;
}

/**
 * Stops reading a body without a declared length, until its request is admitted. After the response
 * it closes the connection if the body has not ended. Tiny pieces cost far more time than their bytes.
 */
export function holdBody(request: FastifyRequest, reply: FastifyReply): void {
  if (!isChunked(request)) return;
  const { raw } = request;
  raw.socket.pause();
  reply.raw.once('finish', () => {
    if (!raw.complete) raw.socket.destroy();
  });
}

export function releaseBody(request: FastifyRequest): void {
  if (isChunked(request)) request.raw.socket.resume();
}

/** The same body. It fails if it arrives in too many tiny pieces. */
export function withoutTinyPieces(request: FastifyRequest, body: Readable): Readable {
  if (!isChunked(request)) return body;
  let pieces = 0;
  let bytes = 0;
  const counted = new Transform({
    transform(piece: Buffer, _, done) {
      pieces += 1;
      bytes += piece.length;
      if (pieces <= PIECES_MAX || bytes >= pieces * PIECE_BYTES_MIN) return done(null, piece);
      request.raw.socket.pause();
      done(new ProblemReply('invalid-input', TINY_PIECES));
    },
  });
  // Some requests get a response before their body is read. An error without a listener would then
  // end the process.
  counted.on('error', () => undefined);
  return body.pipe(counted);
}

const TINY_PIECES = `The body has more than ${PIECES_MAX} chunks, with fewer than ${PIECE_BYTES_MIN} bytes on average. Nothing was done. Send a content-length, or larger chunks.`;

/** The bodies of the largest size that one project may send at once. */
const BODIES_OF_PROJECT = 2;

/** The large bodies that arrive or wait to be parsed, by project. */
export function bodyTurnsOf({ bodyBytesMax }: HttpLimits): ByteTurns {
  return new ByteTurns(BODIES_OF_PROJECT * bodyBytesMax);
}

/**
 * Large bodies of one project wait before they are read, so that they cannot fill the memory: a
 * caller could send all but the last byte of thousands.
 */
export async function beginBody(
  bodies: ByteTurns,
  {
    request,
    reply,
    project,
    bytesMax,
  }: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly project: ProjectName;
    readonly bytesMax: number;
  },
): Promise<void> {
  const bytes = isChunked(request) ? bytesMax : Number(request.headers['content-length'] ?? 0);
  if (bytes > LARGE_BYTES) await takeUntilClosed(bodies, { reply, project, bytes });
}

/** Waits until the project has room for these bytes, and frees them when the connection is done. */
export async function takeUntilClosed(
  turns: ByteTurns,
  {
    reply,
    project,
    bytes,
  }: { readonly reply: FastifyReply; readonly project: ProjectName; readonly bytes: number },
): Promise<void> {
  const free = await turns.take(projectShare(project), bytes);
  if (reply.raw.destroyed) free();
  else reply.raw.once('close', free);
}
