// holdfast serve, as a process: its first key, its configuration, how it stops.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { HoldfastClient } from '../../src/client/client.ts';
import { holdfast, inFolder, inherited, Spawned, startHoldfast } from './spawned.ts';

const KEY = /(hf_[a-z2-7]{16}_[A-Za-z0-9_-]{43})/;
const SERVE = ['serve', '--port', '0'] as const;

test('the first start prints a key once, on stderr; the second does not, and the key still opens', () =>
  inFolder(async (cwd, own) => {
    const first = own(startHoldfast(SERVE, { cwd }));
    const key = await first.prints(KEY);
    const url = await first.url();
    const { id } = await new HoldfastClient({ url, key }).executions.submit({ pipeline: 'nobody' });
    assert.ok(id.length > 0);
    const ended = await first.stop();
    assert.equal(ended.code, 0, ended.problems);
    assert.match(ended.problems, KEY);
    assert.doesNotMatch(ended.out, KEY, 'the log has no secret');
    assert.match(ended.out, /"survives":"process and machine crashes/);

    const second = own(startHoldfast(SERVE, { cwd }));
    const again = new HoldfastClient({ url: await second.url(), key });
    assert.equal((await again.executions.read(id)).status, 'queued');
    const { code, out, problems } = await second.stop('SIGINT');
    assert.deepEqual([code, problems], [0, '']);
    assert.match(out, /"message":"stopping","because":"SIGINT"/);
  }));

test('a start that fails creates no key, and the first that succeeds prints it', () =>
  inFolder(async (cwd, own) => {
    const elsewhere = join(cwd, 'elsewhere');
    await mkdir(elsewhere);
    const taken = own(startHoldfast(SERVE, { cwd: elsewhere }));
    const { port } = new URL(await taken.url());
    const failed = await holdfast(['serve', '--port', port], { cwd });
    assert.equal(failed.code, 2);
    assert.match(failed.problems, /is in use \(EADDRINUSE\).*--port/);
    const admin = await holdfast([...SERVE, '--admin', `127.0.0.1:${port}`], { cwd });
    assert.equal(admin.code, 2, 'the listener that was open is closed, so that it ends');
    assert.match(admin.problems, new RegExp(`^127\\.0\\.0\\.1:${port} is in use .* with --admin`));
    const started = own(startHoldfast(SERVE, { cwd }));
    await started.prints(KEY);
  }));

test('SIGTERM ends an open long poll and then the process', () =>
  inFolder(async (cwd, own) => {
    const server = own(startHoldfast([...SERVE, '--auth', 'off'], { cwd }));
    const url = await server.url();
    const { executions } = new HoldfastClient({ url });
    const { id } = await executions.submit({ pipeline: 'nobody' });
    const held = fetch(`${url}/v1/executions/${id}/result?waitMs=60000`);
    // The long poll uses an open connection. Once a request on a later connection is answered, the
    // coordinator has read the poll.
    await executions.read(id);
    const [response, ended] = await Promise.all([held, server.stop()]);
    assert.equal(response.status, 202);
    assert.equal(ended.code, 0, ended.problems);
  }));

test('serve ends when the shell that npm or npx started it in ends', () =>
  inFolder(async (cwd, own) => {
    const main = join(import.meta.dirname, '../../src/cli/main.ts');
    const command = `"${process.execPath}" "${main}" serve --port 0 --auth off; true`;
    const env = { ...inherited(), npm_lifecycle_event: 'npx' };
    const shell = own(new Spawned(spawn('sh', ['-c', command], { cwd, env })));
    await shell.url();
    // As npm does on SIGTERM; the shell does not pass it on.
    const { out } = await shell.stop('SIGTERM');
    assert.match(out, /"because":"the npm that started it has ended"[\s\S]*"message":"stopped"/);
  }));

test('a second signal ends serve at once, whatever is still open', () =>
  inFolder(async (cwd, own) => {
    const server = own(startHoldfast([...SERVE, '--auth', 'off'], { cwd }));
    const { port } = new URL(await server.url());
    // Half of a request. It is under way and never ends.
    const half = connect(Number(port), '127.0.0.1');
    half.on('error', () => undefined);
    half.write('GET /v1/executions HTTP/1.1\r\nHost: localhost\r\n');
    await once(half, 'connect');
    // Once this later request is answered, the coordinator has read the half one.
    await fetch(`http://127.0.0.1:${port}/healthz`);
    server.child.kill('SIGTERM');
    await server.prints(/"message":"stopping"/);
    const { code } = await server.stop('SIGTERM');
    half.destroy();
    assert.equal(code, 1);
  }));

test('without authentication serve prints a warning and listens on loopback only', () =>
  inFolder(async (cwd, own) => {
    const refused = await holdfast([...SERVE, '--auth', 'off', '--host', '0.0.0.0'], { cwd });
    assert.equal(refused.code, 2);
    assert.match(refused.problems, /listens only on loopback, and 0\.0\.0\.0 is not/);
    const server = own(startHoldfast([...SERVE, '--auth', 'off'], { cwd }));
    await server.prints(/AUTHENTICATION IS OFF/);
  }));

test('an unknown name in file, environment or flags is an error that suggests the nearest', () =>
  inFolder(async (cwd) => {
    const flag = await holdfast(['serve', '--prot', '1'], { cwd });
    assert.deepEqual([flag.code, flag.out], [2, '']);
    assert.match(flag.problems, /no flag "--prot". Did you mean "--port"\?/);
    const variable = await holdfast(['serve'], { cwd, env: { HOLDFAST_STROE: 'x' } });
    assert.equal(variable.code, 2);
    assert.match(variable.problems, /no setting "HOLDFAST_STROE". Did you mean "HOLDFAST_STORE"\?/);
    await writeFile(join(cwd, 'holdfast.config.json'), '{ "limits": { "openMx": 1 } }');
    const file = await holdfast(['serve'], { cwd });
    assert.equal(file.code, 2);
    assert.match(
      file.problems,
      /holdfast.config.json: there is no setting "limits.openMx". Did you mean "limits.openMax"\?/,
    );
  }));

test('--print-config prints each value and its source, without secrets', () =>
  inFolder(async (cwd) => {
    await mkdir(join(cwd, 'etc'));
    const file = join('etc', 'hf.json');
    await writeFile(join(cwd, file), '{ "port": 1, "host": "::1", "store": "x.db" }');
    const env = { HOLDFAST_STORE: 'postgres://me:hush@db/app', HOLDFAST_PORT: '2' };
    const words = ['serve', '--config', file, '--print-config'];
    const people = await holdfast([...words, '--port', '3'], { cwd, env });
    assert.equal(people.code, 0, people.problems);
    assert.doesNotMatch(people.out, /hush/);
    assert.match(people.out, /^store +postgres:\/\/me:…@db\/app +HOLDFAST_STORE$/m);
    assert.match(people.out, /^port +3 +--port$/m);
    assert.match(people.out, /^host +::1 +etc\/hf\.json$/m);
    assert.match(people.out, /^auth +keys +default$/m);
    const { out } = await holdfast([...words, '--json'], { cwd });
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const store = lines.find(({ name }) => name === 'store');
    assert.deepEqual(store, { name: 'store', value: join(cwd, 'etc', 'x.db'), from: file });
  }));

test('each request is one log line with its route and caller, without secrets', () =>
  inFolder(async (cwd, own) => {
    const server = own(startHoldfast(SERVE, { cwd }));
    const key = await server.prints(KEY);
    const url = await server.url();
    const { executions } = new HoldfastClient({ url, key });
    const { id } = await executions.submit({ pipeline: 'nobody' });
    await executions.read(id);
    await fetch(`${url}/v1/executions/${id}?secret=hush`, {
      headers: { authorization: `Bearer ${key}x` },
    });
    const { out } = await server.stop();
    const requests = out
      .split('\n')
      .filter((line) => line.includes('"message":"request"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const logged = requests.map(({ method, route, status, actor }) => [
      method,
      route,
      status,
      actor,
    ]);
    assert.deepEqual(logged, [
      ['POST', '/v1/executions', 202, 'first key'],
      ['GET', '/v1/executions/:id', 200, 'first key'],
      ['GET', '/v1/executions/:id', 401, undefined],
    ]);
    assert.equal(requests[1]?.['id'], id);
    assert.equal(typeof requests[1]?.['ms'], 'number');
    assert.doesNotMatch(out, /hush|Bearer/);
    assert.doesNotMatch(out, KEY);
    const quiet = own(startHoldfast([...SERVE, '--log-requests', 'false'], { cwd }));
    const again = new HoldfastClient({ url: await quiet.url(), key });
    await again.executions.read(id);
    assert.doesNotMatch((await quiet.stop()).out, /"message":"request"/);
  }));
