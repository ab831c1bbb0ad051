// holdfast init: a folder with a pipeline of one's own, its test, and its worker.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { type CommandSpec, type ExitCode, type Typed, UsageProblem } from './command.ts';
import { dependencyFor } from './init/dependency.ts';
import { projectFiles } from './init/project.ts';
import { leastNode, oldNode } from './node-version.ts';
import { print, printProblem } from './screen.ts';

export const initCommand: CommandSpec = {
  usage: 'holdfast init <folder>',
  flags: {},
  execute,
};

/** As npm takes it. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/;

async function execute({ words }: Typed): Promise<ExitCode> {
  const [folder, ...more] = words;
  if (folder === undefined) throw new UsageProblem(`Which folder? ${initCommand.usage}`);
  if (more.length > 0) throw new UsageProblem(`One folder at a time: ${initCommand.usage}`);
  const name = basename(resolve(folder));
  if (!NAME.test(name)) {
    throw new UsageProblem(
      `"${name}" cannot be the name of a package: lower-case letters, digits, ".", "_" and "-". Choose another folder.`,
    );
  }
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) {
    throw new UsageProblem(
      `${folder} is not empty, and nothing in it was changed. Choose a new folder.`,
    );
  }
  const { version, devDependencies: versions } = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { readonly version: string; readonly devDependencies: Readonly<Record<string, string>> };
  const holdfast = await dependencyFor(folder, version);
  const files = projectFiles({ name, holdfast, versions });
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
  print(
    [
      `${folder} has a pipeline (order.ts), a test of it (order.test.ts) and a worker (worker.ts). Next, with Node ${await leastNode()} or newer:`,
      '',
      `  cd ${folder} && npm install && npm test && npm run check`,
      '  npm run dev      # a coordinator with a console, which runs order.ts',
      `  npx holdfast submit order '{"item":"tent","guest":"ann"}'   # in another terminal`,
    ].join('\n'),
  );
  const old = await oldNode();
  if (old !== undefined) printProblem(`\n${old} Use a newer one in ${folder}.`);
  return 0;
}
