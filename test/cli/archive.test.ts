// holdfast archive, against a coordinator that removes cancelled executions at once.

import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { holdfast, inFolder, startHoldfast } from './spawned.ts';

const SERVE = ['serve', '--port', '0', '--auth', 'off'] as const;
const LETS_GO = [
  ...['--archive-folder', 'archive', '--retention-cancelled-days', '0'],
  ...['--retention-every-ms', '86400000'],
] as const;

test('archive run, list, search, get and verify follow an execution from its row to damaged documents', () =>
  inFolder(async (cwd, own) => {
    const url = await own(startHoldfast([...SERVE, ...LETS_GO], { cwd })).url();
    const ask = (...words: readonly string[]) =>
      holdfast(words, { cwd, env: { HOLDFAST_URL: url } });
    const ids: string[] = [];
    for (const key of ['invoice-1 Bern', 'invoice-2 Basel']) {
      const { out } = await ask('submit', 'nobody', '1', '--key', key, '--json');
      const { id } = JSON.parse(out) as { readonly id: string };
      ids.push(id);
      assert.equal((await ask('cancel', id)).code, 0);
    }
    const [one = '', two = ''] = ids;
    const ran = await ask('archive', 'run', '--limit', '1');
    assert.deepEqual([ran.code, ran.out], [0, '2 removed, 2 archived, 0 failed\n']);
    const gone = await ask('get', one);
    assert.equal(gone.code, 1);
    assert.match(gone.problems, new RegExp(`archived.*holdfast archive get ${one} `));
    const all = await ask('archive', 'list', '--limit', '1', '--all', '--json');
    const listed = all.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id);
    assert.deepEqual(listed.toSorted(), ids.toSorted());
    const found = await ask('archive', 'search', 'BERN', 'invoice');
    assert.match(found.out, new RegExp(`${one} +nobody +cancelled`));
    assert.doesNotMatch(found.out, new RegExp(two));
    const full = await ask('archive', 'get', one);
    assert.match(full.out, /document +bytes[\s\S]*report\.md/);
    const report = await ask('archive', 'get', one, '--document', 'report.md');
    assert.match(report.out, /^# nobody: cancelled/);
    const none = await ask('archive', 'get', one, '--document', 'nope.md');
    assert.equal(none.code, 1);
    assert.match(
      none.problems,
      new RegExp(`^Archived execution ${one} has no document "nope.md"\\. It has: .*report\\.md`),
    );
    const when = await ask('archive', 'list', '--from', 'yesterday');
    assert.match(when.problems, /^from must be a time such as 2026-11-01T00:00:00Z\. /);
    const record = await ask('archive', 'get', one, '--json');
    const { place } = JSON.parse(record.out) as { readonly place: string };
    const file = join(cwd, 'archive', place, 'report.md');
    assert.equal(await readFile(file, 'utf8'), report.out);
    assert.equal((await ask('archive', 'verify', '--all')).out, '2 checked, 0 damaged\n');
    await rm(file);
    const damaged = await ask('archive', 'verify', one);
    assert.deepEqual(
      [damaged.code, damaged.out.split('\n')[0]],
      [1, `${one} report.md is missing`],
    );
    assert.equal((await ask('archive', 'verify', two)).code, 0);
    const odd = await ask('archive', 'serch', 'x');
    assert.equal(odd.code, 2);
    assert.match(odd.problems, /Did you mean "search"\?/);
  }));

test('serve with a retention time and no archive does not start, and prints the setting to add', () =>
  inFolder(async (cwd) => {
    const lost = await holdfast([...SERVE, '--retention-completed-days', '30'], { cwd });
    assert.equal(lost.code, 2);
    assert.match(lost.problems, /archive\.folder.*retention\.withoutArchive/);
    const both = [...SERVE, '--archive-folder', 'a', '--archive-url', 'http://127.0.0.1:1'];
    assert.match(
      (await holdfast(both, { cwd })).problems,
      /archive\.folder and archive\.url are both set/,
    );
    const half = await holdfast([...SERVE, '--archive-url', 'http://127.0.0.1:1'], { cwd });
    assert.match(half.problems, /archive\.bucket/);
  }));
