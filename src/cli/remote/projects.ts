// holdfast projects: what a coordinator keeps apart.

import type { Projects } from '../../client/admin.ts';
import { CallRefused } from '../../client/calls.ts';
import { KEEP_NAMES } from '../../execution/retention.ts';
import type { ProjectBody } from '../../protocol/messages/admin.ts';
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
} from '../command.ts';
import { print, printLine } from '../screen.ts';
import { CONNECTION_FLAGS, clientFor } from './connection.ts';
import { PAGE_FLAGS, showPages } from './pages.ts';
import { printFields } from './show.ts';

const FLAGS: Readonly<Record<string, Flag>> = {
  title: { type: 'string', what: "put: what people call it; '' takes it away" },
  keep: {
    type: 'string',
    what: 'put: how long the ended are kept, such as completed=30d,failed=forever; completed=default, and what was never said: as the coordinator was told',
  },
  ...PAGE_FLAGS,
  ...CONNECTION_FLAGS,
};

const list: Verb = {
  usage: 'holdfast projects [list] [--limit 100] [--cursor …] [--all] [--json]',
  execute: (typed) =>
    showPages(list, typed, {
      path: '/v1/projects',
      columns: ['name', 'title', 'keepMs', 'createdAt'],
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
  usage: 'holdfast projects put <name> [--title "…"] [--keep completed=30d,failed=90d]',
  execute: putProject,
};

/** What is not said stays as it is: a put replaces the settings whole (P-1), so they are read before. */
async function putProject(typed: Typed): Promise<ExitCode> {
  const [name] = wordsOf(put, typed, ['project']);
  const said = { title: typed.text('title'), keep: listText(typed.text('keep'))?.map(keptFor) };
  const { projects } = await clientFor(typed);
  const settings = changed(await settingsOf(projects, name), said);
  const { existing } = await projects.put(name, settings);
  if (typed.isSet('json')) printLine({ name, existing, ...settings });
  else print(existing ? `project ${name} has these settings now` : `project ${name} was made`);
  return 0;
}

async function settingsOf(projects: Projects, name: string): Promise<ProjectBody> {
  try {
    const { title, keepMs } = await projects.read(name);
    return {
      ...(title === undefined ? {} : { title }),
      ...(keepMs === undefined ? {} : { keepMs }),
    };
  } catch (thrown) {
    if (thrown instanceof CallRefused && thrown.code === 'not-found') return {};
    throw thrown;
  }
}

type Kept = readonly [status: string, keepMs: number | null | undefined];

interface Said {
  readonly title: string | undefined;
  readonly keep: readonly Kept[] | undefined;
}

function changed({ title, keepMs }: ProjectBody, said: Said): ProjectBody {
  const kept = { ...keepMs, ...Object.fromEntries(said.keep ?? []) };
  const left = Object.entries(kept).filter(([, time]) => time !== undefined);
  const called = said.title ?? title;
  return {
    ...(called ? { title: called } : {}),
    ...(left.length === 0 ? {} : { keepMs: Object.fromEntries(left) }),
  };
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
