// The Python package of clients/python: its own tests, its features on a coordinator, and the
// conformance runner.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { holdfast } from '../cli/spawned.ts';
import { findPython, PYTHON_CLIENT, pythonEnvironment } from '../services/python.ts';
import { runCommand } from '../services/run-command.ts';
import { createKey } from '../transport/backend.ts';
import { sampledCases } from './bench.ts';

const TESTS = join(PYTHON_CLIENT, 'tests');

test('the unit tests of the Python package pass', async () => {
  const args = ['-W', 'error', '-m', 'unittest', 'discover', '-s', TESTS];
  await runCommand(await findPython(), args, { env: pythonEnvironment() });
});

test('M-12: the Python client and worker pass their tests on a coordinator', async () => {
  const store = openMemoryStore();
  const key = await createKey(store, 'default', ['submit', 'work', 'operate', 'admin']);
  const channels = { signing: { keys: { k: 'channel secret '.repeat(3) }, current: 'k' } };
  const options = { port: 0, admin: 'main', console: false } as const;
  await using server = await openServer({ store, channels, ...options });
  const env = pythonEnvironment({ HOLDFAST_URL: server.url, HOLDFAST_KEY: key });
  await runCommand(await findPython(), [join(TESTS, 'live/features.py')], { env });
});

test('A-1, M-41: the Python package holds leases through a coordinator', async () => {
  const store = openMemoryStore();
  const key = await createKey(store, 'default', ['lease']);
  await using server = await openServer({ store, port: 0, console: false });
  const env = pythonEnvironment({ HOLDFAST_URL: server.url, HOLDFAST_KEY: key });
  await runCommand(await findPython(), [join(TESTS, 'live/leases.py')], { env });
});

test('the code of the Python guide is valid, and its quick start runs', async () => {
  const python = await findPython();
  const guide = await readFile(join(PYTHON_CLIENT, '../../docs/guides/python.md'), 'utf8');
  const blocks = [...guide.matchAll(/^```python\n(.*?)^```$/gms)].map(([, code = '']) => code);
  const parse = `import ast, sys
for code in sys.argv[1:]:
    compile(code, "guide", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)`;
  await runCommand(python, ['-c', parse, ...blocks]);
  const store = openMemoryStore();
  await using server = await openServer({ store, port: 0, auth: 'off', console: false });
  const env = pythonEnvironment({ HOLDFAST_URL: server.url });
  assert.equal(await runCommand(python, ['-c', blocks[0] ?? ''], { env }), 'Hello Ada\n');
  const leases = blocks.find((code) => code.includes('LeaseSession'));
  assert.match(await runCommand(python, ['-c', leases ?? ''], { env }), /^made under fence \d+\n$/);
});

test('M-12: the Python worker passes the cases of the conformance runner', async () => {
  const worker = [await findPython(), join(TESTS, 'conform_worker.py')];
  const env = { PYTHONPATH: PYTHON_CLIENT, PYTHONDONTWRITEBYTECODE: '1' };
  const cases = sampledCases('Python');
  const words = ['--json', '--case', cases.join(','), '--', ...worker];
  const { code, out } = await holdfast(['conform', ...words], { env });
  const reports = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const failed = reports.filter(({ ok }) => !ok);
  assert.deepEqual(
    failed.map(({ name, found }) => `${name}: ${found}`),
    [],
  );
  assert.equal(code, 0);
  assert.deepEqual(
    reports.map(({ name }) => name),
    ['start', ...cases],
  );
});
