// Reads that did not change are answered with 304: what says so is the content itself.

import { digestOf } from '../../support/digest.ts';
import type { Reply } from './route.ts';

export function withEtag(body: unknown, ifNoneMatch: string | undefined): Reply {
  const etag = etagOf(Buffer.from(JSON.stringify(body)));
  const headers = { etag, 'cache-control': 'no-cache' };
  return isSame(etag, ifNoneMatch) ? { status: 304, headers } : { status: 200, body, headers };
}

export function etagOf(bytes: Buffer): string {
  return `"${digestOf(bytes).slice(0, 32)}"`;
}

export function isSame(etag: string, ifNoneMatch: string | undefined): boolean {
  return ifNoneMatch?.split(',').some((each) => each.trim().replace(/^W\//, '') === etag) === true;
}
