// The routes of admin are not on every listener. Whoever asks for one where it is not is told how it is
// switched on, instead of that there is no such thing.

import { ProblemReply, type Route } from '../protocol/rest/route.ts';
import { ROUTES } from '../protocol/rest/routes.ts';
import type { ServerOptions } from './server-options.ts';

const ADMIN: readonly { readonly method: string; readonly path: RegExp }[] = ROUTES.filter(
  ({ listener }) => listener === 'admin',
).map(({ method, path }) => ({
  method,
  path: new RegExp(`^${path.replace(/:[A-Za-z]+/g, '[^/]+')}$`),
}));

const OFF =
  'The routes of admin (projects, keys, releases, ends by force) are switched off here, as they are unless somebody says where they shall be. Start the coordinator with --admin main to have them on this listener, or with --admin 127.0.0.1:7434 on one of their own (HOLDFAST_ADMIN, `admin` in the file, openServer: admin).';
const ELSEWHERE =
  'The routes of admin (projects, keys, releases, ends by force) are on a listener of their own: its log names it as adminUrl. Ask there, by --url or HOLDFAST_URL.';

/** Undefined when nothing is elsewhere, or this is none of it. */
export function adminProblem(
  admin: NonNullable<ServerOptions['admin']>,
  routes: readonly Route[],
  { method, path }: { readonly method: string; readonly path: string },
): ProblemReply | undefined {
  if (routes.some(({ listener }) => listener === 'admin')) return undefined;
  const isOne = ADMIN.some((each) => each.method === method && each.path.test(path));
  if (!isOne) return undefined;
  return admin === 'off'
    ? new ProblemReply(404, 'admin-off', OFF)
    : new ProblemReply(404, 'admin-elsewhere', ELSEWHERE);
}
