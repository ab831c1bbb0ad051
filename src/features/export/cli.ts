// `holdfast export`, `import` and `unseal`: take the content of a store to another.

import { userInfo } from 'node:os';
import {
  type CommandSpec,
  type ExitCode,
  type Flag,
  refuseWords,
  requiredText,
  type Typed,
} from '../../cli/command.ts';
import { configFlags, configuredBy } from '../../cli/configuration.ts';
import { print, printLine } from '../../cli/screen.ts';
import {
  type ExportProgress,
  exportStore,
  importStore,
  unsealStore,
} from '../../embedded/export-store.ts';
import { type Config, hidden } from '../../server/config.ts';
import { environmentWith } from '../../support/environment.ts';

export const STORE_FLAGS: Readonly<Record<string, Flag>> = {
  ...configFlags((name) => name === 'store' || name.startsWith('postgres.'), ['store']),
  actor: {
    value: 'name',
    help: "Actor, kept in the store's events (default the user of this shell)",
  },
  json: { help: 'Print JSON, one object per line' },
};

export interface StoreTyped {
  readonly config: Config;
  readonly actor: string;
}

/**
 * Requires the flag or the environment variable, so that no configuration file chooses the store by
 * accident.
 */
export async function storeTyped(command: CommandSpec, typed: Typed): Promise<StoreTyped> {
  refuseWords(command, typed);
  if (environmentWith('HOLDFAST_')['HOLDFAST_STORE'] === undefined) {
    requiredText(command, typed, 'store');
  }
  const { config } = await configuredBy(typed);
  return { config, actor: typed.text('actor') ?? userInfo().username };
}

const SHOWN_EVERY = 1_000;

/** Prints progress on a terminal only, and not for every row. */
function progressShown(): (progress: ExportProgress) => void {
  if (!process.stderr.isTTY) return () => undefined;
  let last = -1;
  return ({ doing, table, rows, leftMs = 0 }) => {
    const mark = doing === 'waiting' ? Math.ceil(leftMs / 1_000) : Math.floor(rows / SHOWN_EVERY);
    if (doing === 'rows' && mark === last) return;
    last = mark;
    process.stderr.write(`\r\u001b[K${lineOf({ doing, rows, leftMs, ...(table && { table }) })}`);
  };
}

function lineOf({ doing, table = '', rows, leftMs = 0 }: ExportProgress): string {
  if (doing === 'sealed') return 'sealed\n';
  if (doing === 'rows') return `${rows} rows, now ${table}`;
  const left = Math.ceil(leftMs / 1_000);
  return `${rows} rows; waiting ${left} s until every old lease has expired`;
}

function endProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
}

// `holdfast export` seals a store and writes all its content to a file.

export const exportCommand: CommandSpec = {
  usage: 'holdfast export --store ./holdfast.db --to holdfast.ndjson.gz [--reason …] [--json]',
  flags: {
    ...STORE_FLAGS,
    to: {
      value: 'path',
      help: 'File to write; compressed if its name ends in .gz',
      required: true,
    },
    reason: {
      value: 'text',
      help: 'Reason, shown by the sealed store (default "holdfast export")',
    },
  },
  execute: runExport,
};

async function runExport(typed: Typed): Promise<ExitCode> {
  const { config, actor } = await storeTyped(exportCommand, typed);
  const to = requiredText(exportCommand, typed, 'to');
  const reason = typed.text('reason') ?? 'holdfast export';
  const { store, postgres } = config;
  const onProgress = progressShown();
  const done = await exportStore({ store, postgres, to, actor, reason, onProgress }).finally(
    endProgress,
  );
  const place = String(hidden('store', store));
  if (typed.isSet('json')) printLine({ ...done, store: place, to });
  else {
    const was = done.kind === 'exported' ? '' : ' It was sealed before this export.';
    print(
      `Exported ${done.rows} rows of ${place} to ${to}. The store is sealed and accepts no writes.${was}\nNext: holdfast import --store <the new store> --from ${to}`,
    );
  }
  return 0;
}

// `holdfast import` loads an export into an empty store.

export const importCommand: CommandSpec = {
  usage: 'holdfast import --store postgres://… --from holdfast.ndjson.gz [--json]',
  flags: {
    ...STORE_FLAGS,
    from: { value: 'path', help: 'File that holdfast export wrote', required: true },
  },
  execute: runImport,
};

async function runImport(typed: Typed): Promise<ExitCode> {
  const { config, actor } = await storeTyped(importCommand, typed);
  const from = requiredText(importCommand, typed, 'from');
  const { store, postgres } = config;
  const onProgress = progressShown();
  const done = await importStore({ store, postgres, from, actor, onProgress }).finally(endProgress);
  const place = String(hidden('store', store));
  if (typed.isSet('json')) printLine({ ...done, store: place, from });
  else {
    print(
      `Imported ${done.rows} rows into ${place}, in epoch ${done.epoch}: every new fence is above those of the old store.`,
    );
  }
  return 0;
}

// `holdfast unseal` reopens a store whose export you discarded.

export const unsealCommand: CommandSpec = {
  usage: 'holdfast unseal --store ./holdfast.db --reason "…" [--json]',
  flags: {
    ...STORE_FLAGS,
    reason: { value: 'text', help: "Reason, kept in the store's events", required: true },
  },
  execute: unseal,
};

async function unseal(typed: Typed): Promise<ExitCode> {
  const { config, actor } = await storeTyped(unsealCommand, typed);
  const reason = requiredText(unsealCommand, typed, 'reason');
  const { store, postgres } = config;
  const done = await unsealStore({ store, postgres, actor, reason });
  const place = String(hidden('store', store));
  if (typed.isSet('json')) printLine({ ...done, store: place });
  else {
    print(
      `Unsealed ${place}: it accepts writes again, in epoch ${done.epoch}. Do not import its export.`,
    );
  }
  return 0;
}
