// Only the user that runs Holdfast may read files with values or secrets, whatever the umask
// allows.

import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFolderArchive } from '../../src/archive/folder.ts';
import { fileFindings } from '../../src/cli/doctor-store.ts';
import { listenersInTheClear } from '../../src/cli/run-server.ts';
import { exportStore } from '../../src/embedded/export-store.ts';
import { recordLeases } from '../../src/observe/lease-log/recorder.ts';
import { configFrom, flagSources } from '../../src/server/config.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';

/** The mode of every file and folder in it, by relative path. */
async function modesIn(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(folder, { recursive: true });
  const modes = await Promise.all(
    names.map(async (name) => {
      const { mode } = await stat(join(folder, name));
      return [name, (mode & 0o777).toString(8)] as const;
    }),
  );
  return Object.fromEntries(modes.toSorted());
}

async function inOpenFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'hf-modes-'));
  const umask = process.umask(0);
  try {
    await body(folder);
  } finally {
    process.umask(umask);
    await rm(folder, { recursive: true, force: true });
  }
}

test('only the owner can read a new store, export, archive or lease log', () =>
  inOpenFolder(async (folder) => {
    const file = join(folder, 'hf.db');
    const store = await openSqliteStore({ file });
    await store.access.putProject({ name: 'default' as never, settings: {} });
    assert.deepEqual(await modesIn(folder), {
      'hf.db': '600',
      'hf.db-shm': '600',
      'hf.db-wal': '600',
    });
    await store.close();
    await exportStore({ store: file, to: join(folder, 'all.ndjson'), actor: 'a', reason: 'b' });
    const archive = openFolderArchive({ folder: join(folder, 'archive') });
    const bytes = Buffer.from('{}');
    await archive.put({ path: 'shop/1/record.json', type: 'application/json', bytes });
    const recorder = recordLeases({ file: join(folder, 'leases.log') });
    await recorder.close();
    const { 'hf.db-shm': _shm, 'hf.db-wal': _wal, ...modes } = await modesIn(folder);
    assert.deepEqual(modes, {
      'all.ndjson': '600',
      archive: '700',
      'archive/shop': '700',
      'archive/shop/1': '700',
      'archive/shop/1/record.json': '600',
      'hf.db': '600',
      'leases.log': '600',
    });
  }));

test('an existing store keeps its mode, and doctor names every file that others can read', () =>
  inOpenFolder(async (folder) => {
    const at = (name: string): string => join(folder, name);
    const flags = {
      store: at('hf.db'),
      'tls-key-file': at('key.pem'),
      'links-signing-file': at('links.json'),
      'sqs-keys-file': at('queues.json'),
      'push-signing-file': at('push.json'),
      'push-endpoints': JSON.stringify([
        { url: 'https://a.example/', signingFile: at('own.json') },
      ]),
      'archive-folder': folder,
    };
    for (const name of ['key.pem', 'links.json', 'queues.json', 'push.json', 'own.json']) {
      await writeFile(at(name), 'x', { mode: 0o644 });
    }
    await writeFile(at('hf.db'), '', { mode: 0o640 });
    await chmod(folder, 0o755);
    await (await openSqliteStore({ file: at('hf.db') })).close();
    const { config } = configFrom(flagSources(flags));
    const found = await fileFindings(config);
    assert.deepEqual(
      found.map(({ what, change }) => [what, /chmod \d+/.exec(change ?? '')?.[0]]),
      [
        ['store', 'chmod 600'],
        ['tls.keyFile', 'chmod 600'],
        ['links.signingFile', 'chmod 600'],
        ['sqs.keysFile', 'chmod 600'],
        ['push.signingFile', 'chmod 600'],
        ['push.endpoints', 'chmod 600'],
        ['archive.folder', 'chmod 700'],
      ],
    );
    assert.match(found[0]?.found ?? '', /can be read by other users of this machine \(0640\)/);
    for (const name of await readdir(folder)) await chmod(at(name), 0o600);
    await chmod(folder, 0o700);
    assert.deepEqual(await fileFindings(config), []);
  }));

test('every listener on which keys travel unencrypted is named', () => {
  const named = (flags: Readonly<Record<string, string>>) =>
    listenersInTheClear(configFrom(flagSources(flags)).config);
  const all = { host: '0.0.0.0', admin: '10.0.0.1:7434', grpc: '[::]:7435' };
  assert.deepEqual(named(all), ['host 0.0.0.0', 'admin 10.0.0.1', 'grpc ::']);
  assert.deepEqual(named({ ...all, 'trust-proxy': 'loopback' }), ['grpc ::']);
  assert.deepEqual(named({ ...all, 'tls-key-file': 'k', 'tls-cert-file': 'c' }), []);
  assert.deepEqual(named({ admin: '127.0.0.1:7434', grpc: 'localhost:7435' }), []);
});
