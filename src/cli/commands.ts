// All commands, in the order in which people meet them.

import type { Command } from './command.ts';
import { REMOTE_COMMANDS } from './remote/commands.ts';

export const COMMANDS: readonly Command[] = [
  {
    name: 'dev',
    summary: 'a coordinator for this folder, with a console and a demo',
    load: async () => (await import('./dev.ts')).devCommand,
  },
  {
    name: 'init',
    summary: 'a new folder with a pipeline, its test and its worker',
    load: async () => (await import('./init.ts')).initCommand,
  },
  {
    name: 'serve',
    summary: 'runs a coordinator',
    load: async () => (await import('./serve.ts')).serveCommand,
  },
  ...REMOTE_COMMANDS,
  {
    name: 'contract',
    summary: 'what crosses the boundary of pipelines: made from code, checked, compared',
    load: async () => (await import('./contract.ts')).contractCommand,
  },
  {
    name: 'migrate',
    summary: 'brings a store to the schema of this version',
    load: async () => (await import('./migrate.ts')).migrateCommand,
  },
  {
    name: 'export',
    summary: 'seals a store and writes all that it keeps into a file',
    load: async () => (await import('../features/export/cli.ts')).exportCommand,
  },
  {
    name: 'import',
    summary: 'puts an export into a store that is empty',
    load: async () => (await import('../features/export/import-cli.ts')).importCommand,
  },
  {
    name: 'unseal',
    summary: 'uses a store again whose export was thrown away',
    load: async () => (await import('../features/export/unseal-cli.ts')).unsealCommand,
  },
  {
    name: 'raise-epoch',
    summary: 'Put the fences of a restored store above all that were ever issued',
    load: async () => (await import('./raise-epoch.ts')).raiseEpochCommand,
  },
  {
    name: 'doctor',
    summary: 'checks versions, configuration, store and clocks, and says what to change',
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  {
    name: 'advise',
    summary: 'recommends ttl, heartbeat, grace and checkpoint interval from recorded logs',
    load: async () => (await import('./advise.ts')).adviseCommand,
  },
  {
    name: 'verify-log',
    summary: 'checks recorded logs: exclusive tenure, fence order, checkpoint lineage',
    load: async () => (await import('./verify-log.ts')).verifyLogCommand,
  },
  {
    name: 'completion',
    summary: 'completes commands and flags in a shell: bash, zsh or fish',
    load: async () => (await import('./completion.ts')).completionOf(COMMANDS),
  },
];
