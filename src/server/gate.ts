// Identifies the caller and its rights. The gate caches a key for a few seconds, so a revoked key
// may work for that long (stated in docs/operate/keys.md).

import { DEFAULT_PROJECT, type ProjectName, parseProject } from '../execution/names.ts';
import { type AccessKey, opens, ROLES, type Role, readKey } from '../features/access/model.ts';
import type { AccessStore } from '../features/access/port.ts';
import { ANONYMOUS } from '../features/audit/model.ts';
import { KEY_COOKIE, requireOwnPage } from '../protocol/rest/coordinator.ts';
import { type Caller, ProblemReply, type Route } from '../protocol/rest/route.ts';
import { type Clock, toInstant } from '../support/clock.ts';

/** The part of a request that identifies the caller. */
export interface AccessRequest {
  readonly authorization: string | undefined;
  /** For keys of all projects: the requested project. */
  readonly project: string | undefined;
  /** Called with a valid key, whatever its roles; may throw. */
  readonly opened?: (key: string) => Promise<void>;
}

export interface Gate {
  admit(route: Pick<Route, 'allows' | 'needs'>, request: AccessRequest): Promise<Caller>;
}

export const KEY_CACHE_MS = 5_000;
const CACHED_MAX = 10_000;

/** For a single user on one machine: every caller that can reach the port may do everything. */
export function openGate(): Gate {
  return {
    async admit(_route, { project }) {
      return {
        name: ANONYMOUS,
        project: projectNamed(project),
        isOfAll: true,
        roles: new Set<Role>(ROLES),
      };
    },
  };
}

export class KeyGate implements Gate {
  readonly #access: AccessStore;
  readonly #clock: Clock;
  readonly #keys: Map<string, { readonly key: AccessKey; readonly readAt: number }> = new Map();
  readonly #projects: Map<ProjectName, number> = new Map();

  constructor(access: AccessStore, clock: Clock) {
    this.#access = access;
    this.#clock = clock;
  }

  async admit(route: Pick<Route, 'allows' | 'needs'>, request: AccessRequest): Promise<Caller> {
    if (route.allows === 'public') return PUBLIC_CALLER;
    const key = await this.#keyOf(request);
    await request.opened?.(key.id);
    const roles = new Set(key.roles);
    const { allows, needs = [] } = route;
    if (!allows.some((role) => roles.has(role)) || !needs.every((role) => roles.has(role))) {
      const wanted = [allows.join(' or '), ...needs].join(' and ');
      throw new ProblemReply(
        'role-missing',
        `This operation needs a key with role ${wanted}; key ${key.id} has ${key.roles.join(', ')}. Nothing was done. Use another key.`,
      );
    }
    const isOfAll = key.project === undefined;
    const project = await this.#projectOf(key, request.project);
    return { key: key.id, name: key.name, project, isOfAll, roles };
  }

  async #keyOf({ authorization }: AccessRequest): Promise<AccessKey> {
    const presented = readKey(/^Bearer (\S+)$/i.exec(authorization ?? '')?.[1] ?? '');
    const key = presented && (await this.#read(presented.id));
    const now = toInstant(this.#clock.wallMs());
    // One response for every wrong key, so that guessing reveals nothing.
    if (presented === undefined || !opens(key, presented, now)) {
      const what = authorization === undefined ? NO_KEY : WRONG_KEY;
      throw new ProblemReply('key-required', `${what} ${HOW_TO_SEND}`);
    }
    return key;
  }

  async #read(id: string): Promise<AccessKey | undefined> {
    const now = this.#clock.monotonicMs();
    const known = this.#keys.get(id);
    if (known !== undefined && now - known.readAt < KEY_CACHE_MS) return known.key;
    const key = await this.#access.key(id);
    if (key === undefined) {
      // Invented ids must not displace known keys from the cache.
      this.#keys.delete(id);
      return undefined;
    }
    if (this.#keys.size >= CACHED_MAX) this.#keys.clear();
    this.#keys.set(id, { key, readAt: now });
    return key;
  }

  async #projectOf(key: AccessKey, requested: string | undefined): Promise<ProjectName> {
    if (key.project !== undefined) {
      if (requested === undefined || requested === key.project) return key.project;
      throw new ProblemReply(
        'project-denied',
        `Key ${key.id} belongs to another project than the request names. Nothing was done. Use a key of that project, or leave the project out.`,
      );
    }
    const project = projectNamed(requested);
    const now = this.#clock.monotonicMs();
    const readAt = this.#projects.get(project);
    if (readAt !== undefined && now - readAt < KEY_CACHE_MS) return project;
    if ((await this.#access.project(project)) === undefined) {
      throw await this.#unknown(project, requested);
    }
    this.#projects.set(project, now);
    return project;
  }

  /** Only keys for all projects come here, and they may see every name. */
  async #unknown(project: ProjectName, requested: string | undefined): Promise<ProblemReply> {
    const known = await this.#access.projects({ limit: NAMED_MAX });
    const names = known.map((each) => each.name).join(', ');
    const why = requested === undefined ? ', the default' : '';
    const which =
      names === ''
        ? ''
        : ` The projects are: ${names}. Name one: --project, HOLDFAST_PROJECT, or the header holdfast-project.`;
    return new ProblemReply(
      'project-unknown',
      `There is no project ${JSON.stringify(project)}${why}.${which} An admin can create it: holdfast projects put ${project} (PUT /v1/projects/${project}).`,
    );
  }
}

const NAMED_MAX = 10;

const NO_KEY = 'The request has no access key.';
const WRONG_KEY = 'The access key is unknown, revoked, expired or incomplete.';
const HOW_TO_SEND =
  'Nothing was done. Send a valid key as "Authorization: Bearer hf_…". The command line reads HOLDFAST_KEY; openWorker and HoldfastClient take `key`.';

const PUBLIC_CALLER: Caller = {
  name: ANONYMOUS,
  project: DEFAULT_PROJECT,
  isOfAll: false,
  roles: new Set(),
};

function projectNamed(text: string | undefined): ProjectName {
  return text === undefined ? DEFAULT_PROJECT : parseProject(text);
}

// Reads a browser's key from its cookie (ADR 0025). Requests that a page of another site triggers
// are refused. The cookie is SameSite=Strict, and browsers send the origin of a request. Writes
// also need a header that no other page can set without a permission, which the coordinator never
// grants.

type Header = (name: string) => string | undefined;

/** An explicit header wins, because programs have no cookies. */
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

// Without keys, any caller that reaches the port may do everything, but a foreign page in the
// owner's browser must not. Its requests have its own name in Host or Origin (DNS rebinding,
// cross-site posts).

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

export function requireOwnHost(host: string | undefined, origin: string | undefined): void {
  const isOwn = host !== undefined && LOOPBACK.test(host);
  // A page of another local port belongs to another program.
  const isOwnPage = origin === undefined || isOriginOf(origin, host);
  if (isOwn && isOwnPage) return;
  throw new ProblemReply(
    'foreign-host',
    'Authentication is off, so the coordinator accepts only requests to localhost, and from its own pages. Nothing was done. Start it with --auth keys to allow others.',
  );
}

function isOriginOf(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host) || host === '::1';
}
