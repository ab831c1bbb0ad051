import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADAPTERS, adapterProblems, LEASES_ONLY } from './adapters.ts';
import { projectPaths } from './project-files.ts';

/** Adapters that must have what stands in `executions/` and `access/`. */
const KEEP_EXECUTIONS = ADAPTERS.filter((adapter) => !LEASES_ONLY.includes(adapter));

test('every adapter has the same operation files', () => {
  const paths = projectPaths('src/store/*/**/*.ts');
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
  const problems = (paths: readonly string[], extraFiles = {}, required: readonly string[] = []) =>
    adapterProblems(paths, extraFiles, required);
  const good = [...everywhere('open.ts'), 'src/store/sqlite/migrate.ts'];
  assert.deepEqual(problems(good, extra), []);
  const others = ADAPTERS.length - 1;
  assert.equal(problems([...good, 'src/store/memory/renew.ts'], extra).length, others);
  assert.equal(problems(everywhere('open.ts'), extra).length, 1);
  assert.deepEqual(problems([...good, 'src/store/memory/open.test.ts'], extra), []);
});

test('the rule bites in the folders of an adapter, whatever they are called', () => {
  const claim = KEEP_EXECUTIONS.map((adapter) => `src/store/${adapter}/executions/claim.ts`);
  assert.deepEqual(adapterProblems(claim, {}, []), []);
  assert.equal(adapterProblems(claim.slice(1), {}, []).length, 1);
  const others = ADAPTERS.length - 1;
  assert.equal(adapterProblems([...claim, 'src/store/memory/odd/place.ts'], {}, []).length, others);
  // A file of the same name elsewhere in the adapter is another file.
  assert.equal(adapterProblems([...claim, 'src/store/memory/claim.ts'], {}, []).length, others);
  const state = { memory: { 'executions/state.ts': 'plain maps' } };
  assert.deepEqual(
    adapterProblems([...claim, 'src/store/memory/executions/state.ts'], state, []),
    [],
  );
  assert.equal(adapterProblems(claim, state, []).length, 1);
});

test('what the port asks for is missed even when no adapter has it, and is no extra', () => {
  const required = ['executions/claim.ts'];
  for (const name of [...required, 'access/keys.ts']) {
    assert.equal(adapterProblems([], {}, [name]).length, KEEP_EXECUTIONS.length);
  }
  const claim = KEEP_EXECUTIONS.map((adapter) => `src/store/${adapter}/executions/claim.ts`);
  assert.deepEqual(adapterProblems(claim, {}, required), []);
  const extra = { memory: { 'executions/claim.ts': 'has reasons' } };
  assert.equal(adapterProblems(claim, extra, required).length, 1);
});
