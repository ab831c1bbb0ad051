// Compiles src/ into dist/, with the console beside it; dist/ holds nothing else afterwards.

import { spawnSync } from 'node:child_process';
import { cpSync, globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
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
cpSync(await provideConsole(console.log), join(DIST, 'console'), { recursive: true });
process.exitCode = status ?? 1;
