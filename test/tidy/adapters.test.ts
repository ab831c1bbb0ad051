import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADAPTERS, adapterProblems } from './adapters.ts';
import { projectPaths } from './project-files.ts';

test('every adapter has the same operation files', () => {
  const paths = projectPaths('src/store/*/*.ts');
  for (const adapter of ADAPTERS) {
    assert.ok(
      paths.includes(`src/store/${adapter}/open.ts`),
      `src/store/${adapter}/open.ts must exist: it is the adapter's public entry`,
    );
  }
  assert.deepEqual(adapterProblems(paths), []);
});

test('the rule bites', () => {
  const everywhere = (name: string) => ADAPTERS.map((adapter) => `src/store/${adapter}/${name}`);
  const extra = { sqlite: { 'migrate.ts': 'has tables' } };
  const good = [...everywhere('open.ts'), 'src/store/sqlite/migrate.ts'];
  assert.deepEqual(adapterProblems(good, extra), []);
  assert.equal(adapterProblems([...good, 'src/store/memory/renew.ts'], extra).length, 2);
  assert.equal(adapterProblems(everywhere('open.ts'), extra).length, 1);
  assert.deepEqual(adapterProblems([...good, 'src/store/memory/open.test.ts'], extra), []);
});
