// The commands that call a coordinator, against a real one with a worker: holdfast dev.

import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { holdfast, inFolder, type Ran, type Spawned, startHoldfast } from './spawned.ts';

let folder = '';
let dev: Spawned;
let url = '';

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-cli-'));
  dev = startHoldfast(['dev', '--port', '0'], { cwd: folder });
  url = await dev.url();
});

after(async () => {
  await dev.stop('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

const ask = (...words: readonly string[]): Promise<Ran> =>
  holdfast(words, { cwd: folder, env: { HOLDFAST_URL: url } });

const lines = ({ out }: Ran): readonly Record<string, unknown>[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

const ORDER = '{"dish":"cake","guest":"bob"}';

async function submitted(input: string, ...words: readonly string[]): Promise<string> {
  const ran = await ask('submit', 'restaurant-order', input, '--json', ...words);
  assert.equal(ran.code, 0, ran.problems);
  return String(lines(ran)[0]?.['id']);
}

test('submit, watch and get follow an execution from its input to its output', async () => {
  const id = await submitted(ORDER, '--key', 'bob/1', '--tags', 'vip,late');
  const again = await ask(
    'submit',
    'restaurant-order',
    ORDER,
    '--key',
    'bob/1',
    '--tags',
    'vip,late',
  );
  assert.match(again.out, new RegExp(`${id} was submitted before`));
  const watched = await ask('watch', id);
  assert.equal(watched.code, 0, watched.problems);
  assert.match(
    watched.out,
    /submitted[\s\S]*step-completed +charge +"?charged bob[\s\S]*step-failed +dispatch +No courier[\s\S]*completed/,
  );
  assert.match(watched.out, new RegExp(`${id} completed\n"dispatched cake to bob"`));
  assert.match((await ask('history', 'key:bob/1')).out, /submitted[\s\S]*completed/);
  const refused = await ask(
    'submit',
    'restaurant-order',
    '--key',
    'bob/1',
    '--if-key-taken',
    'refuse',
  );
  assert.match(refused.problems, /has the key "bob\/1"/);
  const people = await ask('get', 'key:bob/1');
  assert.match(people.out, /^status +completed$/m);
  assert.match(people.out, /^output +dispatched cake to bob$/m);
  const [one] = lines(await ask('get', id, '--json'));
  assert.equal(one?.['output'], 'dispatched cake to bob');
  assert.deepEqual(one?.['tags'], ['vip', 'late']);
  const [first, ...events] = lines(await ask('watch', id, '--json'));
  assert.equal(first?.['kind'], 'submitted');
  assert.equal(events.at(-1)?.['status'], 'completed', 'the last line is the result');
});

test('dev suggests commands that work in a checkout, with --url for another than the default URL', async () => {
  const tried = await dev.prints(/"try":"(.+?)","watch"/);
  assert.match(tried, new RegExp(`^npm run -s holdfast -- submit .* --url ${url}$`));
  assert.match(
    await dev.prints(/"watch":"(.+?)"/),
    new RegExp(`^npm run -s holdfast -- watch \\S+ --url ${url}$`),
  );
});

test('submit --wait prints once, on stderr, that a pipeline has no worker', () =>
  inFolder(async (cwd, own) => {
    const words = ['submit', 'restaurnt-order', ORDER, '--wait', '--url', url];
    const waiting = own(startHoldfast(words, { cwd }));
    await waiting.prints(/waiting for a worker that serves pipeline "restaurnt-order"\..*\n.*\n/);
    assert.match(waiting.out, /^\S+ submitted\n$/, 'the reason is on stderr');
    assert.match(waiting.problems, /Ctrl-C/);
    assert.equal(waiting.problems.match(/No worker has announced/g)?.length, 1);
  }));

test('submit with a missing input file names the file and shows the other forms', async () => {
  const { code, problems } = await ask('submit', 'restaurant-order', '@missing.json');
  assert.equal(code, 2);
  assert.match(problems, /^There is no file "missing\.json"\. .*\n$/);
});

test('submit --wait exits with 1 unless the execution completed, with input from a file or stdin', async () => {
  const input = '{"dish":"soup","guest":"eve","card":"declined"}';
  await writeFile(join(folder, 'order.json'), input);
  const fromFile = await ask('submit', 'restaurant-order', '@order.json', '--wait');
  assert.equal(fromFile.code, 1, fromFile.problems);
  assert.match(fromFile.out, /card-declined.*: The card was declined\./);
  const fromStdin = await holdfast(
    ['submit', 'restaurant-order', '-', '--url', url, '--wait', '--json'],
    { input },
  );
  assert.equal(fromStdin.code, 1, fromStdin.problems);
  const [, ended] = lines(fromStdin);
  assert.equal(ended?.['status'], 'failed', 'nothing was charged, so nothing is given back');
});

test('list filters, pages and lists all; history and explain print an execution', async () => {
  const ids = [];
  for (const nth of [1, 2, 3]) {
    const ran = await ask(
      'submit',
      'nobody',
      '1',
      '--tags',
      'paged',
      '--key',
      `p/${nth}`,
      '--json',
    );
    ids.unshift(lines(ran)[0]?.['id']);
  }
  const page = await ask('list', '--tag', 'paged', '--limit', '2', '--json');
  assert.deepEqual(
    lines(page).map(({ id }) => id),
    ids.slice(0, 2),
  );
  assert.match(page.problems, /There are more\. Pass --cursor/);
  const all = await ask(
    'list',
    '--tag',
    'paged',
    '--limit',
    '2',
    '--all',
    '--json',
    '--status',
    'queued,running',
  );
  assert.deepEqual(
    lines(all).map(({ id }) => id),
    ids,
  );
  const table = await ask('list', '--tag', 'paged');
  assert.match(table.out, /^id +pipeline +status +submittedAt +key +tags\n/);
  assert.equal(table.out.trim().split('\n').length, 4);
  const none = await ask('list', '--tag', 'nothing');
  assert.deepEqual([none.code, none.out, none.problems], [0, '', 'None.\n']);
  const history = await ask('history', String(ids[0]));
  assert.match(history.out, /^1 +[\d:.]+ +submitted/);
  const explained = await ask('explain', String(ids[0]));
  assert.equal(explained.code, 0);
  assert.match(explained.out, /worker/i);
});

test('pause, resume, signal and cancel work, and exit with 1 for an ended execution', async () => {
  const id = await submitted('{"dish":"rice","guest":"dan"}', '--delay-ms', '3600000');
  assert.match((await ask('pause', id, '--reason', 'lunch')).out, /^paused\n$/);
  assert.match((await ask('pause', id)).out, /^nothing to change; it is paused\n$/);
  assert.deepEqual((await ask('get', id)).out.match(/^holds +(.*)$/m)?.[1], 'paused');
  assert.match((await ask('list')).out, new RegExp(`^${id} .*queued +paused `, 'm'));
  assert.match((await ask('resume', id)).out, /^resumed; it starts at 2\S+Z\n$/);
  assert.equal((await ask('signal', id, 'hello', '{"a":1}')).code, 0);
  assert.match((await ask('cancel', id)).out, /^cancelled\n$/);
  const late = await ask('signal', id, 'hello', '--json');
  assert.equal(late.code, 1, late.problems);
  assert.equal(lines(late)[0]?.['kind'], 'failed');
  const watched = await ask('watch', id);
  assert.equal(watched.code, 1);
  assert.match(watched.out, /cancelled/);
});

test('a missing execution exits with 1; an impossible request exits with 2 and prints a fix', async () => {
  const id = '01900000-0000-7000-8000-000000000000';
  for (const command of ['get', 'watch', 'explain', 'cancel']) {
    const ran = await ask(command, id);
    assert.equal(ran.code, 1, `${command}: ${ran.problems}`);
    assert.match(ran.problems, new RegExp(id));
  }
  assert.equal((await ask('get', 'no-id')).code, 2);
  assert.match((await ask('get')).problems, /<execution> is required\. Usage: holdfast get <id>/);
  assert.match((await ask('submit', 'x', 'soup')).problems, /"soup" is not valid JSON.*in quotes/);
  assert.match((await ask('list', '--tga', 'x')).problems, /Did you mean "--tag"\?/);
  const away = await holdfast(['list', '--url', 'http://127.0.0.1:1']);
  assert.equal(away.code, 2);
  assert.match(
    away.problems,
    /No coordinator responds at http:\/\/127\.0\.0\.1:1.*holdfast -- dev/,
  );
  const misspelt = await holdfast(['list'], { env: { HOLDFAST_ULR: url } });
  assert.equal(misspelt.code, 2);
  assert.match(misspelt.problems, /Did you mean "HOLDFAST_URL"\?/);
});

test('user text cannot move the cursor of a terminal', async () => {
  await ask('submit', 'nobody', '1', '--tags', 'odd', '--key', 'a\u001b[2Jb\nc\u009b');
  const { out } = await ask('list', '--tag', 'odd');
  assert.match(out, /a\\u001b\[2Jb\\nc\\u009b/);
});

test('dev keeps its state over restarts, and leaves no trace in git', () =>
  inFolder(async (cwd, own) => {
    const first = own(startHoldfast(['dev', '--port', '0'], { cwd }));
    const env = { HOLDFAST_URL: await first.url() };
    const demo = await first.prints(/"first":"([^"]+)"/);
    const ran = await holdfast(['submit', 'nobody', '--json'], { env });
    const id = String(lines(ran)[0]?.['id']);
    assert.equal((await first.stop()).code, 0);
    const second = own(startHoldfast(['dev', '--port', '0'], { cwd }));
    const again = { HOLDFAST_URL: await second.url() };
    assert.equal(await second.prints(/"first":"([^"]+)"/), demo, 'the demo is submitted once');
    assert.equal((await holdfast(['get', id], { env: again })).code, 0);
    assert.equal(await readFile(join(cwd, '.holdfast', '.gitignore'), 'utf8'), '*\n');
    assert.equal((await second.stop('SIGINT')).code, 0);
  }));

test('dev reads a file and the environment like serve, and refuses settings that it does not accept', () =>
  inFolder(async (cwd, own) => {
    const wrong: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
      [{ HOLDFAST_PROT: '1' }, /no setting "HOLDFAST_PROT". Did you mean "HOLDFAST_PORT"\?/],
      [{ HOLDFAST_STORE: 'other.db' }, /dev does not accept store \(from HOLDFAST_STORE\)/],
      [{ HOLDFAST_AUTH: 'keys' }, /dev does not accept auth .* "holdfast serve"/],
    ];
    for (const [env, sentence] of wrong) {
      const { code, problems } = await holdfast(['dev', '--port', '0'], { cwd, env });
      assert.equal(code, 2, problems);
      assert.match(problems, sentence);
    }
    for (const more of [['other.db'], ['postgres://localhost/x', '--folder', 'here']]) {
      const words = ['dev', '--port', '0', '--store', ...more];
      const { code, problems } = await holdfast(words, { cwd });
      assert.equal(code, 2, problems);
      assert.match(problems, /in a folder or in PostgreSQL\. Pass either --folder or --store/);
    }
    assert.deepEqual(await readdir(cwd), [], 'nothing was made');
    await writeFile(join(cwd, 'holdfast.config.json'), '{ "port": 1, "console": "off" }');
    const dev = own(startHoldfast(['dev'], { cwd, env: { HOLDFAST_PORT: '0' } }));
    await dev.url();
    assert.doesNotMatch(dev.out, /"console"/);
  }));
