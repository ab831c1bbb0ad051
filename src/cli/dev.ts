// holdfast dev: a coordinator for one folder and one person. Its state is in ./.holdfast and is kept; keys are
// not asked for; a demo pipeline runs in two processes beside it, or the pipelines of a module, anew whenever it
// is saved.

import { statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { storePlace } from '../embedded/open-store.ts';
import type { DemoMessage, Scene } from '../protocol/messages/demo.ts';
import type { Config, Source } from '../server/config.ts';
import type { ServerLog } from '../server/server-options.ts';
import { type CommandSpec, type ExitCode, type Typed, UsageProblem } from './command.ts';
import { configFlags, sourcesBy } from './configuration.ts';
import { Crew } from './demo/crew.ts';
import { PIPELINE } from './demo/restaurant.ts';
import { oldNode } from './node-version.ts';
import { URL_DEFAULT } from './remote/connection.ts';
import type { RunOptions } from './run-server.ts';

const FOLDER = '.holdfast';

export const devCommand: CommandSpec = {
  usage: `holdfast dev [<module>] [--port 7433] [--folder ${FOLDER}] [--store postgres://…] [--config …]`,
  flags: {
    ...configFlags((name) => name === 'port'),
    folder: { type: 'string', what: `where its state is kept; ${FOLDER} unless said` },
    store: { type: 'string', what: 'postgres://…: its state is there, and not in a folder' },
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const [module, more] = typed.words;
  if (more !== undefined)
    throw new UsageProblem(`"${more}" is one word too many: ${devCommand.usage}`);
  if (module !== undefined && statSync(module, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new UsageProblem(`There is no file "${module}" here. ${devCommand.usage}`);
  }
  if (module !== undefined) await refuseOldNode(module);
  const place = placeOf(typed);
  const sources = sourcesFor(place, await sourcesBy(typed));
  if (place.folder !== undefined) {
    await mkdir(place.folder, { recursive: true });
    // Nothing in it is for others.
    await writeFile(join(place.folder, '.gitignore'), '*\n');
  }
  const { runServer } = await import('./run-server.ts');
  const { configFrom } = await import('../server/config.ts');
  const configured = configFrom(sources);
  // By need: it asks for more of Node than all else here.
  const beside =
    module === undefined
      ? demoIn(configured.config)
      : { beside: (await import('./dev-module.ts')).runModule(module) };
  return runServer({ ...configured, ...beside });
}

async function refuseOldNode(module: string): Promise<void> {
  const old = await oldNode();
  if (old === undefined) return;
  throw new UsageProblem(
    `${module} cannot be run: ${old} Start it with a newer one ("node --version" says which is on the path).`,
  );
}

interface Place {
  readonly store: string;
  /** Absent when it is in a database. */
  readonly folder?: string;
}

/** Only a flag says that it is elsewhere: what `serve` is told is not for one person to play with. */
function placeOf(typed: Typed): Place {
  const [store, asked] = [typed.text('store'), typed.text('folder')];
  if (store === undefined) {
    const folder = asked ?? FOLDER;
    return { folder, store: join(folder, 'holdfast.db') };
  }
  if (asked === undefined && storePlace(store).kind === 'postgres') return { store };
  throw new UsageProblem(
    'holdfast dev keeps its state in a folder (--folder), or in PostgreSQL (--store postgres://…); say one of them.',
  );
}

/** Two processes of workers; this one answers the console what they do. */
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

/** As `serve` is told, but for what makes it one folder's: other values for that are refused, not passed over. */
function sourcesFor({ store, folder }: Place, told: readonly Source[]): readonly Source[] {
  const fixed: Readonly<Record<string, unknown>> = {
    ...{ store, host: '127.0.0.1', auth: 'off', admin: 'main' },
  };
  for (const { place, values } of told) {
    const name = Object.keys(fixed).find(
      (each) => Object.hasOwn(values, each) && values[each] !== fixed[each],
    );
    if (name === undefined) continue;
    throw new UsageProblem(
      `holdfast dev does not take ${name} (from ${place}): it listens on loopback, asks for no keys and keeps its state in ${folder === undefined ? 'what --store names' : `${store} (--folder)`}. For anything else use "holdfast serve", or name another file with --config.`,
    );
  }
  const quiet = { place: 'dev', values: { 'log.format': 'auto', 'log.requests': false } };
  return [quiet, ...told, { place: 'dev', values: fixed }];
}

async function startDemo(
  crew: Crew,
  { config, log, url }: { readonly config: Config; readonly log: ServerLog; readonly url: string },
): Promise<void> {
  await crew.start({ store: config.store, postgres: config.postgres });
  // Under a key: the first start submits it, the others find it.
  const { id } = await crew.holdfast.submit(
    PIPELINE,
    { dish: 'soup', guest: 'ann', ask: true },
    { key: 'demo/first' },
  );
  crew.awaitAnswer(id);
  // As it is typed, also where another port was chosen.
  const at = url === URL_DEFAULT ? '' : ` --url ${url}`;
  log.info('demo', {
    pipeline: PIPELINE,
    first: id,
    workers: crew
      .read()
      .workers.map(({ name, pid }) => `${name} (${pid})`)
      .join(', '),
    try: `holdfast submit ${PIPELINE} '{"dish":"cake","guest":"bob"}' --wait${at}`,
    watch: `holdfast watch ${id}${at}`,
  });
}
