// holdfast dev: a coordinator for one folder and one person. Its state is in ./.holdfast and is kept; keys are
// not asked for; a demo pipeline runs in two processes beside it, or the pipelines of a module, anew whenever it
// is saved.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DemoMessage, Scene } from '../protocol/messages/demo.ts';
import type { Source } from '../server/config.ts';
import type { ServerLog } from '../server/server-options.ts';
import { type CommandSpec, type ExitCode, type Typed, UsageProblem } from './command.ts';
import { configFlags, sourcesBy } from './configuration.ts';
import { Crew } from './demo/crew.ts';
import { PIPELINE } from './demo/restaurant.ts';
import { runModule } from './dev-module.ts';
import type { RunOptions } from './run-server.ts';

const FOLDER = '.holdfast';

export const devCommand: CommandSpec = {
  usage: `holdfast dev [<module>] [--port 7433] [--folder ${FOLDER}] [--config …]`,
  flags: {
    ...configFlags((name) => name === 'port'),
    folder: { type: 'string', what: `where its state is kept; ${FOLDER} unless said` },
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const [module, more] = typed.words;
  if (more !== undefined)
    throw new UsageProblem(`"${more}" is one word too many: ${devCommand.usage}`);
  const folder = typed.text('folder') ?? FOLDER;
  const file = join(folder, 'holdfast.db');
  const sources = sourcesFor(file, await sourcesBy(typed));
  await mkdir(folder, { recursive: true });
  // Nothing in it is for others.
  await writeFile(join(folder, '.gitignore'), '*\n');
  const { runServer } = await import('./run-server.ts');
  const { configFrom } = await import('../server/config.ts');
  const beside = module === undefined ? demoIn(file) : { beside: runModule(module) };
  return runServer({ ...configFrom(sources), ...beside });
}

/** Two processes of workers; this one answers the console what they do. */
function demoIn(file: string): Pick<RunOptions, 'beside' | 'demo'> {
  let crew: Crew | undefined;
  return {
    demo: {
      read: (): DemoMessage => crew?.read() ?? { workers: [], isPlaying: false, story: [] },
      play: (scene: Scene): void => crew?.play(scene),
    },
    beside: async (store, log) => {
      crew = new Crew(store, log);
      await startDemo(crew, { file, log });
      return crew;
    },
  };
}

/** As `serve` is told, but for what makes it one folder's: other values for that are refused, not passed over. */
function sourcesFor(file: string, told: readonly Source[]): readonly Source[] {
  const fixed: Readonly<Record<string, unknown>> = {
    ...{ store: file, host: '127.0.0.1', auth: 'off', admin: 'main' },
  };
  for (const { place, values } of told) {
    const name = Object.keys(fixed).find(
      (each) => Object.hasOwn(values, each) && values[each] !== fixed[each],
    );
    if (name === undefined) continue;
    throw new UsageProblem(
      `holdfast dev does not take ${name} (from ${place}): it listens on loopback, asks for no keys and keeps its state in ${file} (--folder). For anything else use "holdfast serve", or name another file with --config.`,
    );
  }
  const quiet = { place: 'dev', values: { 'log.format': 'auto', 'log.requests': false } };
  return [quiet, ...told, { place: 'dev', values: fixed }];
}

async function startDemo(
  crew: Crew,
  { file, log }: { readonly file: string; readonly log: ServerLog },
): Promise<void> {
  await crew.start(file);
  // Under a key: the first start submits it, the others find it.
  const { id } = await crew.holdfast.submit(
    PIPELINE,
    { dish: 'soup', guest: 'ann', ask: true },
    { key: 'demo/first' },
  );
  log.info('demo', {
    pipeline: PIPELINE,
    first: id,
    workers: crew
      .read()
      .workers.map(({ name, pid }) => `${name} (${pid})`)
      .join(', '),
    try: `holdfast submit ${PIPELINE} '{"dish":"cake","guest":"bob"}' --wait`,
    watch: `holdfast watch ${id}`,
  });
}
