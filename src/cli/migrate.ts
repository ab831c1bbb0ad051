// `holdfast migrate` brings a store to the schema of this version. Opening a store does the same.
// Use the command to migrate, and see the result, before the first process of a new version starts.

import { inspectStore, openStore } from '../embedded/open-store.ts';
import { STORE_FLAGS, storeTyped } from '../features/export/cli.ts';
import { hidden } from '../server/config.ts';
import type { StoreReport } from '../store/contract/store-report.ts';
import { Fault } from '../support/fault.ts';
import {
  type CommandSpec,
  type ExitCode,
  integerText,
  refuseWords,
  requiredText,
  type Typed,
  UsageProblem,
} from './command.ts';
import { configFlags, configuredBy } from './configuration.ts';
import { print, printLine } from './screen.ts';

export const migrateCommand: CommandSpec = {
  usage: 'holdfast migrate [--store postgres://… | --store ./holdfast.db] [--check] [--json]',
  flags: {
    ...configFlags((name) => name === 'store' || name.startsWith('postgres.')),
    check: {
      help: 'Print the pending migrations and change nothing; exit with 1 if there are any',
    },
    json: { help: 'Print JSON, one object per line' },
  },
  execute: migrate,
};

async function migrate(typed: Typed): Promise<ExitCode> {
  refuseWords(migrateCommand, typed);
  const { config } = await configuredBy(typed);
  const report = await inspectStore(config.store, config.postgres);
  const missing = missingOf(report);
  const isCheck = typed.isSet('check');
  if (!isCheck) {
    const store = await openStore(config.store, config.postgres);
    await store.close();
  }
  const from = report.applied.length;
  const to = from + missing.length;
  const store = String(hidden('store', config.store));
  if (typed.isSet('json')) printLine({ store, from, to, missing, applied: !isCheck });
  else print(outcomeText({ store, from, to, missing, isCheck }));
  return isCheck && missing.length > 0 ? 1 : 0;
}

export function missingOf({ applied, known }: StoreReport): readonly string[] {
  return known.filter((name) => !applied.includes(name));
}

interface MigrationOutcome {
  readonly store: string;
  readonly from: number;
  readonly to: number;
  readonly missing: readonly string[];
  readonly isCheck: boolean;
}

function outcomeText({ store, from, to, missing, isCheck }: MigrationOutcome): string {
  if (missing.length === 0) return `${store} is at version ${from}. Nothing to do.`;
  const what = missing.join(', ');
  return isCheck
    ? `${store} is at version ${from}, and this version of Holdfast needs ${to}: ${what}. Nothing was changed.`
    : `${store} was migrated from version ${from} to ${to}: ${what}.`;
}

// `holdfast raise-epoch`: after a restore, raises fences above all that were ever issued. A store
// does not know the epochs of another restore of the same backup, so `--above` names the last one.

/** More would use up the epochs, and a number that is so far away is a typing error. */
const RAISES_MAX = 100;

export const raiseEpochCommand: CommandSpec = {
  usage: 'holdfast raise-epoch --store ./holdfast.db --reason "…" [--above <epoch>] [--json]',
  flags: {
    ...STORE_FLAGS,
    above: {
      value: 'epoch',
      help: 'Raise until the epoch is above this one, the last before the restore (default 0, which raises it once)',
    },
    reason: { value: 'text', help: "Reason, kept in the store's events", required: true },
  },
  execute: raiseEpoch,
};

async function raiseEpoch(typed: Typed): Promise<ExitCode> {
  const { config, actor } = await storeTyped(raiseEpochCommand, typed);
  const reason = requiredText(raiseEpochCommand, typed, 'reason');
  const above = integerText('above', typed.text('above')) ?? 0;
  const { exists } = await inspectStore(config.store, config.postgres);
  if (!exists)
    throw new Fault(
      'store-unknown',
      'There is no store at this path or URL. Nothing was created. Check --store.',
    );
  const store = await openStore(config.store, config.postgres);
  try {
    let { epoch } = await store.raiseEpoch({ actor, reason });
    if (above - epoch > RAISES_MAX) {
      throw new UsageProblem(
        `--above ${above} is far above epoch ${epoch}. The epoch was raised once. Check the number with holdfast doctor.`,
      );
    }
    while (epoch <= above) ({ epoch } = await store.raiseEpoch({ actor, reason }));
    const place = String(hidden('store', config.store));
    if (typed.isSet('json')) printLine({ epoch, store: place });
    else print(`${place} is in epoch ${epoch}. Every new fence is above all that it knows.`);
    return 0;
  } finally {
    await store.close();
  }
}
