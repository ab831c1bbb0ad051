// holdfast dev: a coordinator for one folder and one person. Its state is in ./.holdfast and is kept; keys are
// not asked for; a demo pipeline runs in two processes beside it.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DemoMessage, Scene } from '../protocol/messages/demo.ts';
import type { ServerLog } from '../server/server-options.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { type CommandSpec, type ExitCode, refuseWords, type Typed, wholeText } from './command.ts';
import { Crew } from './demo/crew.ts';
import { PIPELINE } from './demo/restaurant.ts';
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
  const file = join(folder, 'holdfast.db');
  const values = {
    store: file,
    auth: 'off',
    admin: 'main',
    'log.format': 'auto',
    'log.requests': false,
    ...(port === undefined ? {} : { port }),
  };
  let crew: Crew | undefined;
  const demo = {
    read: (): DemoMessage => crew?.read() ?? { workers: [], isPlaying: false, story: [] },
    play: (scene: Scene): void => crew?.play(scene),
  };
  const beside = async (store: CoordinatorStore, log: ServerLog): Promise<Beside> => {
    crew = new Crew(store, log);
    await startDemo(crew, { file, log });
    return crew;
  };
  return runServer({ ...configFrom([{ place: 'dev', values }]), beside, demo });
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
