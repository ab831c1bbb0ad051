import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { appendFile, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FileGuard, type FileResult } from '../../src/guards/files.ts';
import { systemTimers, type Timers } from '../../src/support/timer.ts';
import { FIRST, SECOND, THIRD } from './fences.ts';
import { type OpenResource, testGuard } from './register.ts';
import type { Holder, Resource } from './schedules.ts';

/** A holder that waits for the file checks again in the next turn, not some milliseconds later. */
const IMPATIENT: Timers = { ...systemTimers, pause: async () => void (await nextTurn()) };
const TURNS = 20;

/** In memory, if the system has such files, since the test is not about flushing to disk. */
const PLACE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

function temporaryFolder(): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(PLACE, 'holdfast-guard-files-'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Every holder has its own guard, as separate processes would. */
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

  /** Reads and removes the file of one schedule; the marks beside it stay. */
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
      const options = { timers: IMPATIENT, waitMs: 1_000_000 };
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

function openGuard(t: TestContext, waitMs = 10_000): FileGuard {
  const { folder, remove } = temporaryFolder();
  const guard = new FileGuard(join(folder, 'report.txt'), { waitMs });
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

/** A folder in which `current` leads to `releases/42`. */
function openLinked(t: TestContext): { path: string; guard(path: string): FileGuard } {
  const { folder, remove } = temporaryFolder();
  const guards: FileGuard[] = [];
  t.after(async () => {
    for (const guard of guards) await guard.close();
    remove();
  });
  mkdirSync(join(folder, 'releases/42'), { recursive: true });
  symlinkSync('releases/42', join(folder, 'current'));
  return {
    path: folder,
    guard(path) {
      const guard = new FileGuard(join(folder, path));
      guards.push(guard);
      return guard;
    },
  };
}

test('every path to a file leads to one mark', async (t) => {
  const { path, guard } = openLinked(t);
  symlinkSync('releases/42/log', join(path, 'link'));
  symlinkSync('link', join(path, 'link-to-link'));
  const late = { key: 'a', fence: SECOND };
  // The file does not exist yet, and the links lead nowhere.
  assert.equal((await guard('releases/42/log').admit(late)).kind, 'current');
  const ways = ['current/log', 'link', 'link-to-link', 'releases/../current/log'];
  const stale = { kind: 'stale', resource: 'a', presented: FIRST, newest: SECOND };
  for (const way of ways) {
    assert.deepEqual(await guard(way).append({ key: 'a', fence: FIRST }, 'old\n'), stale, way);
  }
  assert.equal((await guard('link').append(late, 'new\n')).kind, 'written');
  for (const way of ways) {
    assert.deepEqual(await guard(way).append({ key: 'a', fence: FIRST }, 'old\n'), stale, way);
  }
  assert.equal((await guard('link').replace(late, 'newer\n')).kind, 'written');
  assert.ok(lstatSync(join(path, 'link')).isSymbolicLink(), 'the link stays');
  assert.equal(readFileSync(join(path, 'releases/42/log'), 'utf8'), 'newer\n');
});

test('links that lead in a circle are refused', (t) => {
  const { path, guard } = openLinked(t);
  symlinkSync('there', join(path, 'here'));
  symlinkSync('here', join(path, 'there'));
  assert.throws(() => guard('here'), /loop of symbolic links/);
});

test('a file that got a second name, or became a link, is not written', async (t) => {
  const { path, guard } = openLinked(t);
  const fenced = { key: 'a', fence: FIRST };
  const one = guard('one');
  await one.append(fenced, 'content');
  linkSync(join(path, 'one'), join(path, 'two'));
  for (const refused of [one, guard('two')]) {
    await assert.rejects(refused.append(fenced, 'more'), /has 2 hard links/);
    await assert.rejects(refused.replace(fenced, 'other'), /has 2 hard links/);
  }
  rmSync(join(path, 'one'));
  symlinkSync('two', join(path, 'one'));
  await assert.rejects(one.append(fenced, 'more'), /became a symbolic link/);
  assert.equal(readFileSync(join(path, 'two'), 'utf8'), 'content');
});

test('a replaced file keeps its permissions', async (t) => {
  const { path, guard } = openLinked(t);
  for (const mode of [0o600, 0o640, 0o777]) {
    const file = join(path, `mode-${mode}`);
    writeFileSync(file, 'old');
    chmodSync(file, mode);
    // A leftover of an earlier version, or of a crash.
    writeFileSync(join(path, `.mode-${mode}.draft`), 'half');
    const answer = await guard(`mode-${mode}`).replace({ key: 'a', fence: FIRST }, 'new');
    assert.equal(answer.kind, 'written');
    assert.equal(statSync(file).mode & 0o7777, mode);
    assert.equal(readFileSync(file, 'utf8'), 'new');
  }
});

test('an effect that waits for its own file is refused, and blocks no other', async (t) => {
  const guard = openGuard(t);
  const other = new FileGuard(guard.path);
  const elsewhere = new FileGuard(`${guard.path}.other`);
  t.after(async () => void (await Promise.all([other.close(), elsewhere.close()])));
  const fenced = { key: 'a', fence: FIRST };
  const nested: readonly (() => Promise<unknown>)[] = [
    () => guard.append(fenced, 'x'),
    () => guard.within({ key: 'b', fence: SECOND }, () => undefined),
    () => guard.admit(fenced),
    () => guard.close(),
    () => other.replace(fenced, 'x'),
    () => elsewhere.within(fenced, () => guard.append(fenced, 'x')),
  ];
  for (const effect of nested) {
    await assert.rejects(guard.within(fenced, effect), /would wait for itself/);
  }
  let afterwards: Promise<FileResult<void>> | undefined;
  const goOn = Promise.withResolvers<void>();
  const written = await guard.within(fenced, async () => {
    assert.equal((await elsewhere.append(fenced, 'x')).kind, 'written', 'another file is free');
    // The effect began this, but it is no longer part of it.
    afterwards = goOn.promise.then(() => guard.append(fenced, 'after'));
  });
  assert.equal(written.kind, 'written');
  goOn.resolve();
  assert.equal((await afterwards)?.kind, 'written');
});

test('patience covers the wait for writers of the same process', async (t) => {
  const guard = openGuard(t, 0);
  const fenced = { key: 'a', fence: FIRST };
  const goOn = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const inside = guard.within(fenced, () => {
    begun.resolve();
    return goOn.promise;
  });
  await begun.promise;
  assert.deepEqual(await guard.append(fenced, 'x'), { kind: 'busy', resource: 'a' });
  const patient = new FileGuard(guard.path);
  t.after(() => patient.close());
  const queue = [1, 2, 3].map((line) => patient.append(fenced, `${line}\n`));
  goOn.resolve();
  assert.equal((await inside).kind, 'written');
  assert.ok((await Promise.all(queue)).every(({ kind }) => kind === 'written'));
  assert.equal(readFileSync(guard.path, 'utf8'), '1\n2\n3\n', 'in turn');
});

/** A process that enters under the first fence and stays inside until the test kills it. */
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
