// holdfast keys and projects, against a real coordinator. It shows a new key once. `keys recover`
// replaces a lost key in the store itself, and the audit records it.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { HoldfastClient } from '../../src/client/client.ts';
import { ROLES } from '../../src/features/access/model.ts';
import { holdfast, inFolder, type Ran, startHoldfast } from './spawned.ts';

const KEY = /hf_[a-z2-7]{16}_[A-Za-z0-9_-]{43}/;
const SERVE = ['serve', '--port', '0', '--store', 'store.db'] as const;

const linesOf = ({ out }: Ran): readonly Record<string, unknown>[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

test('keys and projects are created, listed, rotated and revoked; a new key is printed once, on stdout only', () =>
  inFolder(async (cwd, own) => {
    const server = own(startHoldfast([...SERVE, '--admin', 'main'], { cwd }));
    const first = await server.prints(new RegExp(`(${KEY.source})`));
    const url = await server.url();
    const env = { HOLDFAST_URL: url, HOLDFAST_KEY: first };
    const ask = (...words: readonly string[]): Promise<Ran> => holdfast(words, { cwd, env });

    const bare = await holdfast(['list'], { cwd, env: { HOLDFAST_URL: url } });
    assert.match(
      bare.problems,
      /^The request has no access key\. .*\[key-required\]\nHOLDFAST_KEY is not set in this shell\. /,
    );
    const wrong = { HOLDFAST_URL: url, HOLDFAST_KEY: `${first}x` };
    const refused = await holdfast(['list'], { cwd, env: wrong });
    assert.match(refused.problems, /^The access key is unknown, revoked, expired or incomplete/);
    assert.doesNotMatch(refused.problems, /is not set/);
    assert.deepEqual([bare.code, refused.code], [2, 2]);

    const put = await ask('projects', 'put', 'shop', '--title', 'The shop', '--keep', 'failed=2d');
    assert.deepEqual([put.code, put.out], [0, 'Created project shop\n'], put.problems);
    assert.match((await ask('projects')).out, /^shop +The shop +\{"failed":172800000\}/m);
    assert.match((await ask('projects', 'get', 'shop')).out, /^title +The shop$/m);

    const made = await ask(
      'keys',
      'create',
      'ci',
      '--roles',
      'submit,operate',
      '--project',
      'shop',
    );
    assert.equal(made.code, 0, made.problems);
    assert.match(made.out, new RegExp(`^${KEY.source}\n$`));
    assert.match(made.problems, /It is shown only once/);
    const client = new HoldfastClient({ url, key: made.out.trim() });
    const { id } = await client.executions.submit({ pipeline: 'nobody' });
    assert.equal((await client.executions.read(id)).project, 'shop');

    const [listed, ...others] = linesOf(await ask('keys', '--project', 'shop', '--json'));
    assert.deepEqual([listed?.['name'], others.length], ['ci', 0]);
    const keyId = String(listed?.['id']);
    const [rotated] = linesOf(await ask('keys', 'rotate', keyId, '--ends-in', '30m', '--json'));
    assert.match(String(rotated?.['key']), KEY);
    assert.notEqual(rotated?.['id'], keyId);
    const revoked = await ask('keys', 'revoke', keyId, '--descendants');
    assert.match(revoked.out, new RegExp(`^Revoked key ${keyId}, from `));
    assert.match((await ask('keys', 'revoke', keyId)).out, /^Nothing changed/);
    const open = linesOf(await ask('keys', '--project', 'shop', '--json'));
    assert.deepEqual(
      open.map((each) => each['id']),
      [rotated?.['id']],
    );
    assert.equal(linesOf(await ask('keys', '--project', 'shop', '--ended', '--json')).length, 2);

    const expiring = await ask(
      ...['keys', 'create', 'all', '--roles', 'admin', '--all-projects', '--expires-in', '90d'],
      '--json',
    );
    const [last] = linesOf(await ask('keys', '--json', '--limit', '1'));
    assert.equal(last?.['id'], linesOf(expiring)[0]?.['id']);
    assert.equal(last?.['project'], null);
    const livesMs =
      Date.parse(String(last?.['expiresAt'])) - Date.parse(String(last?.['createdAt']));
    assert.equal(livesMs, 90 * 86_400_000);
    assert.doesNotMatch((await server.stop()).out, KEY, 'the log has no secret');
  }));

test('projects put changes only the given settings, and can remove one', () =>
  inFolder(async (cwd, own) => {
    const server = own(startHoldfast([...SERVE, '--admin', 'main', '--auth', 'off'], { cwd }));
    const env = { HOLDFAST_URL: await server.url() };
    const ask = (...words: readonly string[]): Promise<Ran> => holdfast(words, { cwd, env });
    await ask('projects', 'put', 'shop', '--title', 'The shop', '--keep', 'failed=2d');
    const settings = async (...words: readonly string[]): Promise<unknown> => {
      const ran = await ask('projects', 'put', 'shop', '--json', ...words);
      assert.equal(ran.code, 0, ran.problems);
      const { title, keepMs } = linesOf(await ask('projects', 'get', 'shop', '--json'))[0] ?? {};
      return [title, keepMs];
    };
    const keepMs = { failed: 172_800_000 };
    assert.deepEqual(await settings('--title', 'Our shop'), ['Our shop', keepMs]);
    const longer = { ...keepMs, completed: null };
    assert.deepEqual(await settings('--keep', 'completed=forever'), ['Our shop', longer]);
    assert.deepEqual(await settings('--keep', 'completed=default'), ['Our shop', keepMs]);
    assert.deepEqual(await settings(), ['Our shop', keepMs]);
    const none = await settings('--title', '', '--keep', 'failed=default');
    assert.deepEqual(none, [undefined, undefined]);
  }));

test('wrong arguments of keys and projects are refused before a request is sent', async () => {
  const slips: readonly (readonly [readonly string[], RegExp])[] = [
    [['keys', 'crate'], /no "keys" command "crate". Did you mean "create"\?/],
    [['keys', 'create'], /<name> is required/],
    [['keys', 'create', 'ci', '--project', 'p'], /--roles is required/],
    [['keys', 'create', 'ci', '--roles', 'sumbit', '--project', 'p'], /Did you mean "submit"\?/],
    [['keys', 'create', 'ci', '--roles', 'work'], /--project or --all-projects is required/],
    [
      ['keys', 'create', 'ci', '--roles', 'work', '--project', 'p', '--all-projects'],
      /either --project or --all-projects/,
    ],
    [
      ['keys', 'create', 'ci', '--roles', 'work', '--project', 'p', '--expires-in', 'soon'],
      /--expires-in must be a duration such as 90d, 12h, 30m or 45s; got "soon"/,
    ],
    [['projects', 'put', 'p', '--keep', 'failed'], /pairs such as completed=30d/],
    [['projects', 'put', 'p', '--keep', 'faild=1d'], /Did you mean "failed"\?/],
  ];
  const env = { HOLDFAST_URL: 'http://127.0.0.1:9' };
  for (const [words, problem] of slips) {
    const { code, out, problems } = await holdfast(words, { env });
    assert.deepEqual({ code, out }, { code: 2, out: '' }, words.join(' '));
    assert.match(problems, problem);
  }
});

test('keys recover creates a key in the store, a running coordinator accepts it, and the audit has it', () =>
  inFolder(async (cwd, own) => {
    const server = own(startHoldfast([...SERVE, '--admin', 'main'], { cwd }));
    const url = await server.url();
    const ran = await holdfast(['keys', 'recover', '--store', 'store.db', '--reason', 'moved'], {
      cwd,
    });
    assert.equal(ran.code, 0, ran.problems);
    assert.match(ran.out, new RegExp(`^${KEY.source}\n$`));
    const client = new HoldfastClient({ url, key: ran.out.trim() });
    const id = ran.out.slice(3, 19);
    const { roles, createdBy, project } = await client.keys.read(id);
    assert.deepEqual([roles.length, project], [ROLES.length, null]);
    const { items } = await client.records.audit({ action: 'recover-key' });
    assert.deepEqual(
      items.map(({ actor, reason, target }) => [actor, reason, target.id]),
      [[createdBy, 'moved', id]],
    );
    const [json] = linesOf(
      await holdfast(['keys', 'recover', '--store', 'store.db', '--json'], { cwd }),
    );
    assert.match(String(json?.['key']), KEY);
  }));

test('keys recover does not create a missing store', () =>
  inFolder(async (cwd) => {
    const ran = await holdfast(['keys', 'recover', '--store', join(cwd, 'other.db')], { cwd });
    assert.deepEqual([ran.code, ran.out], [2, '']);
    assert.match(ran.problems, /There is no store at .*other\.db\. No key was created/);
    const again = await holdfast(['keys', 'recover', '--store', join(cwd, 'other.db')], { cwd });
    assert.match(again.problems, /There is no store/, 'the command created nothing');
  }));

test('keys prints how to reach the admin routes if they are off or on another listener', () =>
  inFolder(async (cwd, own) => {
    const off = own(startHoldfast(SERVE, { cwd }));
    const key = await off.prints(new RegExp(`(${KEY.source})`));
    const env = { HOLDFAST_KEY: key };
    const ran = await holdfast(['keys', '--url', await off.url()], { cwd, env });
    assert.equal(ran.code, 2);
    assert.match(ran.problems, /Admin routes are disabled.*--admin main/);
    await off.stop();
    const other = own(startHoldfast([...SERVE, '--admin', '127.0.0.1:0'], { cwd }));
    const url = await other.url();
    const elsewhere = await holdfast(['keys', '--url', url], { cwd, env });
    assert.match(elsewhere.problems, /on a separate listener/);
    const adminUrl = await other.prints(/"adminUrl":"(http[^"]+)"/);
    assert.equal((await holdfast(['keys', '--url', adminUrl], { cwd, env })).code, 0);
    const unknown = await fetch(`${url}/v1/nothing`);
    assert.equal(((await unknown.json()) as { code: string }).code, 'route-unknown');
  }));
