// holdfast keys recover: for who has lost the key that makes keys. It asks no coordinator; what it needs is the
// store itself, and whoever can write to that may do everything anyway. It is on record (J-7).

import { hostname, userInfo } from 'node:os';
import {
  type CommandSpec,
  durationText,
  type ExitCode,
  type Flag,
  listText,
  refuseWords,
  type Typed,
  UsageProblem,
  unknown,
  type Verb,
  verbsOf,
  wordsOf,
} from '../../cli/command.ts';
import { configFlags, configuredBy } from '../../cli/configuration.ts';
import { CONNECTION_FLAGS, clientFor, projectFor } from '../../cli/remote/connection.ts';
import { PAGE_FLAGS, showPages } from '../../cli/remote/pages.ts';
import { print, printLine, printProblem } from '../../cli/screen.ts';
import { inspectStore, openStore } from '../../embedded/open-store.ts';
import { hidden } from '../../server/config.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import { Fault } from '../../support/fault.ts';
import { stampOutside } from '../audit/api.ts';
import { describeAccessRefusal, isRole, newKey, ROLES, type Role, writeKey } from './model.ts';

export const recover: Verb = {
  usage:
    'holdfast keys recover --store postgres://… | --store ./holdfast.db [--reason "…"] [--json]   (on the store itself; no key is needed)',
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  refuseWords(recover, typed);
  const { config } = await configuredBy(typed);
  const place = String(hidden('store', config.store));
  // One that is not there would be made, and the key would open nothing that anybody uses.
  const { exists } = await inspectStore(config.store, config.postgres);
  if (!exists) {
    throw new Fault(
      'store-unknown',
      `There is no store at ${place}, so there is nothing to recover. Say which one the coordinator uses: --store, or HOLDFAST_STORE.`,
    );
  }
  const store = await openStore(config.store, config.postgres);
  try {
    const made = await added(store, typed.text('reason'));
    if (typed.isSet('json')) printLine(made);
    else {
      printProblem(
        `key ${made.id} was made in ${place}: it may do everything in all projects. It is shown only now; end it when you have made the keys that you need (holdfast keys revoke ${made.id}):`,
      );
      print(made.key);
    }
    return 0;
  } finally {
    await store.close();
  }
}

async function added(
  store: CoordinatorStore,
  reason = 'the keys of all projects were lost',
): Promise<{ readonly id: string; readonly key: string }> {
  const { id, secret, digest } = newKey();
  const by = `${userInfo().username}@${hostname()}`;
  const answer = await store.access.addKey({
    ...{ id, digest, name: 'recovered key', roles: ROLES, createdBy: by },
    audit: stampOutside('recover-key', { by, reason }),
  });
  if (answer.kind === 'refused') throw new Fault(answer.why, describeAccessRefusal(answer));
  return { id, key: writeKey({ id, secret }) };
}

// holdfast keys: who may do what. What opens is printed once, and alone on stdout, so that it can be piped to
// where secrets are kept.

const FLAGS: Readonly<Record<string, Flag>> = {
  roles: { value: 'a,b', help: `create: ${ROLES.join(', ')}; separated by commas (required)` },
  'all-projects': { help: 'create: Valid for all projects, instead of --project' },
  'expires-in': { value: 'duration', help: 'create: Lifetime, such as 90d (default unlimited)' },
  'ends-in': {
    value: 'duration',
    help: 'rotate, revoke: Time until the old key ends, such as 1h (default 1h for rotate, at once for revoke)',
  },
  made: {
    help: 'revoke: Also revoke the keys that this key created, and the keys that those created',
  },
  ended: { help: 'list: Include revoked and expired keys' },
  reason: { value: 'text', help: 'recover: Reason, kept in the audit (default none)' },
  ...PAGE_FLAGS,
  ...CONNECTION_FLAGS,
  ...configFlags((name) => name === 'store' || name.startsWith('postgres.')),
};

const list: Verb = {
  usage:
    'holdfast keys [list] [--project shop] [--ended] [--limit 100] [--cursor …] [--all] [--json]',
  async execute(typed) {
    const project = projectFor(typed);
    return showPages(list, typed, {
      path: '/v1/keys',
      columns: ['id', 'name', 'roles', 'project', 'createdAt', 'createdBy', 'expiresAt', 'endedAt'],
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
    const roles = rolesOf(typed.text('roles'));
    const project = scopeOf(typed);
    const expiresInMs = durationText('expires-in', typed.text('expires-in'));
    const { keys } = await clientFor(typed);
    const made = await keys.make({
      ...{ name, roles: [...roles], project },
      ...(expiresInMs === undefined ? {} : { expiresInMs }),
    });
    return shownOnce(typed, made, `key ${made.id} was made`);
  },
};

const rotate: Verb = {
  usage: 'holdfast keys rotate <id> [--ends-in 1h] [--json]',
  async execute(typed) {
    const [id] = wordsOf(rotate, typed, ['key']);
    const endsInMs = durationText('ends-in', typed.text('ends-in'));
    const made = await (await clientFor(typed)).keys.rotate(id, endsInMs);
    const what = `key ${made.id} was made; ${id} opens until ${made.oldEndsAt}`;
    return shownOnce(typed, made, what);
  },
};

const revoke: Verb = {
  usage: 'holdfast keys revoke <id> [--made] [--ends-in 1h] [--json]',
  async execute(typed) {
    const [id] = wordsOf(revoke, typed, ['key']);
    const inMs = durationText('ends-in', typed.text('ends-in'));
    const ended = await (await clientFor(typed)).keys.end(
      id,
      inMs,
      typed.isSet('made') ? { made: true } : {},
    );
    if (typed.isSet('json')) printLine({ id, ...ended });
    else if (ended.changed) print(`key ${id} opens nothing from ${ended.endedAt} on`);
    else print(`nothing to change: key ${id} ends at ${ended.endedAt}`);
    if (!typed.isSet('json')) {
      for (const each of ended.made ?? []) print(`key ${each}, which it made, ends with it`);
    }
    return 0;
  },
};

function rolesOf(text: string | undefined): readonly Role[] {
  const names = listText(text) ?? [];
  if (names.length === 0) throw new UsageProblem(`Which roles? ${create.usage}`);
  return names.map((name) => {
    if (isRole(name)) return name;
    throw unknown('role', name, ROLES);
  });
}

function scopeOf(typed: Typed): string | null {
  const project = projectFor(typed);
  const isOfAll = typed.isSet('all-projects');
  if (isOfAll && typed.text('project') !== undefined) {
    throw new UsageProblem('--project or --all-projects: a key is of one project or of all.');
  }
  if (isOfAll) return null;
  if (project !== undefined) return project;
  throw new UsageProblem(`Of which project? ${create.usage}`);
}

function shownOnce(
  typed: Typed,
  made: { readonly id: string; readonly key: string },
  what: string,
): ExitCode {
  if (typed.isSet('json')) {
    printLine(made);
    return 0;
  }
  printProblem(`${what}. It is shown only now:`);
  print(made.key);
  return 0;
}

export const keysCommand: CommandSpec = verbsOf(
  'keys',
  { list, create, rotate, revoke, recover },
  FLAGS,
);
