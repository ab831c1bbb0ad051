// Families of tests that are long in full. `npm test` takes samples of them, `npm run test:guard` takes some in
// full, `npm run test:all` takes all.

export interface Family {
  readonly name: string;
  /** Globs of its test files. */
  readonly files: readonly string[];
  /**
   * How many of its files `npm test` runs, chosen by the run's seed. Default: all, which sample by
   * themselves.
   */
  readonly take?: number;
  /** Each guard run has it, before the family that the commit chooses. */
  readonly isAlways?: true;
}

/** A guard run has those marked `isAlways`, and then begins at one that the commit chooses. Each family must end within ten minutes. */
export const FAMILIES: readonly Family[] = [
  { name: 'mutants', files: ['test/mutation/*.test.ts', 'test/etcd/mutation-etcd.test.ts'] },
  { name: 'crash points', files: ['test/crash/*.test.ts', 'test/archive/{erase,kill}.test.ts'] },
  { name: 'random programs', files: ['test/model/*.test.ts'], take: 3 },
  { name: 'simulated seeds', files: ['test/simulate/*.test.ts'] },
  { name: 'behaviours over REST', files: ['test/server/behaviours-*.test.ts'] },
  {
    name: 'stores that are sampled',
    files: [
      'test/contract/{etcd,sqlite,execution-postgres}.test.ts',
      'test/engine/{memory,sqlite,postgres}.test.ts',
    ],
  },
  { name: 'scenarios of other suites', files: ['test/peers/*.test.ts'] },
  { name: 'leases through a coordinator', files: ['test/contract/coordinator*.test.ts'] },
  { name: 'schedules of guards', files: ['test/guards/*.test.ts'] },
  {
    name: 'transport contract on PostgreSQL and over Python',
    files: ['test/transport/{kinds-postgres,python-contract}.test.ts'],
  },
  { name: 'console pages', files: ['test/console/browser-*.test.ts'] },
  { name: 'commands as processes', files: ['test/cli/*.test.ts'], take: 10 },
  { name: 'orders around a park', files: ['test/engine/suspend{,-*}.test.ts'] },
  {
    name: 'states and arguments',
    files: ['test/engine/{bad-arguments,explain-states.full}.test.ts'],
  },
  { name: 'worlds of the advisor', files: ['test/observe/advisor-simulation.test.ts'] },
  { name: 'the package', files: ['test/package/*.test.ts', 'test/docs/*.test.ts'] },
  { name: 'recipes, by store', files: ['test/recipes/{*-*,*.full}.test.ts'], take: 2 },
  // Kills, freezes and races real processes, in one file for each store.
  { name: 'processes, by store', files: ['test/processes/*-*.test.ts'], take: 2 },
  { name: 'chaos', files: ['test/chaos/chaos.full.test.ts'], isAlways: true },
  { name: 'planted bugs under chaos', files: ['test/chaos/planted.full.test.ts'] },
  { name: 'recorded histories', files: ['test/linearizability/*.test.ts'], take: 1 },
  { name: 'executions under load', files: ['test/load/*.test.ts'], take: 1 },
  {
    name: 'coordinators that come and go',
    files: ['test/server/{*nodes,rolling-deploy,recovery-in-time}-*.test.ts'],
    take: 1,
  },
  { name: 'routes, by store', files: ['test/server/routes-*.test.ts'], take: 1 },
  { name: 'upgrades', files: ['test/upgrade/*.test.ts'], take: 1 },
  { name: 'exported stores', files: ['test/export/*.test.ts'], take: 2 },
  {
    name: 'spoilt and costly requests',
    files: ['test/server/{fuzz,deep,cost}.test.ts', 'test/transport/fuzz*.test.ts'],
  },
  { name: 'services of the tests', files: ['test/services/*.test.ts'], take: 2 },
  { name: 'conformance cases', files: ['test/conform/*.test.ts'] },
  { name: 'five minutes', files: ['test/console/five-minutes-*.test.ts'], take: 1 },
  {
    name: 'transports',
    files: ['test/transport/{grpc,in-process,rest,sqs,stream}.test.ts'],
    take: 3,
  },
  {
    name: 'transport contract over push',
    files: ['test/transport/push-{contract,answers}.test.ts'],
  },
  { name: 'examples of executions', files: ['test/engine/examples.test.ts'] },
  {
    name: 'long times and many rows',
    files: ['test/engine/{schedules,time-travel,await-time-travel,bounded-reads-*}.test.ts'],
    take: 2,
  },
  {
    name: 'projects beside each other',
    files: ['test/server/{hostile*,fair-*,quotas,large-batches}.test.ts'],
    take: 5,
  },
];
