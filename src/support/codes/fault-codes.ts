// Codes of faults: stores, stored values, archives, exports and this installation.

import type { CodeEntries } from './entry.ts';

const NOT_WRITTEN = 'Nothing was written.';

export const STORE_CODES = {
  'store-unavailable': {
    title: 'The store is unavailable',
    status: 503,
    when: 'The store, or the coordinator in front of it, could not be reached or refused for now.',
    state: NOT_WRITTEN,
    fix: 'Try again. If it lasts, check the store with `holdfast doctor` and read the cause in the message.',
  },
  'outcome-unknown': {
    title: 'The outcome is unknown',
    status: 503,
    when: 'The request was sent, and no response arrived.',
    state: 'The change may or may not have been made.',
    fix: 'Repeat the same call with the same key, id or attempt: it takes effect once.',
  },
  'store-corrupt': {
    title: 'The stored data is damaged',
    when: 'Stored data breaks a rule that every writer of Holdfast keeps. A partial restore or manual SQL causes this.',
    state: NOT_WRITTEN,
    fix: 'Restore the store from a backup, then run `holdfast raise-epoch --store … --reason "…"`.',
  },
  'store-sealed': {
    title: 'The store is sealed',
    status: 503,
    when: 'The store was exported, so it accepts no writes.',
    state: NOT_WRITTEN,
    fix: 'Use the store that the export was imported into. If you gave up the export, run `holdfast unseal --store … --reason "…"`.',
  },
  'store-rejected': {
    title: 'The store rejected a statement',
    when: 'The database rejected a request for good: missing rights, a wrong schema or a value that it cannot store.',
    state: NOT_WRITTEN,
    fix: 'Read the error of the database in the message, and correct rights or settings.',
  },
  'store-unknown': {
    title: 'There is no store at this place',
    when: 'A command that needs an existing store found none at `--store`.',
    state: 'No store was created.',
    fix: 'Pass the store that the coordinator uses: `--store`, or `HOLDFAST_STORE`.',
  },
  'store-too-new': {
    title: 'A newer version wrote the SQLite file',
    when: 'The schema of the file is newer than this version supports.',
    state: NOT_WRITTEN,
    fix: 'Use the newer version of Holdfast.',
  },
  'schema-too-new': {
    title: 'A newer version migrated the schema',
    when: 'A newer version migrated the PostgreSQL schema, and its migration excludes older versions.',
    state: NOT_WRITTEN,
    fix: 'Upgrade this process.',
  },
  'schema-differs': {
    title: 'The schema has another migration',
    when: 'A migration in the PostgreSQL schema has other content than the one in this version.',
    state: NOT_WRITTEN,
    fix: 'Use the version that created the schema, or another schema (`postgres.schema`).',
  },
  'server-too-old': {
    title: 'The database server is too old',
    when: 'The server is older than PostgreSQL 14, Redis 6.2 or etcd 3.4.',
    state: 'No store was opened.',
    fix: 'Upgrade the server.',
  },
  'server-read-only': {
    title: 'The server is a replica',
    when: 'The Redis server is a replica, and the primary must keep the leases.',
    state: 'No store was opened.',
    fix: 'Pass the address of the primary, or a client that finds it.',
  },
  'not-durable': {
    title: 'The server is not durable',
    when: 'The settings of the server could lose grants that it acknowledged. The message names the setting.',
    state: 'No store was opened.',
    fix: 'Change the setting that the message names.',
  },
  'transaction-over': {
    title: 'The transaction is over',
    when: 'Code used the connection of `ctx.transaction` after the step had ended.',
    state: 'Nothing was sent.',
    fix: 'Await every query inside the function that you pass to `ctx.transaction`.',
  },
  'driver-missing': {
    title: 'A package is missing',
    when: 'A store, transport or archive needs an optional package or a newer Node. The message names it.',
    state: 'Nothing was opened.',
    fix: 'Install the package beside `holdfast`: `npm install <package>`.',
  },
  'listen-failed': {
    title: 'The address cannot be listened on',
    when: 'Another process uses the port, or this user may not listen on it.',
    state: 'The coordinator did not start.',
    fix: 'Choose another address with `--port`, `--admin` or `--grpc`. Port 0 takes a free one.',
  },
  'assertion-failed': {
    title: 'An internal check failed',
    when: 'Holdfast found a state that its rules exclude. This is a bug in Holdfast.',
    state: 'The operation stopped before it wrote, or its transaction was rolled back.',
    fix: 'Report the message and the stack.',
  },
} as const satisfies CodeEntries;

export const VALUE_CODES = {
  'payload-not-inline': {
    title: 'The value does not fit the transaction',
    when: 'The output of `ctx.transaction` is larger than `payloads.inlineBytesMax`, or the codec is asynchronous.',
    state: 'The transaction was rolled back.',
    fix: 'Return less, such as an id.',
  },
  'codec-missing': {
    title: 'The codec is missing',
    status: 409,
    when: 'The value was stored through a codec, and this process has none.',
    state: NOT_WRITTEN,
    fix: 'Open Holdfast with the same `codec` and its keys.',
  },
  'codec-key-missing': {
    title: 'The key of the value is missing',
    when: 'The value was encrypted with a key that this process does not have. The message has its id.',
    state: 'The execution is blocked until a worker has the key.',
    fix: 'Add the key to `aesCodec({ keys })` after the current one, then resume the execution.',
  },
  'codec-refused': {
    title: 'The value cannot be decoded',
    when: 'The stored value was changed, was copied to another place, or comes from a newer version.',
    state: 'The execution is blocked.',
    fix: 'Find out who changed the store, or upgrade this process. Then resume the execution.',
  },
  'codec-broken': {
    title: 'The codec returned a wrong result',
    when: 'Your codec did not return `{ by, bytes }` from `encode`, or bytes from `decode`.',
    state: NOT_WRITTEN,
    fix: 'Correct the codec.',
  },
  'codec-required': {
    title: 'The value was stored without the codec',
    when: 'The codec of this process is `required`, and another process stored the value without it.',
    state: 'The execution is blocked.',
    fix: 'Submit, signal and answer from processes that have the codec, or open this one without `required`.',
  },
  'archive-unavailable': {
    title: 'The archive is unavailable',
    status: 503,
    when: 'The folder or bucket of the archive did not respond, or refused every document.',
    state: 'Executions stay in the store until the archive has them.',
    fix: 'Check the folder, or URL, credentials, bucket and quota. The coordinator tries again.',
  },
  'archive-refused': {
    title: 'The archive refused a document',
    when: 'The archive refused one document for good.',
    state: 'The execution stays in the store.',
    fix: 'Read the response of the storage in the message.',
  },
  'archive-missing': {
    title: 'This process has no archive',
    status: 409,
    when: 'You read archived executions through a process without an archive.',
    state: NOT_WRITTEN,
    fix: 'Set `archive.folder` or `archive.url` for the coordinator, or `openHoldfast({ retention: { archive } })`.',
  },
  'archive-damaged': {
    title: 'Archived documents are damaged',
    status: 409,
    when: 'Documents of the execution are missing from the archive, or differ from their digests.',
    state: NOT_WRITTEN,
    fix: 'Run `holdfast archive verify <id>`, and restore the documents from a copy of the archive.',
  },
  'archive-not-written': {
    title: 'An execution was not archived',
    when: 'Writing the documents of one execution failed. A log line has the cause.',
    state: 'The execution stays in the store.',
    fix: 'Read the cause. The coordinator tries again.',
  },
} as const satisfies CodeEntries;

export const EXPORT_CODES = {
  'store-not-empty': {
    title: 'The store is not empty',
    when: '`holdfast import` found rows in the target store.',
    state: 'Nothing was imported.',
    fix: 'Import into a new file, database or schema.',
  },
  'not-sealed': {
    title: 'The store is not sealed',
    when: 'You unsealed a store that is not sealed, or a store was unsealed while its export ran.',
    state: NOT_WRITTEN,
    fix: 'No action is needed to unseal. If an export ran, discard its file and export again.',
  },
  'export-damaged': {
    title: 'The export is damaged',
    when: 'A line of the export file is cut, changed or missing. The message has its number.',
    state: 'Nothing was imported.',
    fix: 'Export again: the sealed store still has everything.',
  },
  'export-invalid': {
    title: 'The file is not an export',
    when: 'The first line of the file is not the header of an export.',
    state: 'Nothing was imported.',
    fix: 'Pass the file that `holdfast export` wrote.',
  },
  'export-format': {
    title: 'The export has another format',
    when: 'Another version of Holdfast wrote the export, in a format that this version does not read.',
    state: 'Nothing was imported.',
    fix: 'Export and import with the same version.',
  },
  'export-too-new': {
    title: 'A newer version wrote the export',
    when: 'The export has tables or columns that this version does not know.',
    state: 'Nothing was imported.',
    fix: 'Import with the version that wrote the export.',
  },
} as const satisfies CodeEntries;

export const COMMAND_CODES = {
  'wrong-usage': {
    title: 'The command was typed wrong',
    when: 'A command, flag or value on the command line is unknown, missing or not valid.',
    state: 'Nothing was done.',
    fix: 'The message names the word and the usage. Run `holdfast help <command>`.',
  },
  'file-unusable': {
    title: 'A file cannot be read or written',
    when: 'The operating system refused to open a file that the command needs.',
    state: 'Nothing was done.',
    fix: 'Check the path and its permissions.',
  },
  'coordinator-unreachable': {
    title: 'No coordinator responds',
    when: 'The command line could not connect to the coordinator.',
    state: 'Nothing was done.',
    fix: 'Start one with `holdfast dev` or `holdfast serve`, or pass its address: `--url`, or `HOLDFAST_URL`.',
  },
  'no-coordinator': {
    title: 'The server is not a coordinator',
    when: 'The server at this address sent a response that no coordinator sends. A proxy may have sent it.',
    state: 'The request may or may not have had its effect.',
    fix: 'Check the URL, and the proxy in front of the coordinator.',
  },
  'not-packed': {
    title: 'The checkout cannot be packed',
    when: '`holdfast init` runs from a checkout, and `npm pack` failed.',
    state: 'Nothing was written to the new folder.',
    fix: 'Read the output of `npm pack` in the message.',
  },
} as const satisfies CodeEntries;
