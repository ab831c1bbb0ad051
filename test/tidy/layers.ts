import { dirname } from 'node:path';
import { importsOf, resolveImport } from './imports.ts';
import type { ProjectFile } from './project-files.ts';

const ADAPTERS = ['store/sqlite', 'store/postgres', 'store/redis', 'store/etcd'];
const PROTOCOLS = ['rest', 'work', 'grpc', 'sqs', 'push'].map((name) => `protocol/${name}`);
const KERNEL = ['support', 'lease'];
const MODEL = [...KERNEL, 'execution'];
const PORTS = [...MODEL, 'store/contract'];
const LIBRARY = [
  ...PORTS,
  'store/sql',
  ...ADAPTERS,
  'archive',
  'engine',
  'recipes',
  'guards',
  'observe',
];
const WIRE = ['protocol/messages', ...PROTOCOLS];

/** Each folder of src/ and the folders it may import beside itself. The rest is forbidden. */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  support: [],
  lease: ['support'],
  execution: KERNEL,
  'store/contract': MODEL,
  'store/sql': PORTS,
  'store/sqlite': [...PORTS, 'store/sql'],
  'store/postgres': [...PORTS, 'store/sql'],
  'store/redis': PORTS,
  'store/etcd': PORTS,
  archive: ['support'],
  engine: [...PORTS, 'archive'],
  recipes: KERNEL,
  guards: KERNEL,
  observe: PORTS,
  'protocol/messages': MODEL,
  'protocol/rest': [...PORTS, 'engine', 'protocol/messages'],
  // The replies that every transport of the worker protocol sends (ADR 0027).
  'protocol/work': [...PORTS, 'protocol/messages', 'protocol/rest'],
  'protocol/grpc': [...PORTS, 'protocol/messages', 'protocol/rest', 'protocol/work'],
  'protocol/sqs': [...PORTS, 'protocol/messages', 'protocol/rest', 'protocol/work'],
  'protocol/push': [...PORTS, 'engine', 'protocol/messages', 'protocol/rest'],
  // The same engine, on a store that is elsewhere (ADR 0019).
  worker: [...PORTS, 'engine', 'protocol/messages'],
  client: ['support', 'protocol/messages'],
  server: [...LIBRARY, ...WIRE],
  cli: [
    ...PORTS,
    'archive',
    'observe',
    'engine',
    'embedded',
    'client',
    'worker',
    'server',
    'protocol/messages',
    // The cases of `holdfast conform` are a contract, which the command runs.
    'contract/conform',
  ],
  embedded: LIBRARY,
  index: [...LIBRARY, 'embedded', 'worker'],
};

/** The last word of a file name in `features/` is its layer: `model.ts`, `contract-model.ts`. */
const FEATURE_LAYERS: Readonly<Record<string, string>> = {
  model: 'execution',
  decide: 'execution',
  port: 'store/contract',
  rows: 'store/contract',
  api: 'engine',
  duty: 'engine',
  messages: 'protocol/messages',
  routes: 'protocol/rest',
  client: 'client',
  cli: 'cli',
};

/** Folders whose children are layers; files directly in one belong to the layer named here. */
const PARENTS: Readonly<Record<string, string>> = {
  store: 'store/contract',
  protocol: 'protocol/messages',
};

/** The layer of a path below src/, known or not. */
export function layerOf(path: string): string {
  const [first = '', second, third] = path.replace(/^src\//, '').split('/');
  if (first === 'features') {
    const word = /([a-z]+)(\.test)?\.ts$/.exec(path)?.[1] ?? '';
    return FEATURE_LAYERS[word] ?? `features, "${word}"`;
  }
  if (second === undefined) {
    return first.replace(/\.ts$/, '');
  }
  const parentLayer = PARENTS[first];
  if (parentLayer === undefined) {
    return first;
  }
  return third === undefined ? parentLayer : `${first}/${second}`;
}

/** Folders inside `engine`: each may import those before it. */
const ROOMS: readonly string[] = ['values', 'run', 'worker'];

function roomOf(path: string): number {
  return ROOMS.indexOf(/^src\/engine\/(\w+)\//.exec(path)?.[1] ?? '');
}

function isAhead(path: string, target: string): boolean {
  return roomOf(path) >= 0 && roomOf(target) > roomOf(path);
}

/** Imports that leave the table above. Type-only imports count: they couple just as much. */
export function layerViolations(files: readonly ProjectFile[]): readonly string[] {
  return files.flatMap((file) => {
    const layer = layerOf(file.path);
    const allowed = LAYERS[layer];
    if (allowed === undefined) {
      return [`${file.path}: folder "${layer}" is not in the table of test/tidy/layers.ts`];
    }
    return importsOf(file.text).flatMap(({ specifier, line }) => {
      const target = resolveImport(file, specifier);
      if (target === undefined) {
        return [];
      }
      const targetLayer = target.startsWith('src/') ? layerOf(target) : dirname(target);
      const isAllowed = targetLayer === layer || allowed.includes(targetLayer);
      return isAllowed && !isAhead(file.path, target)
        ? []
        : [`${file.path}:${line}: "${layer}" may not import "${targetLayer}" (${specifier})`];
    });
  });
}
