// Serves the documentation site at /docs, as `holdfast dev` does. The site is one compressed file,
// so that the package stays small; the first request reads it.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ProblemReply } from '../protocol/rest/route.ts';

/** The content of the compressed file, as JSON. */
export interface PackedSite {
  /** Digests of the inline scripts of its pages, as a content security policy takes them. */
  readonly scripts: readonly string[];
  /** Texts by path below /docs. */
  readonly texts: Readonly<Record<string, string>>;
  /** Other files, in base64. */
  readonly binaries: Readonly<Record<string, string>>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** Beside this file in the package; in a checkout, the build folder (ADR 0048). */
const PLACES: readonly string[] = ['../site.br', '../../.cache/site.br'];

export function addDocs(app: FastifyInstance): void {
  const config = { name: 'docs' } as object;
  let reading: Promise<PackedSite> | undefined;
  app.get('/docs', { config }, (_, reply) => reply.redirect('/docs/'));
  // Monitors and link checkers send HEAD.
  const method = ['GET', 'HEAD'];
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    reading ??= readSite();
    // A site that was built meanwhile is found by the next request.
    const site = await reading.catch((fault: unknown) => {
      reading = undefined;
      throw fault;
    });
    const { '*': path = '' } = request.params as { readonly '*'?: string };
    const name = fileNameOf(path);
    const bytes = fileIn(site, name);
    if (bytes === undefined) {
      throw new ProblemReply(
        'not-found',
        `The documentation has no page "${name}". Start at /docs/.`,
      );
    }
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    reply.headers({ ...headersFor(site), etag, 'cache-control': 'no-cache' });
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    return reply.type(TYPES[extname(name)] ?? 'application/octet-stream').send(bytes);
  };
  app.route({ method, url: '/docs/*', config, handler });
}

/** Pages may be requested without their extension. */
function fileNameOf(path: string): string {
  if (path === '' || path.endsWith('/')) return `${path}index.html`;
  return extname(path) === '' ? `${path}.html` : path;
}

/** Undefined in a checkout where the site was not built. */
export function siteFile(): string | undefined {
  return PLACES.map((place) => join(import.meta.dirname, place)).find(existsSync);
}

async function readSite(): Promise<PackedSite> {
  const file = siteFile();
  if (file === undefined) {
    throw new ProblemReply(
      'docs-missing',
      'The documentation is not built. In a checkout, build it: `npm run docs:build`.',
    );
  }
  const bytes = await promisify(brotliDecompress)(await readFile(file));
  return JSON.parse(bytes.toString('utf8')) as PackedSite;
}

function fileIn({ texts, binaries }: PackedSite, name: string): Buffer | undefined {
  if (Object.hasOwn(texts, name)) return Buffer.from(texts[name] ?? '');
  return Object.hasOwn(binaries, name) ? Buffer.from(binaries[name] ?? '', 'base64') : undefined;
}

/** Nothing from other sites and no frame. The highlighted code has inline styles. */
function headersFor({ scripts }: PackedSite): Readonly<Record<string, string>> {
  return {
    'content-security-policy': [
      "default-src 'none'",
      `script-src 'self' ${scripts.join(' ')}`.trim(),
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
}
