// holdfast projects: what a coordinator keeps apart.

import { TERMINAL } from '../../execution/execution.ts';
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
  title: { type: 'string', what: 'put: what people call it' },
  keep: {
    type: 'string',
    what: 'put: how long the ended are kept, such as completed=30d,failed=90d; for ever unless said',
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

/** Its settings are replaced whole (P-1). */
async function putProject(typed: Typed): Promise<ExitCode> {
  const [name] = wordsOf(put, typed, ['project']);
  const settings = settingsOf(typed);
  const { projects } = await clientFor(typed);
  const { existing } = await projects.put(name, settings);
  if (typed.isSet('json')) printLine({ name, existing });
  else print(existing ? `project ${name} has these settings now` : `project ${name} was made`);
  return 0;
}

function settingsOf(typed: Typed): ProjectBody {
  const title = typed.text('title');
  const keep = listText(typed.text('keep'));
  return {
    ...(title === undefined ? {} : { title }),
    ...(keep === undefined ? {} : { keepMs: Object.fromEntries(keep.map(keptFor)) }),
  };
}

function keptFor(text: string): readonly [string, number] {
  const [status = '', time, more] = text.split('=');
  if (time === undefined || more !== undefined) {
    throw new UsageProblem(`--keep takes pairs such as completed=30d; got "${text}".`);
  }
  if (!([...TERMINAL] as readonly string[]).includes(status)) {
    throw unknown('end of an execution', status, [...TERMINAL]);
  }
  return [status, durationText('keep', time) ?? 0];
}

export const projectsCommand: CommandSpec = verbsOf('projects', { list, get, put }, FLAGS);
