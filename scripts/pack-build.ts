// Packs an older commit as a build for test/upgrade, which runs it beside the current one. The build has
// the compiled JavaScript and the SQL of coordinators and workers.
//
//   node scripts/pack-build.ts previous HEAD

import { execFileSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import type { PackedBuild } from '../test/upgrade/packed-build.ts';

const ROOT = join(import.meta.dirname, '..');
const BUILDS = join(ROOT, 'test/upgrade/builds');

/** Folders that coordinators and workers do not load. */
const LEFT_OUT = /^(recipes|guards|store\/(redis|etcd)|cli\/demo)\//;

/** Keep the build small, and the same every time. */
const COMPILER_FLAGS: readonly string[] = [
  ...['--removeComments', 'true', '--declaration', 'false', '--declarationMap', 'false'],
  ...['--sourceMap', 'false', '--rootDir', '.'],
];

function git(...args: readonly string[]): Buffer {
  return execFileSync('git', args, { cwd: ROOT, maxBuffer: 2 ** 28 });
}

const [name, revision] = process.argv.slice(2);
if (revision === undefined) throw new Error('Usage: node scripts/pack-build.ts <name> <commit>');
const commit = git('rev-parse', `${revision}^{commit}`).toString().trim();
const folder = mkdtempSync(join(tmpdir(), 'holdfast-previous-'));
try {
  const sources = git(
    'archive',
    commit,
    'src',
    'contract',
    'package.json',
    'tsconfig.json',
    'tsconfig.build.json',
  );
  execFileSync('tar', ['-x', '-C', folder], { input: sources });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const compiler = join(ROOT, 'node_modules/.bin/tsc');
  const flags = ['-p', 'tsconfig.build.json', ...COMPILER_FLAGS];
  execFileSync(compiler, flags, { cwd: folder, stdio: 'inherit' });
  // The build has the compiled src/ as its dist/.
  renameSync(join(folder, 'dist'), join(folder, 'compiled'));
  renameSync(join(folder, 'compiled/src'), join(folder, 'dist'));
  for (const asset of globSync('**/*.sql', { cwd: join(folder, 'src') })) {
    cpSync(join(folder, 'src', asset), join(folder, 'dist', asset));
  }
  const paths = globSync('**/*.{js,sql}', { cwd: join(folder, 'dist') })
    .filter((path) => !LEFT_OUT.test(path))
    .sort();
  const files = Object.fromEntries(
    ['package.json', ...paths.map((path) => `dist/${path}`)].map((path) => [
      path,
      readFileSync(join(folder, path), 'utf8'),
    ]),
  );
  const packed: PackedBuild = { commit, files };
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  };
  const bytes = brotliCompressSync(JSON.stringify(packed), { params });
  writeFileSync(join(BUILDS, `${name}.json.br`), bytes);
  console.log(`${commit}: ${paths.length} files, ${Math.ceil(bytes.length / 1024)} KiB`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
