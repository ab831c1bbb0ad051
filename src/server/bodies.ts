// Bodies of requests: their largest size, the order in which large ones arrive, and their parsing.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ProjectName } from '../execution/names.ts';
import { type Coordinator, projectShare, type Route } from '../protocol/rest/route.ts';
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
  // A large body takes its share when it has arrived. If it took it before, a caller could send all
  // but the last byte of many bodies, and then have all of them parsed in one turn.
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
export function lengthOf({ headers }: FastifyRequest): number {
  const length = Number(headers['content-length'] ?? 0);
  const isJson = headers['content-type']?.startsWith('application/json') === true;
  if (isJson) return length <= LARGE_BYTES ? length : 0;
  if (headers['transfer-encoding'] !== undefined) return PLAIN_BYTES_MAX;
  return Number.isFinite(length) ? length : 0;
}

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
  const { headers } = request;
  const isChunked = headers['transfer-encoding'] !== undefined;
  const bytes = isChunked ? bytesMax : Number(headers['content-length'] ?? 0);
  if (!(bytes > LARGE_BYTES)) return;
  const free = await bodies.take(projectShare(project), bytes);
  if (reply.raw.destroyed) free();
  else reply.raw.once('close', free);
}
