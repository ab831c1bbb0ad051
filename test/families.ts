// Families of tests that are long in full. `npm test` takes samples of them, `npm run test:guard` takes a third of
// them in full, `npm run test:all` takes all.

export interface Family {
  readonly name: string;
  /** Globs of its test files. */
  readonly files: readonly string[];
  /** How many of its files `npm test` takes, chosen by the run's seed. Default: all, which sample by themselves. */
  readonly take?: number;
}

/** One scenario with real processes, in one file for each store. */
function byStore(name: string, glob: string): Family {
  return { name: `${name}, by store`, files: [glob], take: 1 };
}

/** Every third belongs together in a guard run: neighbours run in different ones. */
export const FAMILIES: readonly Family[] = [
  { name: 'mutants', files: ['test/mutation/*.test.ts', 'test/etcd/mutation-etcd.test.ts'] },
  { name: 'crash points', files: ['test/crash/*.test.ts', 'test/archive/kill.test.ts'] },
  { name: 'random programs', files: ['test/model/*.test.ts'] },
  { name: 'behaviours over REST', files: ['test/server/behaviours-*.test.ts'] },
  { name: 'contract on etcd', files: ['test/contract/etcd.test.ts'] },
  { name: 'schedules of guards', files: ['test/guards/*.test.ts'] },
  { name: 'transport contract on PostgreSQL', files: ['test/transport/kinds-postgres.test.ts'] },
  { name: 'console pages', files: ['test/console/browser-*.test.ts'] },
  { name: 'commands as processes', files: ['test/cli/*.test.ts'] },
  { name: 'orders around a park', files: ['test/engine/suspend-*.test.ts'] },
  { name: 'predictions and real runs', files: ['test/observe/*.full.test.ts'] },
  { name: 'the package', files: ['test/package/*.test.ts', 'test/docs/*.test.ts'] },
  byStore('frozen processes', 'test/processes/freeze-*.test.ts'),
  byStore('killed processes', 'test/processes/kill-*.test.ts'),
  byStore('racing processes', 'test/processes/race-*.test.ts'),
  byStore('recovery', 'test/processes/recovery-*.test.ts'),
  byStore('first opening', 'test/processes/first-open-*.test.ts'),
  byStore('store outages', 'test/processes/store-outage-*.test.ts'),
  byStore('elections', 'test/recipes/elect-*.test.ts'),
  byStore('pools', 'test/recipes/pool-*.test.ts'),
  byStore('registries', 'test/recipes/registry-*.test.ts'),
  byStore('withLease', 'test/recipes/with-lease-*.test.ts'),
  byStore('sessions that prove progress', 'test/recipes/proved-session-*.test.ts'),
  byStore('raced release lines', 'test/load/line-race-*.test.ts'),
  byStore('load', 'test/load/{postgres,sqlite}.test.ts'),
  byStore('killed nodes', 'test/server/*nodes-*.test.ts'),
  byStore('rolling deploys', 'test/server/rolling-deploy-*.test.ts'),
  byStore('recovery over HTTP', 'test/server/recovery-in-time-*.test.ts'),
  byStore('pinned upgrades', 'test/upgrade/pinned-*.test.ts'),
  byStore('five minutes', 'test/console/five-minutes-*.test.ts'),
];
