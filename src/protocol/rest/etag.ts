// Reads that did not change are answered with 304: what says so is the content itself.

import { digestOf } from '../../support/digest.ts';
import type { Reply } from './route.ts';

export function withEtag(body: unknown, ifNoneMatch: string | undefined): Reply {
  const etag = `"${digestOf(Buffer.from(JSON.stringify(body))).slice(0, 32)}"`;
  const headers = { etag, 'cache-control': 'no-cache' };
  const isSame = ifNoneMatch?.split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
  return isSame === true ? { status: 304, headers } : { status: 200, body, headers };
}
