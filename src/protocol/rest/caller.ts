// Who is calling; and signing in: a browser keeps its key in a cookie that no script can read (ADR 0025).

import { caller as callerSchema } from '../messages/coordinator.ts';
import { type Call, ProblemReply, type Reply, type Route, route } from './route.ts';

type Header = Call<never, never, never>['header'];

/** The console sends it with everything; a page of somebody else cannot, without asking first. */
export const CONSOLE_HEADER = 'holdfast-console';
export const KEY_COOKIE = 'holdfast-key';

/** A worker's key is for a program. */
const PEOPLE = ['submit', 'operate', 'admin'] as const;

/** To choose from; who has more knows their names. */
const PROJECTS_MAX = 100;

const read = route({
  method: 'GET',
  path: '/v1/caller',
  name: 'readCaller',
  summary: 'Who is calling, for which project, and what that allows.',
  allows: PEOPLE,
  answers: { 200: { what: 'As the key says.', schema: callerSchema } },
  async handle({ store, auth, hasLinks, hasArchive, hasAdmin, demo }, { caller }) {
    const { name, project, isOfAll, roles } = caller;
    const known = isOfAll ? await store.access.projects({ limit: PROJECTS_MAX }) : undefined;
    const kept = { kind: store.kind, survives: store.durability };
    const body = {
      name,
      project,
      isOfAll,
      ...(known === undefined ? {} : { projects: known.map((each) => each.name) }),
      roles: [...roles],
      auth,
      store: kept,
      hasLinks,
      hasArchive,
      hasAdmin,
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
  // Whatever became of the key: who holds one that was ended could not get rid of it.
  allows: 'public',
  answers: { 204: { what: 'It is gone.' }, 403: { what: 'A page of somebody else asks.' } },
  handle: async (_, { header, isEncrypted }) => {
    if (header('authorization') === undefined) requireOwnPage('POST', header);
    return cookieReply('; Max-Age=0', isEncrypted);
  },
});

const OWN_PAGES: ReadonlySet<string> = new Set(['same-origin', 'none']);

/** Of a request with nothing but its cookie. */
export function requireOwnPage(method: Route['method'], header: Header): void {
  const isOwnPage = OWN_PAGES.has(header('sec-fetch-site') ?? 'same-origin');
  if (isOwnPage && (method === 'GET' || header(CONSOLE_HEADER) !== undefined)) return;
  throw new ProblemReply(
    403,
    'foreign-page',
    `A key in a cookie is taken from the console's own pages only. Send it as "Authorization: Bearer hf_…" instead.`,
  );
}

function cookieReply(value: string, isEncrypted: Call<never, never, never>['isEncrypted']): Reply {
  const rules = `Path=/; HttpOnly; SameSite=Strict${isEncrypted ? '; Secure' : ''}`;
  return { status: 204, headers: { 'set-cookie': `${KEY_COOKIE}=${value}; ${rules}` } };
}

export const callerRoutes: readonly Route[] = [read, signIn, signOut];
