// The quick starts as a reader follows them: their commands run in an empty folder, with the package
// as npm installs it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { playFiveMinutes } from '../docs/play-five-minutes.ts';
import { runScript, shellPages } from '../docs/shell-blocks.ts';
import { freePort } from '../services/free-port.ts';
import { startPostgres } from '../services/postgres.ts';
import { keepVersions, packedTarball, userEnvironment } from './installed-package.ts';

const PACKAGES = ['pg', '@types/node', 'typescript'];

/** An empty folder for the commands, and one with the tarball and a lockfile for npm. */
async function places() {
  const root = await mkdtemp(join(tmpdir(), 'holdfast-quick-start-'));
  const [folder, checkout] = [join(root, 'empty'), join(root, 'checkout')];
  await mkdir(folder);
  await mkdir(checkout);
  await symlink(await packedTarball(), join(checkout, 'holdfast-0.1.0.tgz'));
  await keepVersions(checkout, PACKAGES);
  return { root, folder, checkout };
}

/** npm takes packages from its cache. */
function npmEnvironment(): NodeJS.ProcessEnv {
  const settings = { prefer_offline: 'true', audit: 'false', fund: 'false' };
  const variables = Object.entries(settings).map(([name, value]) => [`npm_config_${name}`, value]);
  return { ...userEnvironment(), ...Object.fromEntries(variables) };
}

function scriptOf(page: string): string {
  return shellPages().find((each) => each.page === page)?.script ?? assert.fail(page);
}

for (const kind of ['SQLite', 'PostgreSQL']) {
  test(`the five minutes run from the package on ${kind}`, async (t) => {
    const { root, folder, checkout } = await places();
    t.after(() => rm(root, { recursive: true, force: true }));
    const postgres = kind === 'PostgreSQL' ? await startPostgres() : undefined;
    t.after(() => postgres?.stop());
    const [install = ''] = scriptOf('docs/start/five-minutes.md').split('node order.ts');
    const script = install
      .replace('npm install holdfast', `npm install ${checkout}/holdfast-0.1.0.tgz`)
      .replace('npm init -y', `cp ${checkout}/package-lock.json . && npm init -y`);
    const lines = postgres === undefined ? '' : '\nnpm install pg';
    const ran = await runScript(`set -e\n${script}${lines}`, folder, npmEnvironment());
    assert.equal(ran.code, 0, ran.out + ran.problems);
    const shop = join(folder, 'shop');
    const env = { ...userEnvironment(), ...(postgres && { DATABASE_URL: postgres.url }) };
    await playFiveMinutes({
      folder: shop,
      store: postgres?.url ?? join(shop, 'orders.db'),
      start: () => spawn('node', ['order.ts'], { cwd: shop, env }),
    });
  });
}

/** Commands that stay in the foreground, as in another terminal. */
const IN_BACKGROUND = /^(?:npm run dev|npx holdfast serve.*|node worker\.ts)$/gm;
const BEGIN = `set -e
background() {
  "$@" > "$LOGS/$1-$2" 2>&1 &
  until grep -q -e '"url":"http' -e 'waiting for orders' "$LOGS/$1-$2"; do
    kill -0 $! || { cat "$LOGS/$1-$2"; exit 1; }
    sleep 0.1
  done
}
`;

test('the page from an empty folder to a coordinator runs from the package, on both stores', async (t) => {
  const { root, folder, checkout } = await places();
  t.after(() => rm(root, { recursive: true, force: true }));
  const postgres = await startPostgres();
  t.after(() => postgres.stop());
  const page = readFileSync(
    join(import.meta.dirname, '../../docs/start/deploy-a-coordinator.md'),
    'utf8',
  );
  assert.match(page, /npm install <checkout>\/holdfast-0\.1\.0\.tgz/);
  const [dev, serve] = [await freePort(), await freePort()];
  const onPort = (port: number): string =>
    `export HOLDFAST_PORT=${port} HOLDFAST_URL=http://127.0.0.1:${port}\n`;
  const lock = `cp ${checkout}/package-lock.json`;
  const script = scriptOf('docs/start/deploy-a-coordinator.md')
    .replaceAll('127.0.0.1:7433', `127.0.0.1:${serve}`)
    .replaceAll(IN_BACKGROUND, 'background $&')
    .replace('init shop', `init shop\n${lock} shop`)
    .replace('createdb', `${onPort(serve)}createdb`)
    .replaceAll(/keys create (\S+) .*$/gm, '$& > "$LOGS/$1"')
    .replaceAll(/hf_… +# the key of (\S+)$/gm, '$(cat "$LOGS/$1")')
    .replace('hf_…', '$(grep -oh "hf_[a-z0-9]*_[A-Za-z0-9_-]*" "$LOGS/npx-holdfast")')
    .replace('<id>', "$(npx holdfast list --json | grep -o '[0-9a-f-]\\{36\\}' | head -1)");
  const first = `${lock} . && npm install ${checkout}/holdfast-0.1.0.tgz\n${onPort(dev)}`;
  const { port } = new URL(postgres.url);
  const { code, out, problems } = await runScript(BEGIN + first + script, folder, {
    ...npmEnvironment(),
    ...{ LOGS: root, PGPORT: port },
  });
  assert.equal(code, 0, out + problems);
  assert.match(out, /an order is shipped a day after it was charged/);
  assert.match(out, /No problems found\./);
  assert.match(out, /order +waiting .* order\/1\nSleeping until /);
});
