// Builds what the Dockerfile describes in a folder, without a container engine: its commands run literally, as an
// unprivileged user, in a folder that nothing may change.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { DockerfileParser, type Instruction } from 'dockerfile-ast';
import { Spawned } from '../cli/spawned.ts';
import { freePort } from '../services/free-port.ts';
import { postgresForTests } from '../services/postgres.ts';
import { runCommand } from '../services/run-command.ts';
import { unprivilegedUser } from '../services/unprivileged-user.ts';
import { keepVersions, packedTarball, userEnvironment } from './installed-package.ts';

const ROOT = join(import.meta.dirname, '../..');
const PEERS = ['pg', 'prom-client'];

const instructions = DockerfileParser.parse(
  readFileSync(join(ROOT, 'deploy/docker/Dockerfile'), 'utf8'),
).getInstructions();
const [, second = assert.fail()] = instructions.filter((each) => each.getKeyword() === 'FROM');
const isFirstStage = (each: Instruction): boolean => each.isBefore(second.getRange().start.line);
const stages = [
  instructions.filter(isFirstStage),
  instructions.filter((each) => !isFirstStage(each)),
] as const;

function given(stage: readonly Instruction[], keyword: string): readonly string[] {
  const found = stage.filter((each) => each.getKeyword() === keyword);
  return found.map((each) => each.getArgumentsContent() ?? '');
}

/** The JSON array at the end of an instruction. */
function command(keyword: string): readonly [program: string, ...words: string[]] {
  const [text = ''] = given(stages[1], keyword);
  return JSON.parse(text.slice(text.indexOf('['))) as [string, ...string[]];
}

function variables(): Readonly<Record<string, string>> {
  const found = stages[1].filter((each) => each.getKeyword() === 'ENV');
  const words = found.flatMap((each) => each.getArguments().map((word) => word.getValue()));
  return Object.fromEntries(words.map((word) => word.split('=')));
}

/** Runs both stages in folders, and returns the last one. */
async function build(folder: string): Promise<string> {
  const [first, app] = [join(folder, 'packages'), join(folder, 'app')];
  mkdirSync(first);
  mkdirSync(app);
  const tarball = 'holdfast-0.1.0.tgz';
  await copyFile(await packedTarball(), join(folder, tarball));
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const versions = PEERS.map((name) => [name, devDependencies[name]]);
  const dependencies = { holdfast: `file:${tarball}`, ...Object.fromEntries(versions) };
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  await keepVersions(folder, PEERS);
  const npm = {
    ...userEnvironment(),
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
  };
  await runCommand('npm', ['install', '--package-lock-only'], { cwd: folder, env: npm });

  const [copied = ''] = given(stages[0], 'COPY');
  for (const file of globSync(copied.split(' ').slice(0, -1), { cwd: folder })) {
    await copyFile(join(folder, file), join(first, basename(file)));
  }
  for (const line of given(stages[0], 'RUN')) {
    await runCommand('sh', ['-c', line], { cwd: first, env: npm });
  }
  for (const line of given(stages[1], 'COPY')) {
    const [from = '', to = ''] = line.split(' ').slice(-2);
    const name = from.replace(/^\/app\//, '');
    cpSync(join(first, name), join(app, to === './' ? name : to), { recursive: true });
  }
  return app;
}

function makeReadOnly(folder: string): void {
  for (const entry of globSync('**/*', { cwd: folder, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink()) chmodSync(path, entry.isDirectory() ? 0o555 : 0o444);
  }
  chmodSync(folder, 0o555);
}

test('the image starts read-only and unprivileged, is healthy, and ends with 0 by SIGTERM', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-image-'));
  chmodSync(folder, 0o755);
  const postgres = await postgresForTests();
  t.after(async () => {
    await runCommand('chmod', ['-R', 'u+w', folder]);
    await rm(folder, { recursive: true, force: true });
    await postgres.release();
  });
  const app = await build(folder);
  makeReadOnly(app);
  assert.deepEqual(globSync('*', { cwd: app }).sort(), ['node_modules', 'package.json']);
  const env = {
    ...variables(),
    // As `docker run -e`. Tests listen on loopback only.
    ...{ HOLDFAST_STORE: postgres.url, HOLDFAST_HOST: '127.0.0.1' },
    HOLDFAST_PORT: String(await freePort()),
    // Nothing is writable, as in a container with a read-only root.
    ...{ HOME: '/nonexistent', TMPDIR: '/nonexistent', PATH: userEnvironment()['PATH'] },
  };
  const user = await unprivilegedUser();
  const options = { cwd: app, env, ...user };
  const [program, ...words] = command('ENTRYPOINT');
  const container = new Spawned(spawn(program, [...words, ...command('CMD')], options));
  t.after(() => container.child.kill('SIGKILL'));
  await container.url();
  const health = (): Promise<number> => exitCodeOf(command('HEALTHCHECK'), options);
  assert.equal(await health(), 0);
  const metrics = await fetch(`${await container.url()}/metrics`);
  assert.equal(metrics.status, 401, 'prom-client is there, and asks for a key');
  const [signal = ''] = given(stages[1], 'STOPSIGNAL');
  const { code, problems } = await container.stop(signal as NodeJS.Signals);
  assert.equal(code, 0, problems);
  assert.equal(await health(), 1);
});

async function exitCodeOf(
  [program, ...words]: readonly [string, ...string[]],
  options: object,
): Promise<number> {
  const [code] = (await once(spawn(program, words, options), 'exit')) as [number];
  return code;
}
