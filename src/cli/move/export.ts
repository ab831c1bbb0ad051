// holdfast export: seals a store and writes all that it keeps into a file.

import { exportStore } from '../../embedded/export-store.ts';
import { hidden } from '../../server/config.ts';
import type { CommandSpec, ExitCode, Typed } from '../command.ts';
import { print, printLine } from '../screen.ts';
import { endProgress, MOVE_FLAGS, moveTyped, progressShown, required } from './shared.ts';

export const exportCommand: CommandSpec = {
  usage: 'holdfast export --store ./holdfast.db --to holdfast.ndjson.gz [--reason …] [--json]',
  flags: {
    ...MOVE_FLAGS,
    to: { type: 'string', what: 'the file that is made; gzipped when its name ends in .gz' },
    reason: { type: 'string', what: 'why, as others are told' },
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const { config, actor } = await moveTyped(exportCommand, typed);
  const to = required(exportCommand, typed, 'to');
  const reason = typed.text('reason') ?? 'holdfast export';
  const { store, postgres } = config;
  const onProgress = progressShown();
  const done = await exportStore({ store, postgres, to, actor, reason, onProgress }).finally(
    endProgress,
  );
  const place = String(hidden('store', store));
  if (typed.isSet('json')) printLine({ ...done, store: place, to });
  else {
    const was = done.kind === 'exported' ? '' : ' It was sealed before, and exported again.';
    print(
      `${done.rows} rows of ${place} are in ${to}. The store is sealed: nothing writes to it any more.${was}\nNext: holdfast import --store <the new one> --from ${to}`,
    );
  }
  return 0;
}
