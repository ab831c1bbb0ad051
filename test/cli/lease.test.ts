// `holdfast lease` on a SQLite file: what a program under it gets and leaves, and the other verbs.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startProgram } from '../../src/cli/lease-run/program.ts';
import { readKey } from '../../src/features/access/model.ts';
import { momentOf } from '../../src/lease/authority.ts';
import { systemClock } from '../../src/support/clock.ts';
import { until } from '../processes/stage/until.ts';
import { TestCoordinator } from '../server/coordinator.ts';
import { holdfast, inFolder, type Ran, startHoldfast } from './spawned.ts';

const AT = ['--store', 'leases.db'];

function run(folder: string, key: string, words: readonly string[]): Promise<Ran> {
  return startHoldfast(['lease', 'run', key, ...AT, ...words], { cwd: folder }).ended();
}

const script = (text: string): readonly string[] => ['--', 'sh', '-c', text];

interface Shown {
  readonly state: string;
  readonly owner: string;
  readonly fence: number;
  readonly end?: { readonly exit: string; readonly cause?: string };
  readonly checkpoint?: { readonly seq: number; readonly bytes: number };
}

async function show(folder: string, key: string): Promise<Shown> {
  const { out } = await holdfast(['lease', 'show', key, '--json', ...AT], { cwd: folder });
  return JSON.parse(out);
}

test('the program gets key and fence, and its exit code becomes that of lease run', () =>
  inFolder(async (folder) => {
    const text =
      'echo "$HOLDFAST_LEASE_KEY $HOLDFAST_LEASE_FENCE $HOLDFAST_LEASE_PREDECESSOR"; exit 7';
    const first = await run(folder, 'job', script(text));
    const { fence, end } = await show(folder, 'job');
    assert.deepEqual([first.code, first.out], [7, `job ${fence} none\n`]);
    assert.deepEqual([end?.exit, end?.cause], ['failed', 'ended with exit code 7']);
    // A command within the program must accept the variables of the lease.
    const second = await run(folder, 'job', ['--', process.execPath, MAIN, 'lease', 'list', ...AT]);
    assert.match(second.out, /^key +state +owner .*\njob +held +lease-run@/);
    assert.equal((await show(folder, 'job')).end?.exit, 'finished');
    const third = await run(folder, 'job', script('echo $HOLDFAST_LEASE_PREDECESSOR'));
    assert.equal(third.out, 'finished\n');
  }));

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

test('a checkpoint file is restored before the start, and saved while and after the program runs', () =>
  inFolder(async (folder) => {
    const words = ['--checkpoint-file', 'state', '--checkpoint-every', '50ms'];
    const replaced = 'echo one > new; mv new state; until [ -f go ]; do sleep 0.05; done';
    const first = run(folder, 'job', [...words, ...script(`${replaced}; echo two > state`)]);
    await until('the first content is saved', async () => {
      return (await show(folder, 'job')).checkpoint?.seq === 1;
    });
    writeFileSync(join(folder, 'go'), '');
    assert.equal((await first).code, 0);
    assert.deepEqual((await show(folder, 'job')).checkpoint?.seq, 2);
    writeFileSync(join(folder, 'state'), 'of another program\n');
    const second = await run(folder, 'job', [...words, ...script('cat state')]);
    assert.equal(second.out, 'two\n');
    assert.equal(readFileSync(join(folder, 'state.before'), 'utf8'), 'of another program\n');
    const large = await run(folder, 'job', [
      ...words,
      ...script('head -c 300000 /dev/zero > new; mv new state'),
    ]);
    assert.equal(large.code, 125);
    assert.match(large.problems, /exit code 0, but its checkpoint was not saved: .*300000/);
    assert.equal((await show(folder, 'job')).checkpoint?.bytes, 'two\n'.length);
  }));

test('codes of lease run: not acquired, could not start, wrong usage, not supported store', () =>
  inFolder(async (folder, own) => {
    const missing = await run(folder, 'job', ['--', 'no-such-program']);
    assert.deepEqual([missing.code, /ENOENT/.test(missing.problems)], [127, true]);
    writeFileSync(join(folder, 'text'), '');
    assert.equal((await run(folder, 'job', ['--', './text'])).code, 126);
    assert.equal((await show(folder, 'job')).end?.exit, 'abandoned');
    for (const words of [[], ['--ttl', '1ms', ...script('')], ['--timeout', '1s', ...script('')]])
      assert.equal((await run(folder, 'job', words)).code, 125, words.join(' '));
    const held = own(
      startHoldfast(['lease', 'run', 'job', ...AT, ...script('echo on; sleep 60')], {
        cwd: folder,
      }),
    );
    await held.prints(/on/);
    const refused = await run(folder, 'job', ['--json', ...script('echo never')]);
    assert.deepEqual([refused.code, refused.out], [121, '']);
    assert.deepEqual(JSON.parse(refused.problems).why, 'held');
    const late = await run(folder, 'job', [
      '--wait',
      '--timeout',
      '100ms',
      ...script('echo never'),
    ]);
    assert.deepEqual([late.code, late.out], [121, '']);
    const waiting = own(
      startHoldfast(['lease', 'run', 'job', ...AT, '--wait', ...script('')], { cwd: folder }),
    );
    await until(
      'it waits',
      async () => 'waiting' in (await show(folder, 'job')) && (await isQueued(folder)),
    );
    assert.equal((await waiting.stop('SIGINT')).code, 130, 'a signal ends the wait');
  }));

async function isQueued(folder: string): Promise<boolean> {
  const { out } = await holdfast(['lease', 'show', 'job', '--json', ...AT], { cwd: folder });
  return JSON.parse(out).waiting === 1;
}

test('the program gets signals of lease run, and yields if it ends with 0', () =>
  inFolder(async (folder, own) => {
    const trap = `trap 'echo caught; exit 0' HUP; echo on; while :; do sleep 0.05; done`;
    const spawned = own(
      startHoldfast(['lease', 'run', 'job', ...AT, ...script(trap)], { cwd: folder }),
    );
    await spawned.prints(/on/);
    const ran = await spawned.stop('SIGHUP');
    assert.deepEqual([ran.code, ran.out], [0, 'on\ncaught\n']);
    assert.equal((await show(folder, 'job')).end?.exit, 'yielded');
  }));

test('children that the program left behind are killed before the lease is released', () =>
  inFolder(async (folder) => {
    const leave = '(until [ -f released ]; do sleep 0.02; done; touch alive) & echo $!';
    const ran = await run(folder, 'job', script(leave));
    assert.equal(ran.code, 0);
    writeFileSync(join(folder, 'released'), '');
    const child = Number(ran.out);
    await until('the child is gone', () => !isRunning(child));
    assert.equal(existsSync(join(folder, 'alive')), false);
  }));

test('a program that starts a group of its own gets signals, and is killed with lease run', () =>
  inFolder(async (folder, own) => {
    const start = (key: string, text: string) =>
      own(
        startHoldfast(['lease', 'run', key, ...AT, '--', 'timeout', '99', 'sh', '-c', text], {
          cwd: folder,
        }),
      );
    const asked = start('asked', `trap 'exit 9' TERM; echo on; while :; do sleep 0.05; done`);
    await asked.prints(/on/);
    assert.equal((await asked.stop()).code, 9);
    const killed = start('killed', 'echo on $$; while :; do sleep 0.05; done');
    const child = Number(await killed.prints(/on (\d+)\n/));
    killed.child.kill('SIGKILL');
    await until('the child is gone', () => !isRunning(child));
  }));

test('the end of the program counts, also if its watchdog was gone before the next order', () =>
  inFolder(async (folder) => {
    const deadline = { from: momentOf(systemClock), leftMs: 60_000 };
    const text = `cd ${folder}; echo $PPID > new; mv new watchdog; until [ -f go ]; do sleep 0.02; done`;
    const program = startProgram({ command: ['sh', '-c', text], deadline, env: {} });
    await until('it runs', () => existsSync(join(folder, 'watchdog')));
    const watchdog = Number(readFileSync(join(folder, 'watchdog'), 'utf8'));
    writeFileSync(join(folder, 'go'), '');
    // Blocks this process, as a busy machine does, so that the report of the end is not read yet.
    while (isRunning(watchdog));
    program.extend(deadline);
    assert.deepEqual(await program.ended, { kind: 'ended', code: 0, signal: null });
  }));

test('a checkpoint file that cannot be read, and a closed stderr, do not end the program', () =>
  inFolder(async (folder, own) => {
    const words = ['--checkpoint-file', 'state', '--checkpoint-every', '50ms'];
    const text = `exec 2>&-; trap 'rmdir state; exit 0' TERM; mkdir state; while :; do sleep 0.05; done`;
    const spawned = own(
      startHoldfast(['lease', 'run', 'job', ...AT, ...words, ...script(text)], { cwd: folder }),
    );
    await spawned.prints(/Checkpoint not saved: .*EISDIR/);
    spawned.child.stderr?.destroy();
    const reason = ['--reason', 'test', '--deadline', '60s'];
    const drained = await holdfast(['lease', 'drain', 'job', ...AT, ...reason], { cwd: folder });
    assert.equal(drained.code, 0, drained.problems);
    assert.equal((await spawned.ended()).code, 123);
    assert.equal((await show(folder, 'job')).end?.exit, 'yielded');
  }));

test('a key that is revoked costs the lease, and the exit code says so', () =>
  inFolder(async (folder, own) => {
    await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
    const at = ['--url', coordinator.url, '--ttl', '1s'];
    const env = { HOLDFAST_KEY: await coordinator.key(['lease'], 'default') };
    const words = [
      'lease',
      'run',
      'job',
      ...at,
      ...script('echo on; while :; do sleep 0.05; done'),
    ];
    const spawned = own(startHoldfast(words, { cwd: folder, env }));
    await spawned.prints(/on/);
    await coordinator.store.access.revokeKey({ id: readKey(env.HOLDFAST_KEY)?.id ?? '' });
    const ran = await spawned.ended();
    assert.equal(ran.code, 122, ran.problems);
    assert.match(ran.problems, /The lease was lost/);
  }));

/** A process that its parent has not collected yet no longer runs. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

test('a program that ignores a drain is killed before the deadline', () =>
  inFolder(async (folder, own) => {
    const stubborn = `trap 'echo asked' TERM; echo on; while :; do sleep 0.05; done`;
    const words = ['lease', 'run', 'job', ...AT, '--ttl', '1s', ...script(stubborn)];
    const spawned = own(startHoldfast(words, { cwd: folder }));
    await spawned.prints(/on/);
    const drain = ['lease', 'drain', 'job', ...AT, '--deadline', '2s', '--actor', 'ada'];
    assert.equal((await holdfast(drain, { cwd: folder })).code, 2, 'a reason is required');
    const drained = await holdfast([...drain, '--reason', 'deploy'], { cwd: folder });
    assert.deepEqual([drained.code, drained.problems], [0, '']);
    const again = await holdfast([...drain, '--reason', 'deploy'], { cwd: folder });
    assert.equal(again.code, 1, 'it drains already');
    const ran = await spawned.ended();
    assert.deepEqual([ran.code, ran.out], [122, 'on\nasked\n']);
    assert.match(ran.problems, /ada drains "job" \(deploy\)/);
  }));

test('drain and revoke act only on the term that is named, and watch prints all events', () =>
  inFolder(async (folder, own) => {
    const at = { cwd: folder };
    const unknown = await holdfast(['lease', 'revoke', 'job', '--reason', 'x', ...AT], at);
    assert.deepEqual([unknown.code, /"job"/.test(unknown.problems)], [1, true]);
    const spawned = own(
      startHoldfast(
        ['lease', 'run', 'job', ...AT, '--ttl', '1s', ...script('echo on; sleep 60')],
        at,
      ),
    );
    await spawned.prints(/on/);
    const { fence } = await show(folder, 'job');
    const revoke = ['lease', 'revoke', 'job', '--reason', 'stuck', ...AT, '--json'];
    const other = await holdfast([...revoke, '--fence', String(fence + 1)], at);
    assert.deepEqual([other.code, JSON.parse(other.out).why], [1, 'superseded']);
    const revoked = await holdfast([...revoke, '--fence', String(fence)], at);
    assert.deepEqual([revoked.code, JSON.parse(revoked.out).kind], [0, 'revoked']);
    assert.equal((await spawned.ended()).code, 122);
    const watch = own(startHoldfast(['lease', 'watch', ...AT, '--prefix', 'j'], at));
    await watch.prints(/ended {2}job .* revoked .*stuck/);
    const seen = await watch.stop('SIGINT');
    assert.deepEqual(
      [seen.code, /session-/.test(seen.out)],
      [0, false],
      'a prefix leaves out sessions',
    );
    const json = own(startHoldfast(['lease', 'watch', ...AT, '--json', '--after', '1'], at));
    const first = JSON.parse(await json.prints(/^(.*)\n/));
    assert.deepEqual([first.seq, first.kind], [2, 'acquired']);
  }));

test('list prints pages, and tells how to get the next', () =>
  inFolder(async (folder) => {
    for (const key of ['a/1', 'a/2', 'b/1']) await run(folder, key, script(''));
    const list = (...words: readonly string[]) =>
      holdfast(['lease', 'list', ...AT, ...words], { cwd: folder });
    const page = await list('--limit', '2');
    assert.match(page.problems, /There are more\. Pass --cursor a\/2, or --all\./);
    assert.match((await list('--cursor', 'a/2')).out, /^.*\nb\/1 .*\n$/);
    const all = await list('--limit', '2', '--all', '--json');
    const keys = all.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).key);
    assert.deepEqual(keys, ['a/1', 'a/2', 'b/1']);
    assert.equal((await list('--prefix', 'c/')).problems, 'None.\n');
  }));
