// holdfast raise-epoch: after a restore, fences go on above all that were ever issued.

import { inspectStore, openStore } from '../embedded/open-store.ts';
import { MOVE_FLAGS, moveTyped, required } from '../features/export/cli.ts';
import { hidden } from '../server/config.ts';
import { InvalidInput } from '../support/fault.ts';
import type { CommandSpec, ExitCode, Typed } from './command.ts';
import { print, printLine } from './screen.ts';

export const raiseEpochCommand: CommandSpec = {
  usage: 'holdfast raise-epoch --store ./holdfast.db --reason "…" [--json]',
  flags: {
    ...MOVE_FLAGS,
    reason: { value: 'text', help: "Reason, kept in the store's events (required)" },
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const { config, actor } = await moveTyped(raiseEpochCommand, typed);
  const reason = required(raiseEpochCommand, typed, 'reason');
  const { exists } = await inspectStore(config.store, config.postgres);
  if (!exists) throw new InvalidInput('No store is there. Nothing was made. Check --store.');
  const store = await openStore(config.store, config.postgres);
  try {
    const { epoch } = await store.raiseEpoch({ actor, reason });
    const place = String(hidden('store', config.store));
    if (typed.isSet('json')) printLine({ epoch, store: place });
    else print(`${place} is in epoch ${epoch}. Every fence from now on is above all before.`);
    return 0;
  } finally {
    await store.close();
  }
}
