// holdfast unseal: a store whose export was thrown away is used again.

import type { CommandSpec, ExitCode, Typed } from '../../cli/command.ts';
import { print, printLine } from '../../cli/screen.ts';
import { unsealStore } from '../../embedded/move-store.ts';
import { hidden } from '../../server/config.ts';
import { MOVE_FLAGS, moveTyped, required } from './cli.ts';

export const unsealCommand: CommandSpec = {
  usage: 'holdfast unseal --store ./holdfast.db --reason "…" [--json]',
  flags: {
    ...MOVE_FLAGS,
    reason: { value: 'text', help: "Reason, kept in the store's events (required)" },
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const { config, actor } = await moveTyped(unsealCommand, typed);
  const reason = required(unsealCommand, typed, 'reason');
  const { store, postgres } = config;
  const done = await unsealStore({ store, postgres, actor, reason });
  const place = String(hidden('store', store));
  if (typed.isSet('json')) printLine({ ...done, store: place });
  else {
    print(
      `${place} takes writes again, in epoch ${done.epoch}. What was exported from it must not be imported any more.`,
    );
  }
  return 0;
}
