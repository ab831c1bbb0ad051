// Where the console is reached: /console, and / leads there.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ProblemReply } from '../protocol/rest/route.ts';
import { CONSOLE_HEADERS, type ConsoleFile, type ConsoleFiles } from './console-files.ts';

export function addConsole(app: FastifyInstance, files: ConsoleFiles | undefined): void {
  const config = { name: 'console' } as object;
  app.get('/', { config }, (_, reply) => reply.redirect('/console/'));
  app.get('/console', { config }, (_, reply) => reply.redirect('/console/'));
  app.get('/console/*', { config }, (request, reply) => {
    if (files === undefined) throw notBuilt();
    const { '*': path = '' } = request.params as { readonly '*'?: string };
    const found = files.files.get(path);
    if (found === undefined && path.startsWith('assets/')) {
      throw new ProblemReply(404, 'not-found', 'There is no such file. Load the page again.');
    }
    return sendFile(request, reply, found ?? files.page);
  });
}

function notBuilt(): ProblemReply {
  return new ProblemReply(
    404,
    'console-missing',
    'The console is not there: in a checkout it is built by `npm run console`, and by `npm start`.',
  );
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile): FastifyReply {
  const { etag, caching, type, bytes, gzipped } = file;
  reply.headers({ ...CONSOLE_HEADERS, etag, 'cache-control': caching, vary: 'accept-encoding' });
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  const isSmaller = gzipped.length < bytes.length;
  const isTaken = String(request.headers['accept-encoding'] ?? '').includes('gzip');
  if (!isSmaller || !isTaken) return reply.type(type).send(bytes);
  return reply.header('content-encoding', 'gzip').type(type).send(gzipped);
}
