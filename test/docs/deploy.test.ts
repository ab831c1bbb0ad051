// The files of deploy/ are valid for their tools, and name settings, ports, probes and files that exist.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DCLinter } from 'dclint';
import { validate } from 'dockerfile-utils';
import { parse, parseAllDocuments } from 'yaml';
import { URL_DEFAULT } from '../../src/cli/remote/connection.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { SETTINGS } from '../../src/server/config.ts';
import { DEFAULT_HTTP_LIMITS } from '../../src/server/server-options.ts';
import { debianProgram } from '../services/debian-program.ts';
import { runCommand } from '../services/run-command.ts';
import { isFullRun } from '../services/tier.ts';

const ROOT = join(import.meta.dirname, '../..');
const COMPOSE = 'deploy/compose/compose.yaml';
const KUBERNETES = 'deploy/kubernetes/holdfast.yaml';
const SYSTEMD = 'deploy/systemd/holdfast.service';
const DOCKER = 'deploy/docker/Dockerfile';
const FILES = [COMPOSE, KUBERNETES, SYSTEMD, DOCKER];

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

function found(pattern: RegExp): readonly string[] {
  const all = FILES.flatMap((file) => [...read(file).matchAll(pattern)]);
  return all.map(([, word = '']) => word);
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
}

interface Service {
  readonly volumes?: readonly string[];
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly read_only?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
}

const compose = (): Compose => parse(read(COMPOSE), { merge: true }) as Compose;

test('every variable in deploy/ is a setting of a coordinator', () => {
  const known = new Set(SETTINGS.map(({ variable }) => variable));
  const variables = found(/\b(HOLDFAST_[A-Z_]+)/g);
  assert.ok(variables.length > 15);
  assert.deepEqual(
    variables.filter((name) => !known.has(name)),
    [],
  );
});

test('every port of the API in deploy/ is the default port, and every probe a public route', () => {
  const { port } = new URL(URL_DEFAULT);
  const ports = found(/(?:HOLDFAST_PORT=|EXPOSE |containerPort: |\bport: |:)(74\d\d)\b(?!:)/g);
  const others = ports.filter((each) => each !== port && each !== '7434');
  assert.ok(ports.length > 8);
  assert.deepEqual(others, []);
  const open = ROUTES.filter(({ allows }) => allows === 'public').map(({ path }) => path);
  const probes = new Set(found(/path: '?(\/\w+)/g));
  assert.deepEqual([...probes].sort(), ['/healthz', '/readyz']);
  assert.ok([...probes].every((path) => open.includes(path)));
});

test('deploy/ starts the command of the package', () => {
  const { bin } = JSON.parse(read('package.json')) as {
    readonly bin: { readonly holdfast: string };
  };
  const started = found(/node_modules\/holdfast\/(\S+?\.js)/g);
  assert.equal(started.length, 2);
  assert.ok(started.every((path) => bin.holdfast.endsWith(path)));
});

test('the Dockerfile has no problem, and its user is a number', () => {
  assert.deepEqual(validate(read(DOCKER)), []);
  assert.equal(validate('FROM node\nUSR 1000').length, 1);
  // COPY fails only if none of its sources exists, so the tarball is optional.
  assert.match(read(DOCKER), /^COPY package\.json package-lock\.json \*\.tgz \.\/$/m);
  const [, user = ''] = /^USER (\d+):\d+$/m.exec(read(DOCKER)) ?? [];
  assert.ok(read(KUBERNETES).includes(`runAsUser: ${user}`));
});

/** Errors, and warnings that concern more than the order of keys. */
function composeProblems(file: string): readonly string[] {
  const order = ['service-keys-order', 'services-alphabetical-order', 'top-level-properties-order'];
  const rules = Object.fromEntries([...order, 'no-quotes-in-volumes'].map((name) => [name, 0]));
  const linter = new DCLinter({ rules, quiet: false, debug: false, exclude: [] });
  const results: readonly { messages: readonly { message: string }[] }[] = linter.lintFiles(
    [file],
    false,
  );
  return results.flatMap(({ messages }) => messages.map(({ message }) => message));
}

test('the compose file is valid, and every file that it mounts exists', () => {
  assert.deepEqual(composeProblems(join(ROOT, COMPOSE)), []);
  const { services } = compose();
  const folder = join(ROOT, 'deploy/compose');
  const mounts = Object.values(services).flatMap(({ volumes = [] }) => volumes);
  const files = mounts.map((mount) => mount.split(':')[0] ?? '').filter((path) => /^\./.test(path));
  assert.equal(files.length, 5);
  assert.deepEqual(
    files.filter((file) => !existsSync(join(folder, file))),
    [],
  );
  const coordinators = Object.values(services).filter(({ build }) => build !== undefined);
  assert.equal(coordinators.length, 2);
  for (const { build, read_only } of coordinators) {
    assert.ok(existsSync(join(folder, build?.context ?? '', build?.dockerfile ?? '')));
    assert.equal(read_only, true);
  }
});

test('nothing of the compose file listens outside loopback', () => {
  const ports = Object.values(compose().services).flatMap(({ ports: own = [] }) => own);
  assert.equal(ports.length, 4);
  assert.deepEqual(
    ports.filter((port) => !port.startsWith('127.0.0.1:')),
    [],
  );
});

test('an unknown key in a compose file is found', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-compose-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'compose.yaml');
  await writeFile(file, read(COMPOSE).replace('read_only:', 'readonly:'));
  assert.match(composeProblems(file).join(), /readonly|additional/);
});

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Compiles the manifests against the types of Kubernetes, which find unknown and missing keys. */
async function compileManifests(text: string): Promise<string> {
  const folder = await mkdtemp(join(ROOT, '.cache/manifests-'));
  try {
    const lines = parseAllDocuments(text).map((each, nth) => {
      const manifest = each.toJS() as Manifest;
      const group = manifest.apiVersion.replace(/^v/, 'core/v').replace('.k8s.io', '');
      const type = `import('kubernetes-types/${group}').${manifest.kind}`;
      return `export const manifest${nth}: ${type} = ${JSON.stringify(manifest)};`;
    });
    const file = join(folder, 'manifests.ts');
    await writeFile(file, lines.join('\n'));
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    const options = [
      '--noEmit',
      '--strict',
      '--ignoreConfig',
      '--types',
      '',
      '--module',
      'preserve',
    ];
    const { stdout } = spawnSync(process.execPath, [compiler, ...options, file], {
      encoding: 'utf8',
    });
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('the Kubernetes manifests are valid', async () => {
  const text = read(KUBERNETES);
  assert.deepEqual(
    parseAllDocuments(text).map((each) => (each.toJS() as Manifest).kind),
    ['Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy'],
  );
  assert.equal(await compileManifests(text), '');
  const wrong = text
    .replace('livenessProbe', 'livenesProbe')
    .replace('minAvailable: 1', 'minAvailable: {}');
  const report = await compileManifests(wrong);
  assert.match(report, /livenesProbe/);
  assert.match(report, /manifests\.ts\(3,.* is not assignable/);
});

test('a pod, a container and a unit may stop for longer than a request may take', () => {
  const least = DEFAULT_HTTP_LIMITS.requestMs / 1_000 + 5;
  const stops = found(
    /(?:stop_grace_period: |TimeoutStopSec=|terminationGracePeriodSeconds: )(\d+)/g,
  );
  assert.equal(stops.length, 3);
  for (const seconds of stops) assert.ok(Number(seconds) >= least, seconds);
});

/** In tenths. A unit without any protection has 96. */
const EXPOSURE_MAX = 15;

/** Its programs are large downloads, so `npm test` does not run it. */
const testInFull = (name: string, run: (t: TestContext) => Promise<void>): void => {
  if (isFullRun()) test(name, run);
};

testInFull('systemd finds no problem in the unit, and little exposure', async (t) => {
  const { path, env } = await debianProgram('systemd-analyze', 'systemd');
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-systemd-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const problemsOf = async (text: string): Promise<string> => {
    const file = join(folder, 'holdfast.service');
    await writeFile(file, text.replace('/usr/bin/node', process.execPath));
    // It exits with 0 and prints what it ignores.
    return spawnSync(path, ['verify', '--man=no', file], { env, encoding: 'utf8' }).stderr;
  };
  assert.equal(await problemsOf(read(SYSTEMD)), '');
  assert.match(
    await problemsOf(read(SYSTEMD).replace('RestrictRealtime', 'RestrictRealtme')),
    /Unknown key/,
  );
  const threshold = `--threshold=${EXPOSURE_MAX}`;
  await runCommand(
    path,
    ['security', '--offline=true', '--no-pager', threshold, join(ROOT, SYSTEMD)],
    { env },
  );
});

testInFull('Prometheus accepts its configuration and the alert rules of deploy/', async (t) => {
  const { path, env } = await debianProgram('promtool', 'prometheus');
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-prometheus-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const key = join(folder, 'metrics-key');
  await writeFile(key, 'hf_');
  await writeFile(join(folder, 'holdfast.rules.yml'), read('deploy/prometheus/holdfast.rules.yml'));
  const text = read('deploy/compose/prometheus.yml').replace('/run/secrets/metrics-key', key);
  await writeFile(join(folder, 'prometheus.yml'), text);
  const checked = await runCommand(path, ['check', 'config', join(folder, 'prometheus.yml')], {
    env,
  });
  assert.match(checked, /SUCCESS: 1 rule files found/);
});

test('Grafana gets the dashboards and the data source of the compose file', () => {
  const { services } = compose();
  const mounts = services['grafana']?.volumes ?? [];
  const { providers } = parse(read('deploy/compose/grafana-dashboards.yml')) as {
    readonly providers: readonly { readonly options: { readonly path: string } }[];
  };
  const places = providers.map(({ options }) => `../grafana:${options.path}:ro`);
  assert.ok(places.every((place) => mounts.includes(place)));
  const { datasources } = parse(read('deploy/compose/grafana-datasource.yml')) as {
    readonly datasources: readonly { readonly url: string }[];
  };
  const hosts = datasources.map(({ url }) => new URL(url).hostname);
  assert.deepEqual(
    hosts.filter((host) => services[host] === undefined),
    [],
  );
  for (const file of globSync('deploy/grafana/*.json', { cwd: ROOT })) {
    const { uid, panels } = JSON.parse(read(file)) as { uid: string; panels: readonly object[] };
    assert.ok(uid.startsWith('holdfast-') && panels.length > 4, file);
  }
});
