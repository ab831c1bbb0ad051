// `holdfast init` creates a project from a template: a pipeline, its test, and a program that runs it.

import { execFile } from 'node:child_process';
import { access, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Fault } from '../support/fault.ts';
import { isCheckout } from '../support/process-about.ts';
import { type CommandSpec, type ExitCode, type Typed, UsageProblem } from './command.ts';
import { TEMPLATES, type TemplateName } from './init-templates.ts';
import { leastNode, oldNode } from './node-version.ts';
import { print, printProblem } from './screen.ts';

const NAMES = Object.keys(TEMPLATES) as readonly TemplateName[];
const DEFAULT: TemplateName = 'coordinator';

export const initCommand: CommandSpec = {
  usage: `holdfast init <folder> [--template ${NAMES.join('|')}]`,
  flags: {
    template: {
      value: NAMES.join('|'),
      help: `${NAMES.map((each) => `${each}: ${TEMPLATES[each].about}`).join('; ')} (default ${DEFAULT})`,
    },
  },
  execute,
};

/** A package name that npm accepts. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/;

async function execute({ words, text }: Typed): Promise<ExitCode> {
  const [folder, ...more] = words;
  if (folder === undefined)
    throw new UsageProblem(`<folder> is required. Usage: ${initCommand.usage}`);
  if (more.length > 0) throw new UsageProblem(`Pass one folder. Usage: ${initCommand.usage}`);
  const given = text('template') ?? DEFAULT;
  const template = NAMES.find((each) => each === given);
  if (template === undefined) {
    throw new UsageProblem(
      `There is no template "${given}". Nothing was written. Pass --template ${NAMES.join(', ')}.`,
    );
  }
  const name = basename(resolve(folder));
  if (!NAME.test(name)) {
    throw new UsageProblem(
      `"${name}" is not a valid package name: use lower-case letters, digits, ".", "_" and "-". Nothing was written. Choose another folder.`,
    );
  }
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) {
    throw new UsageProblem(`${folder} is not empty. Nothing was written. Choose a new folder.`);
  }
  const { version, devDependencies: versions } = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { readonly version: string; readonly devDependencies: Readonly<Record<string, string>> };
  const holdfast = await dependencyFor(folder, version);
  const files = await projectFiles({ name, holdfast, versions, template });
  for (const [path, content] of Object.entries(files)) {
    await writeFile(join(folder, path), content);
  }
  print(
    [
      `${folder} has ${TEMPLATES[template].about}. Next, with Node ${await leastNode()} or newer:`,
      '',
      `  cd ${folder} && npm install && npm test && npm run check`,
      ...TEMPLATES[template].commands.map((each) => `  ${each}`),
    ].join('\n'),
  );
  const old = await oldNode();
  if (old !== undefined) printProblem(`\n${old} Run that in ${folder}.`);
  return 0;
}

// Finds the dependency for a new project: the registry, or the tarball that this package was
// installed from. A checkout is packed into the new folder, which then does not depend on it.

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/[/\\]$/, '');
const run = promisify(execFile);

/** The dependency for the package.json in `folder`. */
export async function dependencyFor(folder: string, version: string): Promise<string> {
  if (basename(dirname(ROOT)) === 'node_modules') {
    return (await tarballFor(folder)) ?? `^${version}`;
  }
  return isCheckout() ? packInto(folder) : `file:${pathFrom(folder, ROOT)}`;
}

/** npm records the origin of each installed package beside it. */
async function tarballFor(folder: string): Promise<string | undefined> {
  const modules = dirname(ROOT);
  const noted = await readFile(join(modules, '.package-lock.json'), 'utf8').catch(() => '{}');
  const { packages } = JSON.parse(noted) as {
    readonly packages?: Readonly<Record<string, { readonly resolved?: string }>>;
  };
  const from = packages?.[`node_modules/${basename(ROOT)}`]?.resolved;
  if (from === undefined || !from.startsWith('file:')) return undefined;
  const tarball = resolve(dirname(modules), from.slice('file:'.length));
  return (await isThere(tarball)) ? `file:${pathFrom(folder, tarball)}` : undefined;
}

async function packInto(folder: string): Promise<string> {
  printProblem('This is a checkout. Building and packing it into the new folder …');
  try {
    const options = ['--silent', '--json=false', '--pack-destination', resolve(folder)];
    const { stdout } = await run('npm', ['pack', ...options], { cwd: ROOT });
    return `file:${stdout.trim().split('\n').at(-1) ?? ''}`;
  } catch (cause) {
    const output = String((cause as { stderr?: unknown }).stderr ?? cause).trim();
    throw new Fault(
      'not-packed',
      `This checkout cannot be packed. Nothing was written to ${folder}. \`npm pack\` in ${ROOT} printed: ${output}`,
      { cause },
    );
  }
}

function pathFrom(folder: string, target: string): string {
  return relative(resolve(folder), target).replaceAll('\\', '/');
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

// The files that `holdfast init` writes, beside those of the template.

export interface NewProject {
  readonly name: string;
  /** The dependency on holdfast, in npm's syntax. */
  readonly holdfast: string;
  /** The versions of packages that this package is tested with, by name. */
  readonly versions: Readonly<Record<string, string>>;
  readonly template: TemplateName;
}

/** By name, below the new folder. */
export async function projectFiles(project: NewProject): Promise<Readonly<Record<string, string>>> {
  const { files, copied } = TEMPLATES[project.template];
  const copies = copied.map(async (path) => [
    basename(path),
    await readFile(join(ROOT, 'examples', path), 'utf8'),
  ]);
  return {
    'package.json': `${JSON.stringify(manifestOf(project), undefined, 2)}\n`,
    'tsconfig.json': `${JSON.stringify(TYPES, undefined, 2)}\n`,
    '.gitignore': 'node_modules\n.holdfast\nholdfast.db*\n',
    ...files,
    ...Object.fromEntries(await Promise.all(copies)),
    'README.md': readmeOf(project),
  };
}

/** Node runs the sources unchanged, so the compiler only checks them. */
const TYPES = {
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ['**/*.ts'],
};

const CHECKED_WITH = ['@types/node', 'typescript'] as const;

function manifestOf({ name, holdfast, versions, template }: NewProject): object {
  return {
    ...{ name, version: '0.0.0', private: true, type: 'module' },
    engines: { node: '>=22.18' },
    scripts: TEMPLATES[template].scripts,
    dependencies: { holdfast },
    devDependencies: Object.fromEntries(CHECKED_WITH.map((each) => [each, versions[each] ?? '*'])),
  };
}

function readmeOf({ name, template }: NewProject): string {
  return `# ${name}

Node 22.18 or newer runs it as it is, without a build.

\`\`\`sh
npm install
npm test             # moves time, so that it takes a moment
npm run check        # types
${TEMPLATES[template].commands.join('\n')}
\`\`\`
`;
}
