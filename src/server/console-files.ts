// Serves the console from built files, which it reads once. The headers keep a browser from using
// them in any other way. Names of assets contain a digest and never change; the browser revalidates
// the page itself.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ProblemReply } from '../protocol/rest/route.ts';
import { oneOf } from './admission.ts';
import { compressedFile, type Encoding, encodingFor } from './compression.ts';

export interface ConsoleFile {
  readonly type: string;
  readonly etag: string;
  readonly caching: string;
  readonly bytes: Buffer;
  /** Compressed at the first request that accepts it. */
  readonly compressed: Map<Encoding, Promise<Buffer>>;
}

export interface ConsoleFiles {
  /** The page for every console path that is not a file, because the console routes by itself. */
  readonly page: ConsoleFile;
  /** By path below /console. */
  readonly files: ReadonlyMap<string, ConsoleFile>;
}

/** Allows nothing from other sites, no inline script or style, and no frame. */
export const CONSOLE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  // Addresses contain signed links, so do not send them on.
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Beside this file in the package; in a checkout, the build folder (ADR 0026). */
const PLACES: readonly string[] = ['../console', '../../.cache/console'];
const PAGE = 'index.html';

/** Undefined if the console was not built. */
export async function readConsole(): Promise<ConsoleFiles | undefined> {
  const folder = PLACES.map((place) => join(import.meta.dirname, place)).find((each) =>
    existsSync(join(each, PAGE)),
  );
  if (folder === undefined) return undefined;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = new Map<string, ConsoleFile>();
  for (const entry of entries.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + 1).replaceAll('\\', '/');
    if (TYPES[extname(name)] !== undefined) files.set(name, await consoleFile(path, name));
  }
  const page = files.get(PAGE);
  return page === undefined ? undefined : { page, files };
}

async function consoleFile(path: string, name: string): Promise<ConsoleFile> {
  const bytes = await readFile(path);
  const isForEver = name.startsWith('assets/');
  return {
    type: TYPES[extname(name)] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    caching: isForEver ? 'public, max-age=31536000, immutable' : 'no-cache',
    bytes,
    compressed: new Map(),
  };
}

// Serves the console at /console, and redirects / there.

export function addConsole(app: FastifyInstance, files: ConsoleFiles | undefined): void {
  const config = { name: 'console' } as object;
  app.get('/', { config }, (_, reply) => reply.redirect('/console/'));
  app.get('/console', { config }, (_, reply) => reply.redirect('/console/'));
  app.route({
    // Monitors and link previews send HEAD.
    method: ['GET', 'HEAD'],
    url: '/console/*',
    config,
    handler: (request, reply) => {
      if (files === undefined) throw notBuilt();
      const { '*': path = '' } = request.params as { readonly '*'?: string };
      const found = files.files.get(path);
      if (found === undefined && path.startsWith('assets/')) {
        throw new ProblemReply('not-found', 'The console has no such file. Load the page again.');
      }
      return sendFile(request, reply, found ?? files.page);
    },
  });
}

function notBuilt(): ProblemReply {
  return new ProblemReply(
    'console-missing',
    'The console is not built. In a checkout, build it: `npm run console`, or `npm start`.',
  );
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: ConsoleFile,
): Promise<FastifyReply> {
  const { etag, caching, type, bytes, compressed } = file;
  reply.headers({ ...CONSOLE_HEADERS, etag, 'cache-control': caching, vary: 'accept-encoding' });
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  const encoding = encodingFor(oneOf(request.headers['accept-encoding']));
  if (encoding === undefined) return reply.type(type).send(bytes);
  const made = compressed.get(encoding) ?? compressedFile(bytes, encoding);
  compressed.set(encoding, made);
  const smaller = await made;
  if (smaller.length >= bytes.length) return reply.type(type).send(bytes);
  return reply.header('content-encoding', encoding).type(type).send(smaller);
}
