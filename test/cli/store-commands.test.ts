// holdfast migrate, doctor and completion, on files.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { nodeFinding } from '../../src/cli/doctor.ts';
import { startFindings } from '../../src/cli/start-findings.ts';
import { configFrom, flagSources } from '../../src/server/config.ts';
import { MIGRATIONS } from '../../src/store/sqlite/migrate.ts';
import { holdfast, inFolder, type Ran, type SpawnOptions, startHoldfast } from './spawned.ts';

const NEWEST = MIGRATIONS.length;
const TLS = join(import.meta.dirname, '../server/tls');
const KEY_FILE = join(TLS, 'server-key.pem');
const CERT_FILE = join(TLS, 'server-cert.pem');
const CA_FILE = join(TLS, 'ca.pem');

/** Runs doctor without a coordinator, since one may run on this machine beside the tests. */
const doctorHere = (words: readonly string[], options: SpawnOptions): Promise<Ran> =>
  holdfast(['doctor', ...words], {
    ...options,
    env: { ...options.env, HOLDFAST_URL: 'http://127.0.0.1:1' },
  });

test('doctor finds a problem if nothing listens at the URL that it is given', () =>
  inFolder(async (cwd) => {
    const { code, out } = await holdfast(['doctor', '--url', 'http://127.0.0.1:1'], { cwd });
    assert.equal(code, 1);
    assert.match(out, /coordinator: Start a coordinator there, or pass the URL of one\./);
    assert.equal((await doctorHere([], { cwd })).code, 0);
  }));

test('migrate prints both versions; --check changes nothing and exits with 1', () =>
  inFolder(async (cwd) => {
    const check = await holdfast(['migrate', '--check'], { cwd });
    assert.equal(check.code, 1, check.problems);
    assert.match(
      check.out,
      new RegExp(`is at version 0, and this version of Holdfast needs ${NEWEST}: 0001-leases`),
    );
    const made = await holdfast(['migrate'], { cwd });
    assert.equal(made.code, 0, made.problems);
    assert.match(made.out, new RegExp(`was migrated from version 0 to ${NEWEST}`));
    const again = await holdfast(['migrate', '--check', '--json'], { cwd });
    assert.equal(again.code, 0);
    assert.deepEqual(JSON.parse(again.out).missing, []);
  }));

test('raise-epoch needs an existing store and a reason, and prints the epoch', () =>
  inFolder(async (cwd) => {
    const words = ['raise-epoch', '--store', 'holdfast.db', '--reason', 'restored'];
    const none = await holdfast(words, { cwd });
    assert.deepEqual([none.code, await readdir(cwd)], [2, []]);
    assert.match(none.problems, /There is no store at this path or URL\. Nothing was created/);
    assert.match(none.problems, /\[store-unknown\]/);
    await holdfast(['migrate'], { cwd });
    const unsaid = await holdfast(words.slice(0, 3), { cwd });
    assert.equal(unsaid.code, 2);
    assert.match(unsaid.problems, /--reason is required/);
    const first = JSON.parse((await holdfast([...words, '--json'], { cwd })).out) as object;
    const second = await holdfast(words, { cwd });
    const { epoch } = first as { readonly epoch: number };
    assert.equal(second.code, 0, second.problems);
    assert.match(second.out, new RegExp(`is in epoch ${epoch + 1}\\.`));
    const far = await holdfast([...words, '--above', '900'], { cwd });
    assert.equal(far.code, 2);
    assert.match(far.problems, /--above 900 is far above epoch \d+\. The epoch was raised once/);
    const doctor = await doctorHere([], { cwd });
    const raised = `epoch +${epoch + 2}, raised at 20\\S+ by \\S+: restored`;
    assert.match(doctor.out, new RegExp(raised));
  }));

test('T-3: raise-epoch --above raises a backup that is restored twice above the first restore', () =>
  inFolder(async (cwd) => {
    await holdfast(['migrate'], { cwd });
    await copyFile(join(cwd, 'holdfast.db'), join(cwd, 'backup.db'));
    const words = ['raise-epoch', '--store', 'holdfast.db', '--reason', 'restored', '--json'];
    const first = JSON.parse((await holdfast(words, { cwd })).out) as { readonly epoch: number };
    await copyFile(join(cwd, 'backup.db'), join(cwd, 'holdfast.db'));
    const second = await holdfast([...words, '--above', String(first.epoch)], { cwd });
    assert.equal(JSON.parse(second.out).epoch, first.epoch + 1, second.problems);
  }));

test('migrate and doctor leave a file of a newer version, or of another program, as it is', () =>
  inFolder(async (cwd) => {
    await holdfast(['migrate'], { cwd });
    const database = new DatabaseSync(join(cwd, 'holdfast.db'));
    database.exec(`pragma user_version = ${NEWEST + 1}`);
    database.close();
    const newer = await holdfast(['migrate'], { cwd });
    assert.equal(newer.code, 2);
    assert.match(newer.problems, /newer version of Holdfast/);
    const doctor = await doctorHere([], { cwd });
    assert.equal(doctor.code, 1);
    assert.match(doctor.out, /schema: A newer version migrated it, .* Upgrade this one/);
    const other = new DatabaseSync(join(cwd, 'other.db'));
    other.exec('create table theirs (id integer)');
    other.close();
    const foreign = await doctorHere(['--store', 'other.db'], { cwd });
    assert.equal(foreign.code, 1);
    assert.match(foreign.out, /of another program/);
  }));

test('serve ends with the same sentence as doctor, before it creates anything', () =>
  inFolder(async (cwd) => {
    await writeFile(join(cwd, 'taken'), 'a file');
    const wrong: readonly (readonly [readonly string[], RegExp])[] = [
      [['--tls-key-file', KEY_FILE, '--tls-cert-file', CA_FILE], /^tls: .* do not match/],
      [['--archive-folder', 'taken'], /^archive\.folder: taken cannot be written \(ENOTDIR\)/],
      [['--trust-proxy', '10.0.0.1, nonsense'], /^trustProxy: "nonsense" is not an address/],
    ];
    for (const [words, sentence] of wrong) {
      const { code, problems } = await holdfast(['serve', '--port', '0', ...words], { cwd });
      assert.equal(code, 2, words.join(' '));
      assert.match(problems, sentence);
      assert.equal(problems.trim().split('\n').length, 1, problems);
    }
    assert.deepEqual(await readdir(cwd), ['taken']);
  }));

const absent = () => Promise.reject(new Error('not installed'));

test('doctor: gRPC without its package is reported, and correct settings are not', async () => {
  const flags = { grpc: '127.0.0.1:7435', 'trust-proxy': 'loopback, 10.0.0.0/8, ::1' };
  const files = { 'tls-key-file': KEY_FILE, 'tls-cert-file': CERT_FILE, 'archive-folder': 'new' };
  const { config } = configFrom(flagSources({ ...flags, ...files }));
  const changes = async (...given: Parameters<typeof startFindings>): Promise<unknown> =>
    (await startFindings(...given)).map(({ what, change }) => [what, change]);
  const fine = ['tls', 'trustProxy', 'grpc', 'archive.folder'].map((what) => [what, undefined]);
  assert.deepEqual(await changes(config), fine);
  const missing = await startFindings(config, { grpc: absent });
  assert.match(missing[2]?.change ?? '', /npm install @grpc\/grpc-js/);
});

test('on a Node without SQLite every command names the version it needs', () =>
  inFolder(async (cwd) => {
    const hooks = new URL('children/without-sqlite.ts', import.meta.url).href;
    const env = { NODE_OPTIONS: `--import=${hooks}` };
    for (const words of [
      ['serve', '--port', '0'],
      ['migrate'],
      ['export', '--store', 'a.db', '--to', 'x'],
    ]) {
      const { code, problems } = await holdfast(words, { cwd, env });
      assert.equal(code, 2, problems);
      assert.match(problems, /^A SQLite store needs Node 22\.18 or newer; this is /);
      assert.equal(problems.trim().split('\n').length, 1, problems);
    }
    const { out } = await doctorHere(['--port', '0'], { cwd, env });
    assert.match(out, /^store: A SQLite store needs Node 22\.18 or newer; .*postgres:\/\/….$/m);
    assert.doesNotMatch(out, /Check that it runs/);
  }));

test('doctor: reports no problem before the first start and after it', () =>
  inFolder(async (cwd) => {
    const before = await doctorHere(['--port', '0'], { cwd });
    assert.equal(before.code, 0, before.out);
    assert.match(before.out, /ok +schema +new: the first start creates it/);
    await holdfast(['migrate'], { cwd });
    const after = await doctorHere(['--port', '0'], { cwd });
    assert.equal(after.code, 0, after.out);
    assert.match(after.out, /ok +journal_mode +wal/);
    assert.match(after.out, /No problems found\./);
  }));

test('doctor: names every problem with its fix, and exits with 1', () =>
  inFolder(async (cwd) => {
    await writeFile(join(cwd, 'taken'), 'a file');
    const wrong: readonly (readonly [readonly string[], RegExp])[] = [
      [['--store', 'no/such/folder/hf.db'], /folder: Create it.*mkdir -p no\/such\/folder/],
      [
        ['--auth', 'off', '--host', '0.0.0.0'],
        /listener: Without access keys it listens only on loopback/,
      ],
      [['--host', '0.0.0.0'], /listener: Access keys travel unencrypted/],
      [
        ['--tls-key-file', 'none.pem'],
        /tls\.keyFile: Pass a file[\s\S]*tls: Set both tls\.keyFile and tls\.certFile/,
      ],
      [['--store', 'redis://localhost'], /store: .*starts with postgres:\/\//],
      [
        ['--tls-key-file', KEY_FILE, '--tls-cert-file', CA_FILE],
        /tls: Pass a key in PEM and its certificate/,
      ],
      [['--archive-folder', join('taken', 'archive')], /archive\.folder: Pass a folder/],
      [['--trust-proxy', 'nonsense'], /trustProxy: Set true, false, or the addresses/],
      [
        ['--trust-proxy', 'true'],
        /trustProxy: Clients can choose the address[\s\S]*List your proxies/,
      ],
      [['--port', 'many'], /configuration: --port must be a whole number/],
    ];
    for (const [words, change] of wrong) {
      const { code, out, problems } = await doctorHere([...words], { cwd });
      assert.deepEqual([code, problems], [1, ''], words.join(' '));
      assert.match(out, change);
    }
    await writeFile(join(cwd, 'holdfast.config.json'), '{ "prot": 1 }');
    const { code, out } = await doctorHere(['--json'], { cwd });
    assert.equal(code, 1);
    const findings = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.match(
      findings.find(({ what }) => what === 'configuration').change,
      /Did you mean "port"/,
    );
  }));

test('doctor: reports a port of another program, but not that of a running coordinator', () =>
  inFolder(async (cwd, own) => {
    const other = createServer((socket) => socket.end());
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const taken = String((other.address() as AddressInfo).port);
    const ran = await doctorHere(['--port', taken], { cwd });
    other.close();
    assert.equal(ran.code, 1);
    assert.match(ran.out, new RegExp(`port: Another program listens on 127.0.0.1:${taken}`));
    const free = await doctorHere(['--port', taken], { cwd });
    assert.deepEqual(
      [free.code, /port +127\.0\.0\.1:\d+ is free/.test(free.out)],
      [0, true],
      free.out,
    );
    const server = own(startHoldfast(['serve', '--port', '0', '--auth', 'off'], { cwd }));
    const { port } = new URL(await server.url());
    const answered = await doctorHere(['--port', port, '--admin', '192.0.2.1:80'], { cwd });
    assert.match(answered.out, /ok +port +.*a coordinator responds there/);
    assert.match(answered.out, /admin port: .*--host/);
    assert.equal(answered.code, 1);
  }));

test('doctor: reports a host whose clock was set back behind the store', () =>
  inFolder(async (cwd) => {
    await holdfast(['migrate'], { cwd });
    const database = new DatabaseSync(join(cwd, 'holdfast.db'));
    database.exec('update meta set clock_at = 32503680000000');
    database.close();
    const { code, out } = await doctorHere([], { cwd });
    assert.equal(code, 1);
    assert.match(out, /clock of the store: The clock of the host was ahead once/);
    assert.match(out, /run: holdfast doctor --set-clock-back/);
    const repaired = await doctorHere(['--set-clock-back'], { cwd });
    assert.equal(repaired.code, 0, repaired.out);
  }));

test('doctor: reports an old Node', () => {
  assert.equal(nodeFinding('22.18.0', '22.18').change, undefined);
  assert.equal(nodeFinding('24.1.0', '22.18').change, undefined);
  assert.match(nodeFinding('22.17.1', '22.18').change ?? '', /22\.18 or newer/);
  assert.match(nodeFinding('20.19.0', '22.18').change ?? '', /22\.18 or newer/);
});

test('completion: bash completes commands, flags and choices', async () => {
  const { out } = await holdfast(['completion', 'bash']);
  const complete = async (...words: readonly string[]): Promise<string> => {
    const list = words.map((word) => `'${word}'`).join(' ');
    const program = `${out}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _holdfast; echo "\${COMPREPLY[*]}"`;
    return (await promisify(execFile)('bash', ['-c', program])).stdout.trim();
  };
  assert.equal(await complete('holdfast', 'se'), 'serve');
  assert.equal(await complete('holdfast', 'serve', '--pri'), '--print-config');
  assert.equal(await complete('holdfast', 'completion', 'f'), 'fish');
  assert.equal(await complete('holdfast', 'help', 'wat'), 'watch');
});

test('completion: every shell gets every command, and an unknown shell is refused', async () => {
  const help = await holdfast(['help']);
  const names = [...help.out.matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, name = '']) => name);
  assert.ok(names.length > 20, help.out);
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { out } = await holdfast(['completion', shell]);
    for (const name of names.filter((each) => each !== 'version')) {
      assert.match(out, new RegExp(`\\b${name}\\b`), `${shell}: ${name}`);
    }
  }
  const { code, problems } = await holdfast(['completion', 'fisch']);
  assert.equal(code, 2);
  assert.match(problems, /Did you mean "fish"\?/);
});
