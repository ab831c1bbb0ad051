// Without keys, whoever reaches the port may do everything; a page in the owner's browser must not. What
// such a page sends has the name that it was loaded from in Host or Origin (DNS rebinding, cross-site posts).

import { ProblemReply } from '../protocol/rest/route.ts';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

export function requireOwnHost(host: string | undefined, origin: string | undefined): void {
  const isOwn = host !== undefined && LOOPBACK.test(host);
  // A page of another local port is another program's.
  const isOwnPage = origin === undefined || isOriginOf(origin, host);
  if (isOwn && isOwnPage) return;
  throw new ProblemReply(
    403,
    'foreign-host',
    'Authentication is off, so only requests to localhost, from its own pages, are taken. Turn it on (auth = "keys") to be reached otherwise.',
  );
}

function isOriginOf(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host) || host === '::1';
}
