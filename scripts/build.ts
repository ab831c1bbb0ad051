// Compiles src/, the contract suites and the examples into dist/, and adds the console and the site.

import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { transformSync } from 'esbuild';
import { provideConsole } from './console/provide.ts';
import { provideSite } from './site/provide.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');

/** Suites and the demo: no user steps through their code, so it is minified. */
const OF_SUITES = /^(contract|cli\/demo)\//;
/** Users step through the engine, rarely through these. Names stay, for stack traces. */
const OF_COORDINATORS = /^(cli|features|observe|protocol|server|store)\//;

// The package must not contain the output of renamed or deleted sources.
rmSync(DIST, { recursive: true, force: true });

compile();
// The compiler wrote src/ and contract/ side by side. The entry points are in dist/ itself.
cpSync(join(DIST, 'src'), DIST, { recursive: true });
rmSync(join(DIST, 'src'), { recursive: true });
for (const name of globSync('**/*.{js,d.ts}', { cwd: DIST })) {
  const file = join(DIST, name);
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, name.startsWith('contract/') ? withoutSrc(text) : nearContract(text, name));
}
// Comments stay in the declarations, for editors, and leave the code, to keep the package small.
for (const name of globSync('**/*.js', { cwd: DIST })) {
  const file = join(DIST, name);
  const path = name.replaceAll('\\', '/');
  const { code } = transformSync(readFileSync(file, 'utf8'), {
    charset: 'utf8',
    legalComments: 'none',
    minify: OF_SUITES.test(path),
    ...(OF_COORDINATORS.test(path) && { minifyWhitespace: true, lineLimit: 100 }),
  });
  writeFileSync(file, code);
}
// No editor reads a declaration that no entry point reaches.
const reached = reachedDeclarations();
for (const name of globSync('**/*.d.ts', { cwd: DIST })) {
  if (!reached.has(join(DIST, name))) rmSync(join(DIST, name));
}
for (const asset of globSync('**/*.{sql,proto}', { cwd: join(ROOT, 'src') })) {
  cpSync(join(ROOT, 'src', asset), join(DIST, asset));
}
// Node does not strip types below node_modules, so the package has the examples as JavaScript, too.
for (const example of globSync('**/*.ts', { cwd: join(ROOT, 'examples') })) {
  const source = readFileSync(join(ROOT, 'examples', example), 'utf8').replaceAll(/\.ts'/g, ".js'");
  const options = { loader: 'ts', charset: 'utf8', minifyWhitespace: true } as const;
  const { code: text } = transformSync(source, options);
  const target = join(DIST, 'examples', example.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}
cpSync(await provideConsole(console.log), join(DIST, 'console'), { recursive: true });
cpSync(await provideSite(console.log), join(DIST, 'site.br'));

function compile(): void {
  const compiler = join(ROOT, 'node_modules/.bin/tsc');
  const options = { cwd: ROOT, stdio: 'inherit' } as const;
  const { status, error } = spawnSync(compiler, ['-p', 'tsconfig.build.json'], options);
  if (error !== undefined) {
    throw new Error(`The compiler did not start (${error.message}). Run \`npm ci\` first.`);
  }
  if (status !== 0) process.exitCode = status ?? 1;
}

/** Turns imports of src/ into imports of its compiled files. */
function withoutSrc(text: string): string {
  return text.replaceAll(/(['"])((?:\.\.\/)+)src\//g, '$1$2');
}

/** Turns imports of contract/ into imports of the folder that is now beside those of src/. */
function nearContract(text: string, file: string): string {
  const up = '../'.repeat(file.split('/').length - 1);
  return text.replaceAll(`'../${up}contract/`, `'${up || './'}contract/`);
}

/** The declarations of the package's entry points, and those that they import. */
function reachedDeclarations(): ReadonlySet<string> {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, { readonly types?: string }>>;
  };
  const entries = Object.values(manifest.exports).flatMap(({ types = [] }) => types);
  const found = new Set(entries.map((path) => join(ROOT, path)));
  // A set also iterates over what is added meanwhile.
  for (const file of found) {
    const imports = readFileSync(file, 'utf8').matchAll(/['"](\.{1,2}\/[^'"]+)\.[jt]s['"]/g);
    for (const [, path = ''] of imports) found.add(`${join(dirname(file), path)}.d.ts`);
  }
  return found;
}
