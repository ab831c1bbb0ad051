// holdfast dev: a coordinator for one folder and one person. Its state is in ./.holdfast and is kept; keys are
// not asked for; a demo pipeline runs in the process.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Holdfast } from '../engine/holdfast.ts';
import type { ServerLog } from '../server/server-options.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { type CommandSpec, type ExitCode, refuseWords, type Typed, wholeText } from './command.ts';
import { restaurantOrder } from './demo/restaurant.ts';
import type { Beside } from './run-server.ts';

const FOLDER = '.holdfast';

export const devCommand: CommandSpec = {
  usage: `holdfast dev [--port 7433] [--folder ${FOLDER}]`,
  flags: {
    port: { type: 'string', what: 'where it listens, on loopback; 0: any that is free' },
    folder: { type: 'string', what: `where its state is kept; ${FOLDER} unless said` },
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  refuseWords(devCommand, typed);
  const port = wholeText('port', typed.text('port'));
  const folder = typed.text('folder') ?? FOLDER;
  await mkdir(folder, { recursive: true });
  // Nothing in it is for others.
  await writeFile(join(folder, '.gitignore'), '*\n');
  const { runServer } = await import('./run-server.ts');
  const { configFrom } = await import('../server/config.ts');
  const values = {
    store: join(folder, 'holdfast.db'),
    auth: 'off',
    admin: 'main',
    'log.format': 'auto',
    'log.requests': false,
    ...(port === undefined ? {} : { port }),
  };
  return runServer({ ...configFrom([{ place: 'dev', values }]), beside: runDemo });
}

async function runDemo(store: CoordinatorStore, log: ServerLog): Promise<Beside> {
  const holdfast = new Holdfast({ store });
  await holdfast.worker({ pipelines: [restaurantOrder(log)], owner: 'demo' });
  // Under a key: the first start submits it, the others find it.
  const { id } = await holdfast.submit(
    restaurantOrder(log),
    { dish: 'soup', guest: 'ann' },
    { key: 'demo/first' },
  );
  log.info('demo', {
    pipeline: 'restaurant-order',
    first: id,
    try: `holdfast submit restaurant-order '{"dish":"cake","guest":"bob"}' --wait`,
    watch: `holdfast watch ${id}`,
  });
  return { stop: () => holdfast.close() };
}
