// All commands, in groups, in the order in which people need them. The help, the completion and the
// tests read this list. A command's code loads when it runs.

import type { CommandEntry } from './command.ts';

const executions = () => import('./remote/executions.ts');
const operations = () => import('./remote/operations.ts');
const lists = () => import('./remote/pages.ts');

// Ids of the form that commands print.
const EXECUTION = '019a9275-3c00-7000-9a5e-2f1c8b7d4e60';
const QUESTION = '019a9275-3c00-7b1d-a4c2-8e6f0d35b971';

function group(
  commands: Readonly<Record<string, Omit<CommandEntry, 'name'>>>,
): readonly CommandEntry[] {
  return Object.entries(commands).map(([name, command]) => ({ name, ...command }));
}

export const COMMAND_GROUPS: Readonly<Record<string, readonly CommandEntry[]>> = {
  Develop: group({
    dev: {
      summary: 'Run a coordinator for this folder, with a console, and reload code when it changes',
      examples: ['holdfast dev', 'holdfast dev ./order.ts --port 7500'],
      load: async () => (await import('./dev.ts')).devCommand,
    },
    init: {
      summary: 'Create a project with a pipeline and its test, from a template',
      examples: ['holdfast init shop', 'holdfast init ../shop --template embedded'],
      load: async () => (await import('./init.ts')).initCommand,
    },
    contract: {
      summary:
        'Write the contract of your pipelines, check code against it, or compare two contracts',
      examples: ['holdfast contract build ./order.ts', 'holdfast contract diff old.json new.json'],
      load: async () => (await import('./contract.ts')).contractCommand,
    },
    conform: {
      summary: 'Check a worker in any language against the worker protocol',
      examples: [
        'holdfast conform -- python3 worker.py',
        'holdfast conform --url http://127.0.0.1:7433 --case replay,retry-after',
      ],
      load: async () => (await import('./conform.ts')).conformCommand,
    },
  }),
  Executions: group({
    submit: {
      summary: 'Submit an execution; with --wait, wait for its result',
      examples: [
        `holdfast submit order '{"item":"tent"}' --key order/7 --wait`,
        'holdfast submit --template nightly@2 @input.json',
      ],
      load: async () => (await import('./remote/submit.ts')).submitCommand,
    },
    get: {
      summary: 'Show one execution',
      examples: [`holdfast get ${EXECUTION}`, `holdfast get ${EXECUTION} --json`],
      load: async () => (await executions()).getCommand,
    },
    watch: {
      summary: 'Follow an execution until it ends',
      examples: [`holdfast watch ${EXECUTION}`, `holdfast watch ${EXECUTION} --events`],
      load: async () => (await import('./remote/watch.ts')).watchCommand,
    },
    list: {
      summary: 'List executions, newest first',
      examples: ['holdfast list --status failed', 'holdfast list --view late-orders --all'],
      load: async () => (await lists()).listCommand,
    },
    history: {
      summary: 'Print the events of an execution',
      examples: [`holdfast history ${EXECUTION}`, `holdfast history ${EXECUTION} --log`],
      load: async () => (await executions()).historyCommand,
    },
    explain: {
      summary: 'Show why an execution does not progress, and the fix',
      examples: [`holdfast explain ${EXECUTION}`, `holdfast explain ${EXECUTION} --json`],
      load: async () => (await executions()).explainCommand,
    },
    cancel: {
      summary: 'Cancel an execution',
      examples: [
        `holdfast cancel ${EXECUTION}`,
        `holdfast cancel ${EXECUTION} --reason "ordered twice"`,
      ],
      load: async () => (await operations()).cancelCommand,
    },
    pause: {
      summary: 'Hold an execution until you resume it',
      examples: [
        `holdfast pause ${EXECUTION}`,
        `holdfast pause ${EXECUTION} --reason "vendor is down"`,
      ],
      load: async () => (await operations()).pauseCommand,
    },
    resume: {
      summary: 'Resume a paused or blocked execution',
      examples: [
        `holdfast resume ${EXECUTION}`,
        `holdfast resume ${EXECUTION} --reason "vendor is back"`,
      ],
      load: async () => (await operations()).resumeCommand,
    },
    signal: {
      summary: 'Send a named message to an execution',
      examples: [
        `holdfast signal ${EXECUTION} paid '{"amount":5}'`,
        `holdfast signal ${EXECUTION} document @scan.json`,
      ],
      load: async () => (await operations()).signalCommand,
    },
    update: {
      summary: 'Send an update to an execution and print the reply',
      examples: [
        `holdfast update ${EXECUTION} add '{"item":"tent"}'`,
        `holdfast update ${EXECUTION} add @item.json --key add/1 --wait-ms 30000`,
      ],
      load: async () => (await import('../features/updates/cli.ts')).updateCommand,
    },
    query: {
      summary: 'Send a query to the code of an execution and print the reply',
      examples: [`holdfast query ${EXECUTION} status`, `holdfast query ${EXECUTION} item '"tent"'`],
      load: async () => (await import('../features/updates/cli.ts')).queryCommand,
    },
    published: {
      summary: 'Print a value that an execution published',
      examples: [
        `holdfast published ${EXECUTION} status`,
        `holdfast published ${EXECUTION} status --wait-ms 30000`,
      ],
      load: async () => (await import('../features/updates/cli.ts')).publishedCommand,
    },
  }),
  'Questions and failures': group({
    answer: {
      summary: 'List open questions, or answer one',
      examples: [
        'holdfast answer --assignee ann',
        `holdfast answer ${QUESTION} '{"accepted":true}'`,
        `holdfast answer correlation:pay-17 '{"paid":true}'`,
      ],
      load: async () => (await import('../features/awaits/cli.ts')).answerCommand,
    },
    'dead-letters': {
      summary: 'List executions that failed for good',
      examples: ['holdfast dead-letters', 'holdfast dead-letters --pipeline order --step charge'],
      load: async () => (await lists()).deadLettersCommand,
    },
    erase: {
      summary: 'Erase the values of an ended execution for good',
      examples: [
        `holdfast erase ${EXECUTION} --reason "request 4711"`,
        `holdfast erase ${EXECUTION} --reason "request 4711" --json`,
      ],
      load: async () => (await operations()).eraseCommand,
    },
    redrive: {
      summary: 'Run a failed execution again, from the step that failed',
      examples: [
        `holdfast redrive ${EXECUTION}`,
        `holdfast redrive ${EXECUTION} --from charge --release v2`,
      ],
      load: async () => (await operations()).redriveCommand,
    },
  }),
  Operate: group({
    serve: {
      summary: 'Run a coordinator',
      examples: [
        'holdfast serve --store postgres://localhost/holdfast',
        'holdfast serve --store ./holdfast.db --auth off --print-config',
      ],
      load: async () => (await import('./serve.ts')).serveCommand,
    },
    doctor: {
      summary: 'Check versions, configuration, store, clocks and the running coordinator',
      examples: ['holdfast doctor', 'holdfast doctor --store ./holdfast.db --json'],
      load: async () => (await import('./doctor.ts')).doctorCommand,
    },
    top: {
      summary: 'Show counts, rates and durations by pipeline, live on a terminal',
      examples: ['holdfast top', 'holdfast top --range 24h --once', 'holdfast top --json'],
      load: async () => (await import('../features/overview/cli.ts')).topCommand,
    },
    workers: {
      summary: "List the project's workers",
      examples: ['holdfast workers', 'holdfast workers --json'],
      load: async () => (await lists()).workersCommand,
    },
    refusals: {
      summary: 'List late writes of replaced workers, all refused',
      examples: ['holdfast refusals', `holdfast refusals --execution ${EXECUTION}`],
      load: async () => (await lists()).refusalsCommand,
    },
    lease: {
      summary: 'Run a program under a lease, and list, show, drain, revoke and watch leases',
      examples: [
        'holdfast lease run reports/nightly --wait -- ./report.sh --all',
        'holdfast lease run import --store ./leases.db --checkpoint-file state.json -- node import.js',
        'holdfast lease list --prefix reports/',
        'holdfast lease drain reports/nightly --reason "host is being replaced"',
      ],
      load: async () => (await import('../features/leases/cli.ts')).lease,
    },
    leases: {
      summary: 'List the leases of all projects and their holders',
      examples: ['holdfast leases', 'holdfast leases --stale-owner true'],
      load: async () => (await lists()).leasesCommand,
    },
    schedules: {
      summary: 'List schedules, run one now, submit past times, pause, resume and remove one',
      examples: [
        'holdfast schedules',
        'holdfast schedules trigger nightly',
        'holdfast schedules backfill nightly --from 2026-11-01 --to 2026-11-08',
      ],
      load: async () => (await import('../features/schedules/cli.ts')).schedulesCommand,
    },
    channel: {
      summary: 'List channels, create, test and remove one, see and replay its messages',
      examples: [
        'holdfast channel put orders --to https://example.com/hooks --events execution-ended',
        'holdfast channel log orders --state failed',
        'holdfast channel replay orders',
      ],
      load: async () => (await import('../features/channels/cli.ts')).channelCommand,
    },
    audit: {
      summary: 'List operations by people, newest first',
      examples: [
        'holdfast audit --from 2026-11-17T02:00:00Z --to 2026-11-17T03:00:00Z',
        'holdfast audit --action cancel',
      ],
      load: async () => (await lists()).auditCommand,
    },
    views: {
      summary: 'List the saved views of the console',
      examples: ['holdfast views', 'holdfast views --page executions'],
      load: async () => (await lists()).viewsCommand,
    },
    releases: {
      summary: 'Register, check, roll out and retire releases, and repin executions',
      examples: [
        'holdfast releases preflight order v2',
        'holdfast releases set-canary order v2 --percent 10',
        'holdfast releases activate order v2 --reason "new tax rules"',
      ],
      load: async () => (await import('../features/releases/cli.ts')).releasesCommand,
    },
    archive: {
      summary: 'Find, read and verify archived executions, or archive now',
      examples: ['holdfast archive search order/7', 'holdfast archive verify --all'],
      load: async () => (await import('../features/retention/cli.ts')).archiveCommand,
    },
    projects: {
      summary: 'List projects, show one, or create and change one',
      examples: ['holdfast projects', 'holdfast projects put shop --keep completed=30d'],
      load: async () => (await import('../features/access/cli.ts')).projectsCommand,
    },
    keys: {
      summary: 'List, create, rotate, revoke and recover access keys',
      examples: [
        'holdfast keys create ci --roles submit --project shop',
        'holdfast keys rotate a2b3c4d5e6f7a2b3 --ends-in 1h',
      ],
      load: async () => (await import('../features/access/cli.ts')).keysCommand,
    },
  }),
  'Migrate, export and import a store': group({
    migrate: {
      summary: 'Migrate a store to the schema of this version',
      examples: [
        'holdfast migrate --store postgres://localhost/holdfast',
        'holdfast migrate --store ./holdfast.db --check',
      ],
      load: async () => (await import('./migrate.ts')).migrateCommand,
    },
    export: {
      summary: 'Seal a store and write its content to a file',
      examples: [
        'holdfast export --store ./holdfast.db --to holdfast.ndjson.gz',
        'holdfast export --store ./holdfast.db --to holdfast.ndjson --reason "to PostgreSQL"',
      ],
      load: async () => (await import('../features/export/cli.ts')).exportCommand,
    },
    import: {
      summary: 'Load an export into an empty store',
      examples: [
        'holdfast import --store postgres://localhost/holdfast --from holdfast.ndjson.gz',
        'holdfast import --store ./new.db --from holdfast.ndjson --json',
      ],
      load: async () => (await import('../features/export/cli.ts')).importCommand,
    },
    unseal: {
      summary: 'Open a sealed store again, after you discarded its export',
      examples: [
        'holdfast unseal --store ./holdfast.db --reason "staying on SQLite"',
        'holdfast unseal --store postgres://localhost/holdfast --reason "import failed"',
      ],
      load: async () => (await import('../features/export/cli.ts')).unsealCommand,
    },
    'raise-epoch': {
      summary: 'Raise the fences of a restored store above every fence it may have issued',
      examples: [
        'holdfast raise-epoch --store ./holdfast.db --reason "restored the backup of Monday"',
        'holdfast raise-epoch --store postgres://localhost/holdfast --reason "point-in-time restore"',
      ],
      load: async () => (await import('./migrate.ts')).raiseEpochCommand,
    },
  }),
  'Lease logs': group({
    advise: {
      summary: 'Recommend ttl, heartbeat, grace and checkpoint interval from lease logs',
      examples: ['holdfast advise lease.ndjson', 'holdfast advise *.ndjson --preset money --json'],
      load: async () => (await import('./advise.ts')).adviseCommand,
    },
    'verify-log': {
      summary: 'Check lease logs for overlapping holders, fence order and lost checkpoints',
      examples: [
        'holdfast verify-log lease.ndjson',
        'holdfast verify-log a.ndjson b.ndjson --json',
      ],
      load: async () => (await import('./verify-log.ts')).verifyLogCommand,
    },
  }),
  Shell: group({
    completion: {
      summary: 'Print a completion script for your shell',
      examples: [
        'source <(holdfast completion bash)',
        'source <(holdfast completion zsh)  # after compinit',
        'holdfast completion fish | source',
      ],
      load: async () => (await import('./completion.ts')).completionOf(COMMANDS),
    },
  }),
};

export const COMMANDS: readonly CommandEntry[] = Object.values(COMMAND_GROUPS).flat();
