// The files of deploy/ name settings, probes and files that exist.

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { SETTINGS } from '../../src/server/config.ts';

const ROOT = join(import.meta.dirname, '../..');
const files = globSync('deploy/{systemd,docker,kubernetes}/*', { cwd: ROOT });
const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));

function found(pattern: RegExp): readonly string[] {
  const all = [...texts.values()].flatMap((text) => [...text.matchAll(pattern)]);
  return all.map(([, word = '']) => word);
}

test('every variable in deploy/ is a setting of a coordinator', () => {
  const known = new Set(SETTINGS.map(({ variable }) => variable));
  const variables = found(/\b(HOLDFAST_[A-Z_]+)/g);
  assert.ok(variables.length > 5);
  assert.deepEqual(
    variables.filter((name) => !known.has(name)),
    [],
  );
});

test('every probe in deploy/ is a public route', () => {
  const open = ROUTES.filter(({ allows }) => allows === 'public').map(({ path }) => path);
  const probes = found(/path: (\/\w+), port/g);
  assert.deepEqual([...probes].sort(), ['/healthz', '/readyz']);
  assert.ok(probes.every((path) => open.includes(path)));
});

test('the image copies a tarball that package.json may depend on', () => {
  const [, copied = ''] =
    /^COPY (.+) \.\/$/m.exec(texts.get('deploy/docker/Dockerfile') ?? '') ?? [];
  // COPY fails only if none of its sources exists, so the tarball is optional.
  assert.deepEqual(copied.split(' '), ['package.json', 'package-lock.json', '*.tgz']);
});

test('deploy/ starts the command of the package', () => {
  const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly bin: { readonly holdfast: string };
  };
  const started = found(/node_modules\/holdfast\/(\S+?\.js)/g);
  assert.equal(started.length, 2);
  assert.ok(started.every((path) => bin.holdfast.endsWith(path)));
  assert.ok(existsSync(join(ROOT, 'src/cli/main.ts')));
});
