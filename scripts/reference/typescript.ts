// Renders the reference of the TypeScript API: each entry point with its exports, their declarations and
// their JSDoc.

import type { PublicExport } from '../../test/tidy/public-api.ts';
import { slugOf } from '../site/slug.ts';
import { codeBlock, pageText, plain, tableOf, wrapped } from './markdown.ts';

const GROUP = 'TypeScript API';
const SOURCE = 'the exports and their JSDoc';

/** For what a user imports each entry point. */
const PURPOSES: Readonly<Record<string, string>> = {
  holdfast: 'Open Holdfast, define pipelines, submit and run executions, and use leases.',
  'holdfast/recipes':
    'Run work under a lease: `withLease`, election, pool, semaphore, `once` and registry.',
  'holdfast/store/memory': 'A store in memory, for tests.',
  'holdfast/store/sqlite': 'A store in a SQLite file.',
  'holdfast/store/postgres': 'A store in PostgreSQL.',
  'holdfast/store/redis': 'A store of leases in Redis.',
  'holdfast/store/etcd': 'A store of leases in etcd.',
  'holdfast/store/coordinator': 'The leases of a coordinator, as a store.',
  'holdfast/archive/folder': 'An archive of ended executions in a folder.',
  'holdfast/archive/s3': 'An archive of ended executions in S3.',
  'holdfast/guards/postgres': 'Check fences in your PostgreSQL tables.',
  'holdfast/guards/sqlite': 'Check fences in your SQLite tables.',
  'holdfast/guards/mysql': 'Check fences in your MySQL or MariaDB tables.',
  'holdfast/guards/redis': 'Check fences in Redis.',
  'holdfast/guards/s3': 'Check fences in S3-compatible storage.',
  'holdfast/guards/http': 'Send fences with HTTP requests, and check them in a service.',
  'holdfast/guards/files': 'Check fences when you replace files.',
  'holdfast/server': 'Run a coordinator in your process.',
  'holdfast/worker': 'Run executions of a coordinator, over HTTP.',
  'holdfast/worker/grpc': 'The gRPC transport of a worker.',
  'holdfast/worker/push': 'Run executions that a coordinator pushes to an HTTP endpoint.',
  'holdfast/worker/sqs': 'The SQS transport of a worker.',
  'holdfast/client': 'Call the HTTP API of a coordinator.',
  'holdfast/observe': 'Record lease logs, verify them, and derive time settings.',
  'holdfast/observe/opentelemetry': 'Report to OpenTelemetry.',
  'holdfast/observe/prometheus': 'Report to Prometheus.',
  'holdfast/testing': 'Test pipelines, and test a store or transport of your own.',
  'holdfast/testing/linearizability':
    'Check whether an order of concurrent calls explains all replies of a store.',
};

const SORTS: readonly (readonly [sort: PublicExport['sort'], title: string])[] = [
  ['function', 'Functions'],
  ['class', 'Classes'],
  ['constant', 'Constants'],
  ['type', 'Types'],
];

const INTRODUCTION = `The package has these entry points. The site has a page for each, with declarations and examples. A
type that several entry points export is listed once.`;

/** The names of all exports. The list is in the repository, so that a review shows API changes. */
export function typescriptIndex(api: readonly PublicExport[], isLinked = false): string {
  const entries = entriesOf(api);
  const lists = entries.map(([entry, exports]) => {
    const anchors = anchorsOf(exports);
    const rows = SORTS.flatMap(([sort, title]) => {
      const own = exports.filter((each) => each.sort === sort);
      const names = own.map(({ name }) => {
        const anchor = anchors.get(name);
        return isLinked ? `[\`${name}\`](typescript/${fileOf(entry)}.md#${anchor})` : `\`${name}\``;
      });
      return names.length === 0 ? [] : [[title, names.join(', ')]];
    });
    return `## ${entry}\n\n${purposeOf(entry)}\n\n${tableOf([['Kind', 'Names'], ...rows])}`;
  });
  return pageText({ title: 'Overview', order: 100, group: GROUP }, SOURCE, [
    '# TypeScript API',
    wrapped(INTRODUCTION),
    ...lists,
  ]);
}

/** The anchor of each export in the page of its entry point. Names may differ only in their case. */
function anchorsOf(exports: readonly PublicExport[]): ReadonlyMap<string, string> {
  const used = new Map<string, number>();
  const anchors = new Map<string, string>();
  for (const [sort] of SORTS) {
    for (const { name } of exports.filter((each) => each.sort === sort).sort(byName)) {
      const slug = slugOf(name);
      const count = used.get(slug) ?? 0;
      used.set(slug, count + 1);
      anchors.set(name, count === 0 ? slug : `${slug}-${count}`);
    }
  }
  return anchors;
}

/** Pages by path in docs/reference: one for each entry point. */
export function typescriptPages(api: readonly PublicExport[]): Readonly<Record<string, string>> {
  const pages = entriesOf(api).map(([entry, exports], at) => {
    const sections = SORTS.flatMap(([sort, title]) => {
      const own = exports.filter((each) => each.sort === sort).sort(byName);
      return own.length === 0 ? [] : [`## ${title}`, ...own.map(exportText)];
    });
    const text = pageText({ title: entry, order: 101 + at, group: GROUP }, SOURCE, [
      `# \`${entry}\``,
      purposeOf(entry),
      codeBlock('ts', `import { ${importedOf(exports)} } from '${entry}';`),
      ...sections,
    ]);
    return [`typescript/${fileOf(entry)}.md`, text] as const;
  });
  return Object.fromEntries(pages);
}

function fileOf(entry: string): string {
  return entry.replaceAll('/', '-');
}

function exportText({ name, docs, declaration }: PublicExport): string {
  const { text, examples } = jsDoc(docs);
  return [
    `### ${name}`,
    ...(text === '' ? [] : [plain(text)]),
    codeBlock('ts', declaration),
    ...examples.flatMap((example) => ['**Example**', codeBlock('ts', example)]),
  ].join('\n\n');
}

/** Returns the text before the first tag, and the examples. Other tags are for the compiler. */
function jsDoc(docs: string): { readonly text: string; readonly examples: readonly string[] } {
  const [text = '', ...tags] = docs.split(/^(?=@\w)/m);
  const examples = tags
    .filter((tag) => tag.startsWith('@example'))
    .map((tag) => tag.replace(/^@example\s*\n/, '').trim());
  return { text: text.replaceAll(/\{@link ([^}]+)\}/g, '`$1`').trim(), examples };
}

function entriesOf(api: readonly PublicExport[]): readonly [string, readonly PublicExport[]][] {
  return [...Map.groupBy(api, ({ entry }) => entry)];
}

function purposeOf(entry: string): string {
  const purpose = PURPOSES[entry];
  if (purpose === undefined)
    throw new Error(`scripts/reference: describe the entry point ${entry}.`);
  return purpose;
}

const SHOWN_MAX = 3;

function importedOf(exports: readonly PublicExport[]): string {
  const values = exports.filter(({ isValue }) => isValue);
  return (values.length > 0 ? values : exports)
    .slice(0, SHOWN_MAX)
    .map(({ name }) => name)
    .join(', ');
}

function byName(a: PublicExport, b: PublicExport): number {
  return a.name < b.name ? -1 : 1;
}
