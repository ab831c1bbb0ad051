import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { appendFile, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FileGuard } from '../../src/guards/files.ts';
import { systemTimers, type Timers } from '../../src/support/timer.ts';
import { FIRST, SECOND, THIRD } from './fences.ts';
import { type OpenResource, testGuard } from './register.ts';
import type { Holder, Resource } from './schedules.ts';

/** A holder that waits for the file looks again on the next turn, not some milliseconds later. */
const IMPATIENT: Timers = { ...systemTimers, pause: async () => void (await nextTurn()) };
const TURNS = 20;

/** Memory, where the system has such files: flushing to a disk is not what is tested here. */
const PLACE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

function temporaryFolder(): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(PLACE, 'holdfast-guard-files-'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Every holder has a guard of its own, as separate processes would. */
class FileResource implements Resource {
  readonly #path: string;
  readonly #guards: readonly FileGuard[];

  constructor(path: string, guards: readonly FileGuard[]) {
    this.#path = path;
    this.#guards = guards;
  }

  async admit(holder: Holder): Promise<boolean> {
    if (holder.mode === 'unguarded') return true;
    return (await this.#guard(holder).admit(holder.fenced)).kind === 'current';
  }

  async write(holder: Holder): Promise<boolean> {
    const { fenced, mode } = holder;
    const line = `${fenced.fence}\n`;
    if (mode === 'guarded' && holder.choose([true, false, false])) {
      holder.sending();
      return (await this.#guard(holder).append(fenced, line)).kind === 'written';
    }
    const effect = async () => {
      await holder.pause();
      holder.sending();
      await appendFile(this.#path, line);
    };
    if (mode === 'guarded') {
      return (await this.#guard(holder).within(fenced, effect)).kind === 'written';
    }
    if (mode === 'read-first') {
      const answer = await this.#guard(holder).admit(fenced);
      if (answer.kind !== 'current') return false;
    }
    await effect();
    return true;
  }

  /** The file is for one schedule; the marks beside it are kept. */
  async effects(): Promise<readonly number[]> {
    const text = await readFile(this.#path, 'utf8');
    await rm(this.#path);
    return text.split('\n').slice(0, -1).map(Number);
  }

  async breathe(): Promise<void> {
    for (let turns = 0; turns < TURNS; turns += 1) await nextTurn();
  }

  #guard({ index }: Holder): FileGuard {
    const guard = this.#guards[index];
    assert.ok(guard !== undefined);
    return guard;
  }
}

function openFiles(): OpenResource {
  const { folder, remove } = temporaryFolder();
  const guards: FileGuard[] = [];
  return {
    resource(lane) {
      const path = join(folder, `lane-${lane}`);
      const options = { timers: IMPATIENT, patienceMs: 1_000_000 };
      const own = [0, 1, 2].map(() => new FileGuard(path, options));
      guards.push(...own);
      return new FileResource(path, own);
    },
    async close() {
      for (const guard of guards) await guard.close();
      remove();
    },
  };
}

testGuard({ name: 'file guard', open: openFiles, lanes: 4 });

function openGuard(t: TestContext, patienceMs = 10_000): FileGuard {
  const { folder, remove } = temporaryFolder();
  const guard = new FileGuard(join(folder, 'report.txt'), { patienceMs });
  t.after(async () => {
    await guard.close();
    remove();
  });
  return guard;
}

test('a lower fence is refused, an equal one passes, a higher one raises', async (t) => {
  const guard = openGuard(t);
  const stale = { kind: 'stale', resource: 'a', presented: FIRST, newest: SECOND };
  assert.deepEqual(await guard.admit({ key: 'a', fence: SECOND }), { kind: 'current' });
  assert.equal((await guard.append({ key: 'a', fence: SECOND }, 'one\n')).kind, 'written');
  assert.equal((await guard.append({ key: 'a', fence: SECOND }, 'two\n')).kind, 'written');
  assert.deepEqual(await guard.append({ key: 'a', fence: FIRST }, 'old\n'), stale);
  assert.deepEqual(await guard.replace({ key: 'a', fence: FIRST }, 'old\n'), stale);
  assert.equal(readFileSync(guard.path, 'utf8'), 'one\ntwo\n');
  assert.equal((await guard.replace({ key: 'a', fence: THIRD }, 'new\n')).kind, 'written');
  assert.equal(readFileSync(guard.path, 'utf8'), 'new\n');
});

test('an effect that throws frees the file and leaves the mark raised', async (t) => {
  const guard = openGuard(t);
  const broken = guard.within({ key: 'a', fence: SECOND }, () => {
    throw new Error('the disk is full');
  });
  await assert.rejects(broken, /the disk is full/);
  assert.equal((await guard.append({ key: 'a', fence: FIRST }, 'old')).kind, 'stale');
  assert.equal((await guard.append({ key: 'a', fence: SECOND }, 'new')).kind, 'written');
});

test('writers inside one process take turns', async (t) => {
  const guard = openGuard(t);
  const other = new FileGuard(guard.path);
  t.after(() => other.close());
  let inside = 0;
  const effect = async () => {
    inside += 1;
    await nextTurn();
    assert.equal(inside, 1);
    inside -= 1;
  };
  const fenced = { key: 'a', fence: FIRST };
  const guards = [guard, other, guard, other, guard];
  const answers = await Promise.all(guards.map((one) => one.within(fenced, effect)));
  assert.ok(answers.every(({ kind }) => kind === 'written'));
});

/** A process that has entered under the first fence and stays inside until it is killed. */
async function spawnInside(t: TestContext, path: string): Promise<ReturnType<typeof spawn>> {
  const source = join(import.meta.dirname, '../../src/guards/files.ts');
  const program = `
    import { FileGuard } from ${JSON.stringify(source)};
    const guard = new FileGuard(${JSON.stringify(path)});
    await guard.within({ key: 'a', fence: ${FIRST} }, () => {
      console.log('inside');
      return new Promise(() => setInterval(() => {}, 1000));
    });
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  await once(createInterface({ input: child.stdout }), 'line');
  return child;
}

test('a frozen writer keeps its successor out; a killed one does not', async (t) => {
  const guard = openGuard(t, 20);
  const child = await spawnInside(t, guard.path);
  child.kill('SIGSTOP');
  const late = { key: 'a', fence: SECOND };
  assert.deepEqual(await guard.append(late, 'new'), { kind: 'busy', resource: 'a' });
  assert.equal(existsSync(guard.path), false);
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  assert.equal((await guard.append(late, 'new')).kind, 'written');
});
