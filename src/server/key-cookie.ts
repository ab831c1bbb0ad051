// The key of a browser, from its cookie (ADR 0025). What a page of somebody else makes a browser send is
// not taken: the cookie is SameSite=Strict, browsers say where a request comes from, and writes carry a
// header that no other page can set without a permission that is never given.

import { KEY_COOKIE, requireOwnPage } from '../protocol/rest/caller.ts';
import type { Route } from '../protocol/rest/route.ts';

type Header = (name: string) => string | undefined;

/** A header that was sent wins: programs have no cookies. */
export function authorizationOf({ method }: Route, header: Header): string | undefined {
  const sent = header('authorization');
  if (sent !== undefined) return sent;
  const key = keyIn(header('cookie'));
  if (key === undefined) return undefined;
  requireOwnPage(method, header);
  return `Bearer ${key}`;
}

export function keyIn(cookies: string | undefined): string | undefined {
  const found = cookies?.split('; ').find((each) => each.startsWith(`${KEY_COOKIE}=`));
  const key = found?.slice(KEY_COOKIE.length + 1);
  return key === '' ? undefined : key;
}
