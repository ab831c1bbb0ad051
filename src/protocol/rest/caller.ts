// Who is calling; and signing in: a browser keeps its key in a cookie that no script can read (ADR 0028).

import { caller as callerSchema } from '../messages/caller.ts';
import { type Call, type Reply, type Route, route } from './route.ts';

/** The console sends it with everything; a page of somebody else cannot, without asking first. */
export const CONSOLE_HEADER = 'holdfast-console';
export const KEY_COOKIE = 'holdfast-key';

/** A worker's key is for a program. */
const PEOPLE = ['submit', 'operate', 'admin'] as const;

const read = route({
  method: 'GET',
  path: '/v1/caller',
  name: 'readCaller',
  summary: 'Who is calling, for which project, and what that allows.',
  allows: PEOPLE,
  answers: { 200: { what: 'As the key says.', schema: callerSchema } },
  async handle({ store, auth, hasLinks, demo }, { caller }) {
    const { name, project, isOfAll, roles } = caller;
    const kept = { kind: store.kind, survives: store.durability };
    const body = {
      name,
      project,
      isOfAll,
      roles: [...roles],
      auth,
      store: kept,
      hasLinks,
      hasDemo: demo !== undefined,
    };
    return { status: 200, body, headers: { 'cache-control': 'no-store' } };
  },
});

const signIn = route({
  method: 'POST',
  path: '/v1/sign-in',
  name: 'signIn',
  summary: 'Puts the key of this request into a cookie, for browsers.',
  allows: PEOPLE,
  answers: { 204: { what: 'The cookie opens what the key opens, until the browser is closed.' } },
  handle: async (_, { header, isEncrypted }) => {
    const key = /^Bearer (\S+)$/i.exec(header('authorization') ?? '')?.[1];
    return key === undefined ? { status: 204 } : cookieReply(`${key}`, isEncrypted);
  },
});

const signOut = route({
  method: 'POST',
  path: '/v1/sign-out',
  name: 'signOut',
  summary: 'Takes the cookie away. The key stays what it was.',
  // Not for everybody: a page of somebody else could sign people out.
  allows: PEOPLE,
  answers: { 204: { what: 'It is gone.' } },
  handle: async (_, { isEncrypted }) => cookieReply('; Max-Age=0', isEncrypted),
});

function cookieReply(value: string, isEncrypted: Call<never, never, never>['isEncrypted']): Reply {
  const rules = `Path=/; HttpOnly; SameSite=Strict${isEncrypted ? '; Secure' : ''}`;
  return { status: 204, headers: { 'set-cookie': `${KEY_COOKIE}=${value}; ${rules}` } };
}

export const callerRoutes: readonly Route[] = [read, signIn, signOut];
