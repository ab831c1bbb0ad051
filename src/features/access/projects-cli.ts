// holdfast projects: what a coordinator keeps apart.

import {
  type CommandSpec,
  durationText,
  type ExitCode,
  type Flag,
  listText,
  type Typed,
  UsageProblem,
  unknown,
  type Verb,
  verbsOf,
  wordsOf,
} from '../../cli/command.ts';
import { CONNECTION_FLAGS, clientFor } from '../../cli/remote/connection.ts';
import { PAGE_FLAGS, showPages } from '../../cli/remote/pages.ts';
import { printFields } from '../../cli/remote/show.ts';
import { print, printLine } from '../../cli/screen.ts';
import { CallRefused } from '../../client/calls.ts';
import { KEEP_NAMES } from '../retention/model.ts';
import type { Projects } from './client.ts';
import type { ProjectBody } from './messages.ts';
import { QUOTA_NAMES } from './model.ts';

const FLAGS: Readonly<Record<string, Flag>> = {
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

const list: Verb = {
  usage: 'holdfast projects [list] [--limit 100] [--cursor …] [--all] [--json]',
  execute: (typed) =>
    showPages(list, typed, {
      path: '/v1/projects',
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

/** What is not said stays as it is: a put replaces the settings whole (P-1), so they are read before. */
async function putProject(typed: Typed): Promise<ExitCode> {
  const [name] = wordsOf(put, typed, ['project']);
  const said = {
    title: typed.text('title'),
    keep: listText(typed.text('keep'))?.map(keptFor),
    quota: listText(typed.text('quota'))?.map(quotaFor),
  };
  const { projects } = await clientFor(typed);
  const settings = changed(await settingsOf(projects, name), said);
  const { existing } = await projects.put(name, settings);
  if (typed.isSet('json')) printLine({ name, existing, ...settings });
  else print(existing ? `project ${name} has these settings now` : `project ${name} was made`);
  return 0;
}

async function settingsOf(projects: Projects, name: string): Promise<ProjectBody> {
  try {
    const { name: _, createdAt: __, ...settings } = await projects.read(name);
    return settings;
  } catch (thrown) {
    if (thrown instanceof CallRefused && thrown.code === 'not-found') return {};
    throw thrown;
  }
}

type Kept = readonly [status: string, keepMs: number | null | undefined];

interface Said {
  readonly title: string | undefined;
  readonly keep: readonly Kept[] | undefined;
  readonly quota: readonly GivenQuota[] | undefined;
}

type GivenQuota = readonly [name: string, limit: number | undefined];

function changed({ title, keepMs, quotas }: ProjectBody, said: Said): ProjectBody {
  const kept = merged(keepMs, said.keep);
  const limits = merged(quotas, said.quota);
  const called = said.title ?? title;
  return {
    ...(called ? { title: called } : {}),
    ...(kept && { keepMs: kept }),
    ...(limits && { quotas: limits }),
  };
}

/** What is said to be undefined is taken away. */
function merged<Value>(
  before: Readonly<Record<string, Value>> | undefined,
  said: readonly (readonly [string, Value | undefined])[] = [],
): Readonly<Record<string, Value>> | undefined {
  const all = { ...before, ...Object.fromEntries(said) };
  const left = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

function quotaFor(text: string): GivenQuota {
  const [name = '', limit, more] = text.split('=');
  if (limit === undefined || more !== undefined || !/^(\d{1,15}|default)$/.test(limit)) {
    throw new UsageProblem(`--quota takes pairs such as executions=5000; got "${text}".`);
  }
  if (!(QUOTA_NAMES as readonly string[]).includes(name)) {
    throw unknown('quota', name, [...QUOTA_NAMES]);
  }
  return [name, limit === 'default' ? undefined : Number(limit)];
}

function keptFor(text: string): Kept {
  const [status = '', time, more] = text.split('=');
  if (time === undefined || more !== undefined) {
    throw new UsageProblem(`--keep takes pairs such as completed=30d; got "${text}".`);
  }
  if (!(KEEP_NAMES as readonly string[]).includes(status)) {
    throw unknown('end of an execution', status, [...KEEP_NAMES]);
  }
  if (time === 'default') return [status, undefined];
  return [status, time === 'forever' ? null : (durationText('keep', time) ?? 0)];
}

export const projectsCommand: CommandSpec = verbsOf('projects', { list, get, put }, FLAGS);
