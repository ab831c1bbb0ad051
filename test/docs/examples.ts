// Turns each `@example` block of public JSDoc into a module that compiles. The module gets imports
// for the names of the example's own entry point. The example imports packages and other entry
// points itself.

import type { PublicExport } from '../tidy/public-api.ts';

export interface Example {
  /** A file name without its ending. */
  readonly name: string;
  readonly code: string;
}

/** Variables that examples use without declaring them, so that they show only their subject. */
const AMBIENT: Readonly<Record<string, string>> = {
  ctx: "import('holdfast').Context",
  holdfast: "import('holdfast').Holdfast",
  session: "import('holdfast').Session",
  lease: "import('holdfast').HeldLease",
  store: "import('holdfast').CoordinatorStore",
  order: "import('holdfast').Pipeline<{ readonly item: string }, unknown>",
  handle: "import('holdfast').Handle<unknown>",
  client: "import('holdfast/client').HoldfastClient",
  id: 'string',
  child: "import('holdfast').Child<unknown>",
  packed: 'number',
  request: 'Request',
  input: '{ readonly id: string }',
  events: "readonly import('holdfast/testing/linearizability').LeaseCallEvent[]",
  files: 'readonly string[]',
  db: '{ load(id: string): Promise<object> }',
  pay: '(about?: object) => Promise<void>',
  charge: '(item: string, key: string) => Promise<string>',
  ship: '(item: string) => Promise<void>',
  reserve: '() => Promise<void>',
  release: '() => Promise<void>',
  resize: '(file: string) => Promise<string>',
  poll: '(signal: AbortSignal, key?: string) => Promise<void>',
  encodeSync: '() => void',
};

export function examplesOf(api: readonly PublicExport[]): readonly Example[] {
  return api.flatMap((each) => {
    const names = api.filter(({ entry }) => entry === each.entry);
    return [each, ...each.members].flatMap(({ name, docs }) => {
      const [, code] = /^@example\n(.*?)(?=^@\w|$(?![\s\S]))/ms.exec(docs) ?? [];
      if (code === undefined) return [];
      const file = `${each.entry}-${name}`.replaceAll(/[^\w-]/g, '-');
      return [{ name: file, code: moduleOf(code, each.entry, names) }];
    });
  });
}

/**
 * Imports and declarations stay outside the function, so that the example may use `await` and its
 * own names.
 */
function moduleOf(code: string, entry: string, names: readonly PublicExport[]): string {
  const lines = code.split('\n').map((line) => line.replace(/^export /, ''));
  const isOuter = (line: string): boolean => /^(?:import|declare) /.test(line);
  const outer = lines.filter(isOuter).join('\n');
  const body = lines.filter((line) => !isOuter(line)).join('\n');
  const uses = (name: string): boolean =>
    new RegExp(`(?<![.\\w])${name}(?!\\w)`).test(`${outer}\n${body}`);
  const imported = names
    .filter(({ name }) => uses(name) && !new RegExp(`^import .*\\b${name}\\b`, 'm').test(outer))
    .map(({ name, isValue }) => (isValue ? name : `type ${name}`));
  const ambient = Object.entries(AMBIENT)
    .filter(([name]) => uses(name) && !new RegExp(`^declare const ${name}\\b`, 'm').test(outer))
    .map(([name, type]) => `declare const ${name}: ${type};`);
  return [
    `import { ${imported.join(', ')} } from '${entry}';`,
    outer,
    ...ambient,
    'export async function example(): Promise<void> {',
    body,
    '}',
  ].join('\n');
}
