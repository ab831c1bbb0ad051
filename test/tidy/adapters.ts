/** Folders of src/store that must answer every port with the same operation files. */
export const ADAPTERS: readonly string[] = ['memory', 'sqlite', 'postgres'];

/** Files an adapter has for itself, each with the reason. Everything else is an operation. */
export const EXTRA_FILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  memory: {
    'state.ts': 'holds in plain maps what the SQL stores hold in tables',
    'line.ts': 'who stands in line, which the SQL stores say in SQL',
  },
  sqlite: {
    'connect.ts': 'opens the file and checks that it is ours and durable',
    'connection.ts': 'one connection with its prepared statements',
    'database.ts': 'group commit: many operations, one transaction',
    'transaction.ts': 'what an operation sees: statements, time, events, hints',
    'store-clock.ts': 'the file has no clock; the host has one that may be set back',
    'load-view.ts': 'what refusals are explained from',
    'grant-lease.ts': 'the statement of acquire, too long to share a file',
    'delete-old.ts': 'the deletions of sweep, too long to share a file',
    'migrate.ts': 'only SQL stores have tables',
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
    'hints.ts': 'LISTEN and NOTIFY between processes',
    'migrate.ts': 'only SQL stores have tables',
  },
};

type ExtraFiles = typeof EXTRA_FILES;

/** Adapters that lack an operation another one has, and extra files that no longer exist. */
export function adapterProblems(
  paths: readonly string[],
  extraFiles: ExtraFiles = EXTRA_FILES,
): readonly string[] {
  const filesOf = (adapter: string) =>
    paths
      .filter((path) => path.startsWith(`src/store/${adapter}/`))
      .map((path) => path.split('/')[3] ?? '')
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const operations = new Set(
    ADAPTERS.flatMap((adapter) =>
      filesOf(adapter).filter((name) => extraFiles[adapter]?.[name] === undefined),
    ),
  );
  return ADAPTERS.flatMap((adapter) => {
    const files = filesOf(adapter);
    const missing = [...operations]
      .filter((name) => !files.includes(name))
      .map((name) => `src/store/${adapter}/${name} is missing; another adapter has it`);
    const stale = Object.keys(extraFiles[adapter] ?? {})
      .filter((name) => !files.includes(name))
      .map((name) => `src/store/${adapter}/${name} is listed as extra but does not exist`);
    return [...missing, ...stale];
  });
}
