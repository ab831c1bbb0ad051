// `holdfast keys recover` creates a new key when every admin key is lost. It works on the store
// itself, without a coordinator: a user who can write to the store can do everything anyway. The
// audit records it (J-7).

import { hostname, userInfo } from 'node:os';
import {
  type CommandSpec,
  commandOfVerbs,
  durationText,
  type ExitCode,
  type Flag,
  listText,
  refuseWords,
  requiredText,
  type Typed,
  UsageProblem,
  unknown,
  type Verb,
  wordsOf,
} from '../../cli/command.ts';
import { configFlags, configuredBy } from '../../cli/configuration.ts';
import { CONNECTION_FLAGS, clientFor, projectFor } from '../../cli/remote/connection.ts';
import { PAGE_FLAGS, showPages } from '../../cli/remote/pages.ts';
import { printFields } from '../../cli/remote/show.ts';
import { print, printLine, printProblem } from '../../cli/screen.ts';
import { CallRefused, type HoldfastClient } from '../../client/client.ts';
import { inspectStore, openStore } from '../../embedded/open-store.ts';
import { hidden } from '../../server/config.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import { Fault } from '../../support/fault.ts';
import { wordsIn } from '../../support/options.ts';
import { stampOutside } from '../audit/api.ts';
import { KEEP_NAMES } from '../retention/model.ts';
import type { ProjectBody } from './messages.ts';
import {
  describeAccessRefusal,
  isRole,
  newKey,
  QUOTA_NAMES,
  ROLES,
  type Role,
  writeKey,
} from './model.ts';

const RECOVERY_REASON = 'the keys of all projects were lost';

export const recover: Verb = {
  usage:
    'holdfast keys recover [--store postgres://… | --store ./holdfast.db] [--reason "…"] [--json]  # needs the store, not a key',
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  refuseWords(recover, typed);
  const { config } = await configuredBy(typed);
  const place = String(hidden('store', config.store));
  // Opening a missing store would create one, with a key for a store that no coordinator uses.
  const { exists } = await inspectStore(config.store, config.postgres);
  if (!exists) {
    throw new Fault(
      'store-unknown',
      `There is no store at ${place}. No key was created. Pass the store that the coordinator uses: --store, or HOLDFAST_STORE.`,
    );
  }
  const store = await openStore(config.store, config.postgres);
  try {
    const created = await recovered(store, typed.text('reason'));
    if (typed.isSet('json')) printLine(created);
    else {
      printProblem(
        `Created key ${created.id} in ${place}. It allows everything in all projects and is shown only once. Create the keys that you need, then revoke it: holdfast keys revoke ${created.id}`,
      );
      print(created.key);
    }
    return 0;
  } finally {
    await store.close();
  }
}

async function recovered(
  store: CoordinatorStore,
  reason = RECOVERY_REASON,
): Promise<{ readonly id: string; readonly key: string }> {
  const { id, secret, digest } = newKey();
  const actor = `${userInfo().username}@${hostname()}`;
  const result = await store.access.createKey({
    ...{ id, digest, name: 'recovered key', roles: ROLES, createdBy: actor },
    audit: stampOutside('recover-key', { actor, reason }),
  });
  if (result.kind === 'refused') throw new Fault(result.why, describeAccessRefusal(result));
  return { id, key: writeKey({ id, secret }) };
}

// `holdfast keys` manages access keys. It prints a new key once and alone on stdout, so that you
// can pipe it to a secret store.

const FLAGS: Readonly<Record<string, Flag>> = {
  roles: { value: 'a,b', help: `create: ${ROLES.join(', ')}; separated by commas`, required: true },
  'all-projects': { help: 'create: Valid for all projects, instead of --project' },
  'expires-in': { value: 'duration', help: 'create: Lifetime, such as 90d (default unlimited)' },
  'ends-in': {
    value: 'duration',
    help: 'rotate, revoke: Time until the old key ends, such as 1h (default 1h for rotate, at once for revoke)',
  },
  descendants: {
    help: 'revoke: Also revoke the keys that this key created, and the keys that those created',
  },
  ended: { help: 'list: Include revoked and expired keys' },
  reason: {
    value: 'text',
    help: `recover: Reason, kept in the audit (default "${RECOVERY_REASON}")`,
  },
  ...PAGE_FLAGS,
  ...CONNECTION_FLAGS,
  project: {
    value: 'name',
    help: 'create, list: Project of the keys; create needs it or --all-projects (default for list: all that your access key reaches)',
    variable: 'HOLDFAST_PROJECT',
  },
  ...configFlags((name) => name === 'store' || name.startsWith('postgres.')),
};

const list: Verb = {
  usage:
    'holdfast keys [list] [--project shop] [--ended] [--limit 100] [--cursor …] [--all] [--json]',
  async execute(typed) {
    const project = projectFor(typed);
    return showPages(list, typed, {
      at: 'GET /v1/keys',
      columns: wordsIn('id name roles project createdAt createdBy expiresAt revokedAt'),
      filters: [],
      query: {
        ...(project === undefined ? {} : { project }),
        ...(typed.isSet('ended') ? { all: true } : {}),
      },
    });
  },
};

const create: Verb = {
  usage:
    'holdfast keys create <name> --roles submit,work (--project shop | --all-projects) [--expires-in 90d] [--json]',
  async execute(typed) {
    const [name] = wordsOf(create, typed, ['name']);
    const roles = rolesOf(requiredText({ ...create, flags: FLAGS }, typed, 'roles'));
    const project = scopeOf(typed);
    const expiresInMs = durationText('expires-in', typed.text('expires-in'));
    const { keys } = await clientFor(typed);
    const created = await keys.create({
      ...{ name, roles: [...roles], project },
      ...(expiresInMs === undefined ? {} : { expiresInMs }),
    });
    return shownOnce(typed, created, `Created key ${created.id}`);
  },
};

const rotate: Verb = {
  usage: 'holdfast keys rotate <id> [--ends-in 1h] [--json]',
  async execute(typed) {
    const [id] = wordsOf(rotate, typed, ['key']);
    const endsInMs = durationText('ends-in', typed.text('ends-in'));
    const created = await (await clientFor(typed)).keys.rotate(id, endsInMs);
    const what = `Created key ${created.id}; ${id} works until ${created.oldEndsAt}`;
    return shownOnce(typed, created, what);
  },
};

const revoke: Verb = {
  usage: 'holdfast keys revoke <id> [--descendants] [--ends-in 1h] [--json]',
  async execute(typed) {
    const [id] = wordsOf(revoke, typed, ['key']);
    const inMs = durationText('ends-in', typed.text('ends-in'));
    const revoked = await (await clientFor(typed)).keys.revoke(
      id,
      inMs,
      typed.isSet('descendants') ? { descendants: true } : {},
    );
    if (typed.isSet('json')) printLine({ id, ...revoked });
    else if (revoked.changed) print(`Revoked key ${id}, from ${revoked.revokedAt} on`);
    else print(`Nothing changed: key ${id} ends at ${revoked.revokedAt}`);
    if (!typed.isSet('json')) {
      for (const each of revoked.descendants ?? []) print(`Revoked key ${each}, which it created`);
    }
    return 0;
  },
};

function rolesOf(text: string): readonly Role[] {
  const names = listText(text) ?? [];
  if (names.length === 0) throw new UsageProblem(`--roles is required. Usage: ${create.usage}`);
  return names.map((name) => {
    if (isRole(name)) return name;
    throw unknown('role', name, ROLES);
  });
}

function scopeOf(typed: Typed): string | null {
  const project = projectFor(typed);
  const isOfAll = typed.isSet('all-projects');
  if (isOfAll && typed.text('project') !== undefined) {
    throw new UsageProblem('Pass either --project or --all-projects.');
  }
  if (isOfAll) return null;
  if (project !== undefined) return project;
  throw new UsageProblem(`--project or --all-projects is required. Usage: ${create.usage}`);
}

function shownOnce(
  typed: Typed,
  created: { readonly id: string; readonly key: string },
  what: string,
): ExitCode {
  if (typed.isSet('json')) {
    printLine(created);
    return 0;
  }
  printProblem(`${what}. It is shown only once:`);
  print(created.key);
  return 0;
}

export const keysCommand: CommandSpec = commandOfVerbs(
  'keys',
  { list, create, rotate, revoke, recover },
  FLAGS,
);

// `holdfast projects` manages the tenants of a coordinator.

const PROJECT_FLAGS: Readonly<Record<string, Flag>> = {
  title: { value: 'text', help: "put: Display name; '' removes it (default unchanged)" },
  keep: {
    value: 'status=duration,…',
    help: "put: Retention by status, such as completed=30d,failed=forever; completed=default uses the coordinator's (default unchanged)",
  },
  quota: {
    value: 'name=n,…',
    help: `put: Limits of ${QUOTA_NAMES.join(', ')}, such as executions=5000,keys=10; keys=default uses the coordinator's (default unchanged)`,
  },
  ...PAGE_FLAGS,
  ...CONNECTION_FLAGS,
};

const listProjects: Verb = {
  usage: 'holdfast projects [list] [--limit 100] [--cursor …] [--all] [--json]',
  execute: (typed) =>
    showPages(listProjects, typed, {
      at: 'GET /v1/projects',
      columns: ['name', 'title', 'keepMs', 'quotas', 'createdAt'],
      filters: [],
    }),
};

const get: Verb = {
  usage: 'holdfast projects get <name>',
  async execute(typed) {
    const [name] = wordsOf(get, typed, ['project']);
    const project = await (await clientFor(typed)).projects.read(name);
    if (typed.isSet('json')) printLine(project);
    else printFields(project);
    return 0;
  },
};

const put: Verb = {
  usage:
    'holdfast projects put <name> [--title "…"] [--keep completed=30d,failed=90d] [--quota executions=5000]',
  execute: putProject,
};

/**
 * Flags that you leave out keep their setting. A put replaces all settings (P-1), so read them
 * first.
 */
async function putProject(typed: Typed): Promise<ExitCode> {
  const [name] = wordsOf(put, typed, ['project']);
  const given = {
    title: typed.text('title'),
    keep: listText(typed.text('keep'))?.map(keptFor),
    quota: listText(typed.text('quota'))?.map(quotaFor),
  };
  const client = await clientFor(typed);
  const settings = changed(await settingsOf(client, name), given);
  const { existing } = await client.projects.put(name, settings);
  if (typed.isSet('json')) printLine({ name, existing, ...settings });
  else print(existing ? `Changed project ${name}` : `Created project ${name}`);
  return 0;
}

async function settingsOf({ projects }: HoldfastClient, name: string): Promise<ProjectBody> {
  try {
    const { name: _, createdAt: __, ...settings } = await projects.read(name);
    return settings;
  } catch (thrown) {
    if (thrown instanceof CallRefused && thrown.code === 'not-found') return {};
    throw thrown;
  }
}

type Kept = readonly [status: string, keepMs: number | null | undefined];

interface TypedSettings {
  readonly title: string | undefined;
  readonly keep: readonly Kept[] | undefined;
  readonly quota: readonly GivenQuota[] | undefined;
}

type GivenQuota = readonly [name: string, limit: number | undefined];

function changed({ title, keepMs, quotas }: ProjectBody, given: TypedSettings): ProjectBody {
  const kept = merged(keepMs, given.keep);
  const limits = merged(quotas, given.quota);
  const called = given.title ?? title;
  return {
    ...(called ? { title: called } : {}),
    ...(kept && { keepMs: kept }),
    ...(limits && { quotas: limits }),
  };
}

/** An undefined value removes its setting. */
function merged<Value>(
  before: Readonly<Record<string, Value>> | undefined,
  entries: readonly (readonly [string, Value | undefined])[] = [],
): Readonly<Record<string, Value>> | undefined {
  const all = { ...before, ...Object.fromEntries(entries) };
  const left = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

function quotaFor(text: string): GivenQuota {
  const [name = '', limit, more] = text.split('=');
  if (limit === undefined || more !== undefined || !/^(\d{1,15}|default)$/.test(limit)) {
    throw new UsageProblem(`--quota must be pairs such as executions=5000; got "${text}".`);
  }
  if (!(QUOTA_NAMES as readonly string[]).includes(name)) {
    throw unknown('quota', name, [...QUOTA_NAMES]);
  }
  return [name, limit === 'default' ? undefined : Number(limit)];
}

function keptFor(text: string): Kept {
  const [status = '', time, more] = text.split('=');
  if (time === undefined || more !== undefined) {
    throw new UsageProblem(`--keep must be pairs such as completed=30d; got "${text}".`);
  }
  if (!(KEEP_NAMES as readonly string[]).includes(status)) {
    throw unknown('end of an execution', status, [...KEEP_NAMES]);
  }
  if (time === 'default') return [status, undefined];
  return [status, time === 'forever' ? null : (durationText('keep', time) ?? 0)];
}

export const projectsCommand: CommandSpec = commandOfVerbs(
  'projects',
  { list: listProjects, get, put },
  PROJECT_FLAGS,
);
