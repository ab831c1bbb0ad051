// The demo of `holdfast dev`: its workers, its first order, and commands to try.

import type { DemoMessage, Scene } from '../../protocol/messages/coordinator.ts';
import type { Config } from '../../server/config.ts';
import type { CliLog } from '../log.ts';
import { URL_DEFAULT } from '../remote/connection.ts';
import type { RunOptions } from '../run-server.ts';
import { Crew } from './crew.ts';
import { PIPELINE } from './restaurant.ts';

/** Starts two worker processes; this process serves their story to the console. */
export function demoIn(config: Config): Pick<RunOptions, 'beside' | 'demo'> {
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
  const { id } = await crew.holdfast.submit(
    PIPELINE,
    { dish: 'soup', guest: 'ann', ask: true },
    { key: 'demo/first' },
  );
  crew.awaitAnswer(id);
  // The commands work without --url on the default port.
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
