// Measured processes run JavaScript, as users do: Node's compiler of TypeScript occupies 40 MB.

import { spawnSync } from 'node:child_process';
import { cpSync, globSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const COMPILED = join(ROOT, '.cache/bench');

let script: string | undefined;

/** Compiles the sources once in each run of a bench. Returns the path of the script. */
export function compiledSubject(): string {
  script ??= compile();
  return script;
}

function compile(): string {
  rmSync(COMPILED, { recursive: true, force: true });
  const project = join(import.meta.dirname, 'tsconfig.json');
  const compiler = join(ROOT, 'node_modules/.bin/tsc');
  const { status } = spawnSync(compiler, ['-p', project], { stdio: 'inherit' });
  if (status !== 0) throw new Error('The sources do not compile, so nothing was measured.');
  for (const asset of globSync('src/**/*.sql', { cwd: ROOT })) {
    cpSync(join(ROOT, asset), join(COMPILED, asset));
  }
  return join(COMPILED, 'bench/executions/subject.js');
}
