// Routes for the caller's identity and for signing in. A browser keeps its key in a cookie that no
// script can read (ADR 0025).

import { DEFAULT_PROJECT } from '../../execution/names.ts';
import type { Seal } from '../../features/export/model.ts';
import { ownCommand } from '../../support/process-about.ts';
import { SharedRead } from '../../support/turns.ts';
import { coordinatorOperations, type Scene } from '../messages/coordinator.ts';
import {
  type Coordinator,
  type Demo,
  ProblemReply,
  type Reply,
  type Route,
  type RouteCall,
  routesOf,
} from './route.ts';

type Header = RouteCall<never, never, never>['header'];

/** The console sends it with every request. A page of another site cannot, without a preflight. */
export const CONSOLE_HEADER = 'holdfast-console';
export const KEY_COOKIE = 'holdfast-key';

/** A list to choose from; callers with more projects know their names. */
const PROJECTS_MAX = 100;

export const coordinatorRoutes: readonly Route[] = routesOf(coordinatorOperations, {
  async readCaller({ store, auth, hasLinks, hasArchive, hasAdmin, demo }, { caller }) {
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
      command: ownCommand(),
      hasDemo: demo !== undefined,
    };
    return { status: 200, body, headers: { 'cache-control': 'no-store' } };
  },

  signIn: async (_, { header, isEncrypted }) => {
    const key = /^Bearer (\S+)$/i.exec(header('authorization') ?? '')?.[1];
    return key === undefined ? { status: 204 } : cookieReply(`${key}`, isEncrypted);
  },

  signOut: async (_, { header, isEncrypted }) => {
    if (header('authorization') === undefined) requireOwnPage('POST', header);
    return cookieReply('; Max-Age=0', isEncrypted);
  },

  readDemo: async (coordinator) => ({ status: 200, body: demoOf(coordinator).read() }),

  async playDemo(coordinator, { params }) {
    const found = demoOf(coordinator);
    if (found.read().isPlaying) {
      throw new ProblemReply(
        'demo-busy',
        'A scene of the demo is playing. Nothing was started. Wait until it ends.',
      );
    }
    found.play(params.scene as Scene);
    return { status: 202, body: found.read() };
  },

  checkHealth: async () => ({ status: 200, body: { status: 'ok' } }),

  async checkReadiness(coordinator, { signal }) {
    const found = signal.aborted ? 'away' : await storeFound(coordinator);
    if (found === 'away') {
      throw new ProblemReply(
        'not-ready',
        'Not ready: the store did not respond within 1 s, or the coordinator is shutting down.',
      );
    }
    if (found !== undefined) {
      const { to, reason } = found;
      const why = `The store is sealed: it was exported to ${JSON.stringify(to)} (${reason}) and accepts no writes. Use a coordinator of the new store.`;
      throw new ProblemReply('store-sealed', why);
    }
    return { status: 200, body: { status: 'ok' } };
  },

  async readMetrics({ metrics: counted }, { caller }) {
    if (counted === undefined) {
      throw new ProblemReply(
        'metrics-off',
        'Metrics need the package prom-client. Install it beside holdfast: npm install prom-client.',
      );
    }
    const { key, isOfAll, project } = caller;
    const { type, text } = await counted(key === undefined || isOfAll ? undefined : project);
    return { status: 200, raw: { type, bytes: Buffer.from(text) } };
  },
});

const OWN_PAGES: ReadonlySet<string> = new Set(['same-origin', 'none']);

/** For a request that has nothing but its cookie. */
export function requireOwnPage(method: Route['method'], header: Header): void {
  const isOwnPage = OWN_PAGES.has(header('sec-fetch-site') ?? 'same-origin');
  if (isOwnPage && (method === 'GET' || header(CONSOLE_HEADER) !== undefined)) return;
  throw new ProblemReply(
    'foreign-page',
    `Only pages of the console can use the key in the cookie. Nothing was done. Send the key as "Authorization: Bearer hf_…" instead.`,
  );
}

function cookieReply(
  value: string,
  isEncrypted: RouteCall<never, never, never>['isEncrypted'],
): Reply {
  const rules = `Path=/; HttpOnly; SameSite=Strict${isEncrypted ? '; Secure' : ''}`;
  return { status: 204, headers: { 'set-cookie': `${KEY_COOKIE}=${value}; ${rules}` } };
}

// The demo of `holdfast dev`: real worker processes, which are really stopped.

function demoOf({ demo }: Coordinator): Demo {
  if (demo !== undefined) return demo;
  throw new ProblemReply(
    'demo-off',
    'This coordinator has no demo. Start `holdfast dev` without a module.',
  );
}

// Liveness, readiness and metrics.

const READY_MS = 1_000;

type Found = Seal | 'away' | undefined;

/** Anyone may ask, so all requests within this time share one look at the store. */
const CACHE_MS = 1_000;
const reads: WeakMap<Coordinator, SharedRead<Found>> = new WeakMap();

function storeFound(coordinator: Coordinator): Promise<Found> {
  const { clock } = coordinator;
  const read = (): Promise<Found> => checkStore(coordinator);
  const shared = reads.get(coordinator) ?? new SharedRead({ read, clock, ageMs: CACHE_MS });
  reads.set(coordinator, shared);
  return shared.found();
}

/** Undefined if the store is usable. */
function checkStore({ store, timers }: Coordinator): Promise<Found> {
  return new Promise((resolve) => {
    const cancel = timers.after(READY_MS, () => resolve('away'));
    const settle = (found: Found): void => {
      cancel();
      resolve(found);
    };
    Promise.all([store.seals.read(), store.access.project(DEFAULT_PROJECT)]).then(
      ([seal]) => settle(seal),
      () => settle('away'),
    );
  });
}
