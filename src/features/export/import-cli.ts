// holdfast import: puts an export into a store that is empty.

import type { CommandSpec, ExitCode, Typed } from '../../cli/command.ts';
import { print, printLine } from '../../cli/screen.ts';
import { importStore } from '../../embedded/move-store.ts';
import { hidden } from '../../server/config.ts';
import { endProgress, MOVE_FLAGS, moveTyped, progressShown, required } from './cli.ts';

export const importCommand: CommandSpec = {
  usage: 'holdfast import --store postgres://… --from holdfast.ndjson.gz [--json]',
  flags: {
    ...MOVE_FLAGS,
    from: { value: 'path', help: 'File that holdfast export wrote (required)' },
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const { config, actor } = await moveTyped(importCommand, typed);
  const from = required(importCommand, typed, 'from');
  const { store, postgres } = config;
  const onProgress = progressShown();
  const done = await importStore({ store, postgres, from, actor, onProgress }).finally(endProgress);
  const place = String(hidden('store', store));
  if (typed.isSet('json')) printLine({ ...done, store: place, from });
  else {
    print(
      `${done.rows} rows are in ${place}, which goes on in epoch ${done.epoch}: every fence is above those of the old store.`,
    );
  }
  return 0;
}
