/** Folders of src/store that must answer every port with the same operation files, below them too. */
export const ADAPTERS: readonly string[] = ['memory', 'sqlite', 'postgres', 'redis', 'etcd'];

/** Those that keep leases only; what stands in these folders elsewhere is not asked of them. */
export const LEASES_ONLY: readonly string[] = ['redis', 'etcd'];
const BEYOND_LEASES: readonly string[] = ['executions/', 'access/', 'move/'];

/** What the port for executions asks for: a file each, in every adapter that keeps them, even if all forgot it. */
export const EXECUTION_FILES: readonly string[] = [
  ...[
    'open',
    'submit',
    'claim',
    'carried',
    'record',
    'transact',
    'finish',
    'park',
    'give-back',
    'inbox',
  ],
  ...['cancel', 'pause', 'resume', 'signal', 'maintain', 'read-execution', 'outcomes', 'history'],
  ...['list', 'children', 'attachments', 'blobs', 'deliver', 'gates', 'templates', 'schedules'],
  ...['fire-schedule', 'audit', 'refusals', 'removable', 'remove', 'archived', 'census'],
  ...['releases', 'change-line', 'move-execution', 'workers'],
].map((name) => `executions/${name}.ts`);

/** The same for projects and access keys. */
export const ACCESS_FILES: readonly string[] = ['open', 'projects', 'keys', 'end-key'].map(
  (name) => `access/${name}.ts`,
);

/** Files an adapter has for itself, each with the reason. Everything else is an operation. */
export const EXTRA_FILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  memory: {
    'state.ts': 'holds in plain maps what the SQL stores hold in tables',
    'line.ts': 'who stands in line, which the SQL stores say in SQL',
    'access/state.ts': 'holds in plain maps what the SQL stores hold in tables',
    'executions/state.ts': 'holds in plain maps what the SQL stores hold in tables',
    'executions/books.ts': 'holds in plain maps what the SQL stores hold in tables',
    'executions/heap.ts': 'what comes first by time, which the SQL stores say with an index',
    'executions/ready.ts': 'what may be claimed, which the SQL stores say with an index',
    'executions/lost.ts': 'what dead sessions left, too long to share a file',
    'executions/owner.ts': 'what the verbs of owners share',
    'executions/command.ts': 'what the four commands share',
    'executions/end.ts': 'all that an end does, whoever brings it about',
    'executions/reconcile-facts.ts': 'what is compared with each other, part by part',
    'executions/release-book.ts': 'holds in plain maps what the SQL stores hold in tables',
  },
  sqlite: {
    'connect.ts': 'opens the file and checks that it is ours and durable',
    'connection.ts': 'one connection with its prepared statements',
    'database.ts': 'group commit: many operations, one transaction',
    'transaction.ts': 'what an operation sees: statements, time, events, hints',
    'load-view.ts': 'what refusals are explained from',
    'grant-lease.ts': 'the statement of acquire, too long to share a file',
    'delete-old.ts': 'the deletions of sweep, too long to share a file',
    'migrate.ts': 'only SQL stores have tables',
    'set-clock-back.ts': 'only SQLite keeps a clock of its own in a file',
    'inspect-store.ts':
      'what can be said of it before it is opened, which only stores with tables have',
    'move/open-move.ts': 'what is in memory is not moved',
    'move/dump.ts': 'what is in memory is not moved',
    'move/load.ts': 'what is in memory is not moved',
    'move/table-columns.ts': 'how its tables differ from what is exported',
    'executions/append-outside.ts': 'the event of somebody who does not own the execution',
    'executions/pin.ts': 'which release a new execution is pinned to, which PostgreSQL says in SQL',
    'executions/candidates.ts': 'which executions a claim may have, too long to share a file',
    'executions/close-awaits.ts': 'what an end does to open awaits, too long to share a file',
    'executions/command-view.ts': 'what the four commands share',
    'executions/end-execution.ts': 'all that an end does, whoever brings it about',
    'executions/labels.ts': 'tags and attributes, by which executions are found',
    'executions/lent-connection.ts': 'what user code sees of the connection',
    'executions/let-go.ts': 'how park and giveBack let go',
    'executions/load-await.ts': 'units and interactions as they are read',
    'executions/load-execution.ts': 'rows of executions as arrays',
    'executions/lost.ts': 'what dead sessions left, too long to share a file',
    'executions/mend-waiting.ts': 'repairs of what waits, too long to share a file',
    'executions/rates.ts': 'the turns of rate keys',
    'executions/reconcile-facts.ts': 'what is compared with each other, part by part',
    'executions/reconcile-waiting.ts': 'what waits and could wake, too long to share a file',
    'executions/ready-rows.ts': 'what a claim reads of what is ready, too long to share a file',
    'executions/repair-verbs.ts': 'names the verbs of repair and audit, too many to share a file',
    'executions/strays.ts': 'claims whose answer was lost with the commit',
    'executions/take-claims.ts': 'what a claim does to the executions that were chosen',
    'executions/owner-view.ts': 'what refusals are explained from',
    'executions/owner.ts': 'what the verbs of owners share',
  },
  redis: {
    'connect.ts': 'options, driver and client',
    'database.ts': 'runs scripts, translates errors',
    'script.ts': 'how Lua becomes a script that is told its keys',
    'records.ts': 'records as JSON that Lua can read and write',
    'load-view.ts': 'what refusals are explained from',
    'server-facts.ts': 'what a server says of itself, and what that makes a "done" worth',
    'adopt-server.ts': 'only a server can restart, fail over or be restored beside us',
    'hints.ts': 'PUBLISH and SUBSCRIBE between processes',
    'clock.ts': 'Lua: the time of the server, made to go only forwards',
    'sessions.ts': 'Lua: sessions, and what the clock makes of them',
    'terms.ts': 'Lua: how terms end, and who holds',
    'line.ts': 'Lua: who stands in line',
    'events.ts': 'Lua: events and hints',
    'halt.ts': 'Lua: what stops grants',
    'grant-lease.ts': 'the script of acquire, too long to share a file',
    'delete-old.ts': 'the deletions of sweep, too long to share a file',
  },
  postgres: {
    'connect.ts': 'options, driver and connections',
    'grant-lease.ts': 'the statement of acquire, too long to share a file',
    'delete-old.ts': 'the deletions of sweep, too long to share a file',
    'database.ts': 'holds the pool and transactions, translates errors',
    'predicates.ts': 'SQL that several statements share',
    'load-view.ts': 'what refusals are explained from',
    'adopt-server.ts': 'only a server can restart, fail over or be restored beside us',
    'record-end.ts': 'how a term ended, written into its row before it is granted again',
    'halt.ts': 'the one statement that stops grants',
    'lost-race.ts': 'statement and decision are two here, and the row may move in between',
    'hints.ts': 'LISTEN and NOTIFY between processes',
    'pooler.ts': 'only a server can be reached through one',
    'migrate.ts': 'only SQL stores have tables',
    'inspect-store.ts':
      'what can be said of it before it is opened, which only stores with tables have',
    'committer.ts': 'group commit of what executions write: many operations, one statement',
    'move/open-move.ts': 'what is in memory is not moved',
    'move/dump.ts': 'what is in memory is not moved',
    'move/load.ts': 'what is in memory is not moved',
    'move/table-columns.ts': 'how its tables differ from what is exported',
    'executions/arrays.ts': 'array literals, as unnest takes them',
    'executions/await-verbs.ts': 'names the verbs of awaits, too many to share a file',
    'executions/bell.ts': 'LISTEN and NOTIFY between processes',
    'executions/boundaries.ts': 'counts commits, so that a test can end the process at any of them',
    'executions/change-schedule.ts':
      'a change of a schedule and its audit, too long to share a file',
    'executions/claim-statement.ts': 'the statement of claim, too long to share a file',
    'executions/command.ts': 'what the four commands share',
    'executions/command-await.ts': 'what the three commands on awaits share',
    'executions/end-execution.ts': 'all that an end does, whoever brings it about',
    'executions/finish-statement.ts': 'the statements of finish, too long to share a file',
    'executions/insert-executions.ts':
      'new executions: by submit, as children, as a successor, as a re-drive',
    'executions/ledger.ts': 'how far the histories of executions claimed here are known to go',
    'executions/items.ts': 'what a flush of the writes of owners is made of',
    'executions/lent-connection.ts': 'what user code sees of the connection',
    'executions/let-go.ts': 'the statement that park and giveBack share',
    'executions/owner-guards.ts': 'the guard that every statement of an owner has',
    'executions/parts.ts': 'what every verb works with',
    'executions/places.ts': 'the places of concurrency keys, locked',
    'executions/rates.ts': 'the turns of rate keys, locked',
    'executions/mend-waiting.ts': 'repairs of what waits, too long to share a file',
    'executions/reconcile-facts.ts': 'what is compared with each other, part by part',
    'executions/reconcile-waiting.ts': 'what waits and could wake, too long to share a file',
    'executions/redrive-rows.ts': 'what a re-drive reads and leaves, too long to share a file',
    'executions/removed-labels.ts': 'the labels of what is removed, too long to share a file',
    'executions/repair-verbs.ts': 'names the verbs of repair and audit, too many to share a file',
    'executions/refuse-claim.ts': 'what refusals of claims are explained from',
    'executions/rows.ts': 'executions as they are read and written whole',
    'executions/strays.ts': 'claims whose answer was lost with the connection',
    'executions/unit-rows.ts': 'units and interactions as they are read and written',
    'executions/write.ts': 'the write of an owner in a transaction of its own',
  },
  etcd: {
    'adopt-cluster.ts': 'only a cluster can have an election, or be restored, beside us',
    'client.ts': 'calls to one member or another, and what an error means',
    'connect.ts': 'from options to a client',
    'connection.ts': 'keys at one moment, when they were heard of, what is remembered of them',
    'database.ts': 'a verb is tried until what it has read is still so when it writes',
    'delete-old.ts': 'the deletions of sweep, too long to share a file',
    'grant-lease.ts': 'what a grant looks at and writes, too long to share a file',
    'halt.ts': 'the one write that stops grants',
    'hints.ts': 'hints between processes, by keys that all of them watch',
    'join-store.ts': 'the first client makes the keys, the others listen to each other',
    'keys.ts': 'where everything is kept',
    'line.ts': 'who stands in line, which the SQL stores say in SQL',
    'load-view.ts': 'what decisions look at',
    'messages.ts': 'the part of etcd’s API that is used',
    'notify.ts': 'the notices of a session have a key of their own',
    'pulses.ts': 'native leases',
    'record-end.ts': 'how a term ended, written down by sweeps',
    'records.ts': 'values of keys and records of the kernel',
    'revision-log.ts': 'since when which revision is known',
    'save-lease.ts': 'a lease has several keys',
    'store-clock.ts': 'etcd has no clock to ask',
    'store-options.ts': 'what a person writes to open it, free of the driver’s types',
    'timekeeper.ts': 'who knows the time tells it',
    'transaction.ts': 'one try of a verb: reads, guards, writes',
    'watch.ts': 'one watch that goes on whatever happens to its member',
  },
};

type ExtraFiles = typeof EXTRA_FILES;

/** A file's name below its adapter's folder, such as `executions/claim.ts`; undefined for all others. */
export function nameWithin(adapter: string, path: string): string | undefined {
  const folder = `src/store/${adapter}/`;
  return path.startsWith(folder) ? path.slice(folder.length) : undefined;
}

function isBeyondLeases(name: string): boolean {
  return BEYOND_LEASES.some((folder) => name.startsWith(folder));
}

/** Adapters that lack an operation another one has, and extra files that no longer exist. */
export function adapterProblems(
  paths: readonly string[],
  extraFiles: ExtraFiles = EXTRA_FILES,
  required: readonly string[] = [...EXECUTION_FILES, ...ACCESS_FILES],
): readonly string[] {
  const filesOf = (adapter: string) =>
    paths
      .map((path) => nameWithin(adapter, path))
      .filter((name) => name !== undefined)
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const operations = new Set([
    ...required,
    ...ADAPTERS.flatMap((adapter) =>
      filesOf(adapter).filter((name) => extraFiles[adapter]?.[name] === undefined),
    ),
  ]);
  return ADAPTERS.flatMap((adapter) => {
    const files = filesOf(adapter);
    const missing = [...operations]
      .filter((name) => !(LEASES_ONLY.includes(adapter) && isBeyondLeases(name)))
      .filter((name) => !files.includes(name))
      .map((name) => `src/store/${adapter}/${name} is missing; the port or another adapter has it`);
    const stale = Object.keys(extraFiles[adapter] ?? {})
      .filter((name) => !files.includes(name))
      .map((name) => `src/store/${adapter}/${name} is listed as extra but does not exist`);
    const shadowed = Object.keys(extraFiles[adapter] ?? {})
      .filter((name) => required.includes(name))
      .map((name) => `src/store/${adapter}/${name} is an operation and may not be listed as extra`);
    return [...missing, ...stale, ...shadowed];
  });
}
