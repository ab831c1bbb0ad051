// Compiles src/ into dist/, with the examples and the console beside it; dist/ holds nothing else afterwards.

import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { provideConsole } from './console/provide.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');

// A source that was renamed must not live on in the package.
rmSync(DIST, { recursive: true, force: true });

const compiler = join(ROOT, 'node_modules/.bin/tsc');
const { status, error } = spawnSync(compiler, ['-p', 'tsconfig.build.json'], {
  cwd: ROOT,
  stdio: 'inherit',
});
if (error !== undefined) {
  throw new Error(`The compiler did not start (${error.message}). Run \`npm ci\` first.`);
}
for (const asset of globSync('**/*.{sql,proto}', { cwd: join(ROOT, 'src') })) {
  cpSync(join(ROOT, 'src', asset), join(DIST, asset));
}
// Node strips no types below node_modules, so the examples are there as JavaScript, on what was compiled.
for (const example of globSync('**/*.ts', { cwd: join(ROOT, 'examples') })) {
  const text = stripTypeScriptTypes(readFileSync(join(ROOT, 'examples', example), 'utf8'))
    .replaceAll(/'((?:\.\.\/)+)src\//g, "'$1")
    .replaceAll(/\.ts'/g, ".js'");
  const target = join(DIST, 'examples', example.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}
cpSync(await provideConsole(console.log), join(DIST, 'console'), { recursive: true });
process.exitCode = status ?? 1;
