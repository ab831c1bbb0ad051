// `holdfast dev` runs a coordinator for one folder and one person. It keeps its state in
// ./.holdfast and needs no keys. Beside it run a demo pipeline in two processes, or the pipelines
// of a module, which reload on every save.

import { statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { storePlace } from '../embedded/open-store.ts';
import type { DemoMessage, Scene } from '../protocol/messages/coordinator.ts';
import type { Config, Source } from '../server/config.ts';
import { ownCommand } from '../support/process-about.ts';
import { type CommandSpec, type ExitCode, type Typed, UsageProblem } from './command.ts';
import { configFlags, sourcesBy } from './configuration.ts';
import { Crew } from './demo/crew.ts';
import { PIPELINE } from './demo/restaurant.ts';
import type { CliLog } from './log.ts';
import { oldNode } from './node-version.ts';
import { URL_DEFAULT } from './remote/connection.ts';
import type { RunOptions } from './run-server.ts';

const FOLDER = '.holdfast';

export const devCommand: CommandSpec = {
  usage: `holdfast dev [<module>] [--port 7433] [--folder ${FOLDER}] [--store postgres://…] [--config …]`,
  flags: {
    ...configFlags((name) => name === 'port'),
    folder: { value: 'path', help: `Folder for the coordinator's state (default ${FOLDER})` },
    store: {
      value: 'postgres://…',
      help: 'Keep the state in this PostgreSQL database (default the folder)',
    },
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const [module, more] = typed.words;
  if (more !== undefined)
    throw new UsageProblem(`Unexpected argument "${more}". Usage: ${devCommand.usage}`);
  if (module !== undefined && statSync(module, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new UsageProblem(`There is no file "${module}". Usage: ${devCommand.usage}`);
  }
  if (module !== undefined) await refuseOldNode(module);
  const place = placeOf(typed);
  const sources = sourcesFor(place, await sourcesBy(typed));
  if (place.folder !== undefined) {
    await mkdir(place.folder, { recursive: true, mode: 0o700 });
    // Keeps the state out of version control.
    await writeFile(join(place.folder, '.gitignore'), '*\n');
  }
  const { runServer } = await import('./run-server.ts');
  const { configFrom } = await import('../server/config.ts');
  const configured = configFrom(sources);
  // Loaded on demand, because it needs a newer Node than everything else here.
  const beside =
    module === undefined
      ? demoIn(configured.config)
      : { beside: (await import('./dev-module.ts')).runModule(module) };
  return runServer({ ...configured, ...beside, docs: true });
}

async function refuseOldNode(module: string): Promise<void> {
  const old = await oldNode();
  if (old === undefined) return;
  throw new UsageProblem(
    `${module} cannot be run: ${old} Nothing was started. Check "node --version", and use a newer Node.`,
  );
}

interface Place {
  readonly store: string;
  /** Absent for a database. */
  readonly folder?: string;
}

/** Only a flag can change the place: the configured store of `serve` is not for experiments. */
function placeOf(typed: Typed): Place {
  const [store, named] = [typed.text('store'), typed.text('folder')];
  if (store === undefined) {
    const folder = named ?? FOLDER;
    return { folder, store: join(folder, 'holdfast.db') };
  }
  if (named === undefined && storePlace(store).kind === 'postgres') return { store };
  throw new UsageProblem(
    'holdfast dev keeps its state in a folder or in PostgreSQL. Pass either --folder or --store postgres://….',
  );
}

/**
 * The settings of `serve`, except those that `dev` fixes. Refuses other values for these instead of
 * ignoring them.
 */
function sourcesFor({ store, folder }: Place, given: readonly Source[]): readonly Source[] {
  const fixed: Readonly<Record<string, unknown>> = {
    ...{ store, host: '127.0.0.1', auth: 'off', admin: 'main' },
  };
  for (const { place, values } of given) {
    const name = Object.keys(fixed).find(
      (each) => Object.hasOwn(values, each) && values[each] !== fixed[each],
    );
    if (name === undefined) continue;
    throw new UsageProblem(
      `holdfast dev does not accept ${name} (from ${place}). It listens on loopback, needs no keys and keeps its state in ${folder === undefined ? 'the database of --store' : `${store} (--folder)`}. For other settings use "holdfast serve", or pass another file with --config.`,
    );
  }
  const quiet = { place: 'dev', values: { 'log.format': 'auto', 'log.requests': false } };
  return [quiet, ...given, { place: 'dev', values: fixed }];
}

// The demo of `holdfast dev`: its workers, its first order, and commands to try.

/** Starts two worker processes; this process serves their story to the console. */
function demoIn(config: Config): Pick<RunOptions, 'beside' | 'demo'> {
  let crew: Crew | undefined;
  return {
    demo: {
      read: (): DemoMessage => crew?.read() ?? { workers: [], isPlaying: false, story: [] },
      play: (scene: Scene): void => crew?.play(scene),
    },
    beside: async (store, log, url) => {
      crew = new Crew(store, log);
      await startDemo(crew, { config, log, url });
      return crew;
    },
  };
}

async function startDemo(
  crew: Crew,
  { config, log, url }: { readonly config: Config; readonly log: CliLog; readonly url: string },
): Promise<void> {
  await crew.start({ store: config.store, postgres: config.postgres });
  // Idempotent by its key: only the first start submits the order.
  const { id, existing } = await crew.holdfast.submit(
    PIPELINE,
    { dish: 'soup', guest: 'ann', ask: true },
    { key: 'demo/first' },
  );
  if (existing) crew.awaitAnswer(id);
  else crew.awaitQuestion(id);
  // The commands work without --url on the default port.
  const at = url === URL_DEFAULT ? '' : ` --url ${url}`;
  log.info('demo', {
    pipeline: PIPELINE,
    first: id,
    workers: crew
      .read()
      .workers.map(({ name, pid }) => `${name} (${pid})`)
      .join(', '),
    try: `${ownCommand()} submit ${PIPELINE} '{"dish":"cake","guest":"bob"}' --wait${at}`,
    watch: `${ownCommand()} watch ${id}${at}`,
  });
}
