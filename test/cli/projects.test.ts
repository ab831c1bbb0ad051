// A key for all projects, used without naming a project.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestCoordinator } from '../server/coordinator.ts';
import { holdfast, type Ran } from './spawned.ts';

const UNKNOWN = '01a1e190-0000-7000-8000-000000000001';

async function asking(
  coordinator: TestCoordinator,
  project?: string,
): Promise<(...words: readonly string[]) => Promise<Ran>> {
  const key = await coordinator.key(['submit', 'operate'], project);
  const env = { HOLDFAST_URL: coordinator.url, HOLDFAST_KEY: key };
  return (...words) => holdfast(words, { env });
}

test('an empty list with a key for all projects names the other projects and the flag to use', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  await coordinator.key(['submit'], 'default');
  const ofAll = await asking(coordinator);
  const alone = await ofAll('list');
  assert.deepEqual([alone.code, alone.problems], [0, 'None.\n'], 'there is no other to name');
  const shop = await coordinator.client(['submit'], 'shop');
  const { id } = await shop.executions.submit({ pipeline: 'nobody' });
  const expected =
    /used project "default", the default\. Other projects: shop\. To use one, pass --project shop, or set HOLDFAST_PROJECT=shop\./;
  for (const words of [['list'], ['dead-letters'], ['archive', 'list']]) {
    const { code, out, problems } = await ofAll(...words);
    assert.deepEqual([code, out], [0, ''], words.join(' '));
    assert.match(problems, expected, words.join(' '));
  }
  for (const words of [
    ['get', id],
    ['cancel', id],
    ['explain', id],
    ['history', id],
  ]) {
    const { code, problems } = await ofAll(...words);
    assert.equal(code, 1, words.join(' '));
    assert.match(problems, expected, words.join(' '));
  }
  assert.equal((await ofAll('get', id, '--project', 'shop')).code, 0);
  const found = await ofAll('get', UNKNOWN, '--project', 'shop');
  assert.doesNotMatch(found.problems, /Other projects/);
  const ofOne = await asking(coordinator, 'shop');
  assert.doesNotMatch((await ofOne('get', UNKNOWN)).problems, /Other projects/);
});

test('a key for all projects that names a missing project gets the list of projects', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const ask = await asking(coordinator);
  await coordinator.key(['submit'], 'kitchen');
  const { code, problems } = await ask('list', '--project', 'shop');
  assert.equal(code, 1);
  assert.match(
    problems,
    /no project "shop"\. The projects are: .*kitchen.*\. Name one: --project.* holdfast projects put shop /,
  );
  const admin = await coordinator.key(['admin']);
  const env = { HOLDFAST_URL: coordinator.url, HOLDFAST_KEY: admin };
  await coordinator.key(['submit'], 'default');
  const none = await holdfast(['projects', 'get', 'shop'], { env });
  assert.deepEqual(
    [none.code, none.problems.split('\n')[0]],
    [
      1,
      'There is no project "shop". List the projects: holdfast projects (GET /v1/projects). [not-found]',
    ],
  );
});

test('archive list of an empty archive prints how executions get there', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const ask = await asking(coordinator, 'default');
  const all = await ask('archive', 'list');
  assert.deepEqual([all.code, all.out], [0, '']);
  assert.match(all.problems, /^Nothing is archived\..*--archive-folder.*--keep.*archive run/s);
  const some = await ask('archive', 'list', '--tag', 'vip');
  assert.match(some.problems, /^No archived execution matches\. List all: holdfast archive list/);
  const json = await ask('archive', 'list', '--json');
  assert.deepEqual([json.out, json.problems], ['', '']);
});

test('commands on a sealed store are refused and exit with 1', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const ask = await asking(coordinator, 'default');
  const seal = { actor: 'olga', reason: 'a larger machine', to: 'shop.ndjson' };
  await coordinator.store.seals.seal({ ...seal, id: '00000000-0000-4000-8000-000000000001' });
  const late = await ask('submit', 'order', '--json');
  assert.deepEqual([late.code, JSON.parse(late.out).code], [1, 'store-sealed'], late.problems);
});
