import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import {
  type ExecutionId,
  type Payload,
  parseExecutionId,
  parsePipelineName,
  parseProject,
} from '../../../execution/names.ts';
import { parseOwner, parseSessionId, type SessionId } from '../../../lease/names.ts';
import { InvalidInput } from '../../../support/fault.ts';
import { systemRandom } from '../../../support/random.ts';
import type { Claimed, CoordinatorStore, Submit } from '../../contract/execution-store.ts';
import { openSqliteStore, type SqliteStoreOptions } from '../open.ts';
import type { LentConnection } from './transact.ts';

let folder = '';
let files = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-executions-'));
});

after(() => rm(folder, { recursive: true, force: true }));

const PROJECT = parseProject('default');
const PIPELINE = parsePipelineName('orders');

function newFile(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

async function withStore(
  use: (store: CoordinatorStore, file: string) => Promise<void>,
  options: Partial<SqliteStoreOptions> = {},
): Promise<void> {
  const file = newFile();
  const store = await openSqliteStore({ file, ...options });
  await use(store, file).finally(() => store.close());
}

let ids = 0;

function submission(options: Partial<Submit> = {}): Submit {
  ids += 1;
  const id = parseExecutionId(`01900000-0000-7000-8000-${ids.toString(16).padStart(12, '0')}`);
  return {
    ...{ id, project: PROJECT, pipeline: PIPELINE, lane: 'batch', lineage: id },
    ...{ input: '1' as Payload, tags: [], attributes: {} },
    ...options,
  };
}

async function openSession(store: CoordinatorStore): Promise<SessionId> {
  const id = parseSessionId(systemRandom.uuid());
  const owner = parseOwner('tester');
  await store.sessions.open({ id, owner, ttlMs: 60_000, graceMs: 0, metadata: {} });
  return id;
}

async function claimAll(
  store: CoordinatorStore,
  session: SessionId,
  limit: number = 100,
): Promise<readonly Claimed[]> {
  const shares = [{ lane: 'batch', limit }] as const;
  const outcome = await store.executions.claim({ session, pipelines: [PIPELINE], shares });
  assert.equal(outcome.kind, 'claimed');
  return outcome.claims;
}

interface Running {
  readonly id: ExecutionId;
  readonly session: SessionId;
  readonly fence: Claimed['fence'];
}

async function startOne(store: CoordinatorStore): Promise<Running> {
  const session = await openSession(store);
  await store.executions.submit(submission());
  const [claimed] = await claimAll(store, session, 1);
  assert.ok(claimed !== undefined);
  return { id: claimed.execution.id, session, fence: claimed.fence };
}

const STEP = { kind: 'step-completed', name: 'step' } as const;

async function kindsOf(store: CoordinatorStore, id: ExecutionId): Promise<readonly string[]> {
  return (await store.executions.history({ id, after: 0, limit: 100 })).map(({ kind }) => kind);
}

function rowsOf(file: string, sql: string): readonly unknown[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

test('X-23: work and history are committed together', () =>
  withStore(async (store, file) => {
    const running = await startOne(store);
    const outcome = await store.executions.transact({
      ...running,
      seq: 3,
      work(connection) {
        const lent = connection as LentConnection;
        lent.prepare('create table mine (name text, amount integer)').run();
        lent.prepare('insert into mine values (:name, :amount)').run({ name: 'a', amount: 7 });
        return lent.prepare('select amount from mine where name = ?').get('a')?.['amount'];
      },
      events: (result) => [{ ...STEP, body: JSON.stringify(result) as Payload }],
    });
    assert.equal(outcome.kind === 'recorded' && outcome.result, 7);
    assert.deepEqual(await kindsOf(store, running.id), ['submitted', 'claimed', 'step-completed']);
    assert.equal(rowsOf(file, 'select * from mine').length, 1);
  }));

test('X-23: when work throws, only its writes are undone, and not its neighbours in the flush', () =>
  withStore(async (store, file) => {
    const running = await startOne(store);
    const neighbour = submission();
    const [outcome, submitted] = await Promise.all([
      store.executions.transact({
        ...running,
        seq: 3,
        work(connection) {
          (connection as LentConnection).prepare('create table mine (name text)').run();
          throw new Error('no');
        },
        events: () => [STEP],
      }),
      store.executions.submit(neighbour),
    ]);
    assert.equal(outcome.kind === 'threw' && (outcome.error as Error).message, 'no');
    assert.equal(submitted.kind, 'submitted');
    assert.deepEqual(rowsOf(file, "select 1 from sqlite_schema where name = 'mine'"), []);
    const again = await store.executions.record({ ...running, seq: 3, events: [STEP] });
    assert.equal(again.kind, 'recorded');
  }));

test('X-23: work that returns a promise is refused, and nothing is written', () =>
  withStore(async (store) => {
    const running = await startOne(store);
    const outcome = await store.executions.transact({
      ...{ ...running, seq: 3, events: () => [STEP] },
      work: async () => Promise.reject(new Error('this promise is not awaited')),
    });
    assert.ok(outcome.kind === 'threw' && outcome.error instanceof InvalidInput);
    assert.deepEqual(await kindsOf(store, running.id), ['submitted', 'claimed']);
  }));

test('X-23: the connection is lent without control over the transaction, and only for the work', () =>
  withStore(async (store) => {
    const running = await startOne(store);
    let kept: LentConnection | undefined;
    let statement: ReturnType<LentConnection['prepare']> | undefined;
    const outcome = await store.executions.transact({
      ...running,
      seq: 3,
      work(connection) {
        kept = connection as LentConnection;
        statement = kept.prepare('select 1 as one');
        for (const sql of [
          'commit',
          ' /* x */ ROLLBACK',
          '-- x\nsavepoint a',
          'pragma user_version',
        ]) {
          assert.throws(() => kept?.prepare(sql), InvalidInput, sql);
        }
        return statement.get()?.['one'];
      },
      events: () => [STEP],
    });
    assert.equal(outcome.kind === 'recorded' && outcome.result, 1);
    assert.throws(() => kept?.prepare('select 1'), InvalidInput);
    assert.throws(() => statement?.get(), InvalidInput);
  }));

test('X-4: every verb notices an event that another process appended under the same fence', () =>
  withStore(async (store, file) => {
    const other = await openSqliteStore({ file });
    try {
      const running = await startOne(store);
      const theirs = [{ ...STEP, name: 'theirs' }];
      const taken = { kind: 'refused', why: 'seq-taken', id: running.id };
      await other.executions.record({ ...running, seq: 3, events: theirs });
      const events = [STEP];
      const { executions } = store;
      assert.deepEqual(await executions.record({ ...running, seq: 3, events }), {
        ...taken,
        seq: 3,
      });
      await executions.record({ ...running, seq: 4, events });
      await other.executions.record({ ...running, seq: 5, events: theirs });
      const ending = [{ kind: 'completed' }] as const;
      const [finished, submitted] = await Promise.all([
        executions.finish({ ...running, seq: 5, events: ending, status: 'completed' }),
        executions.submit(submission()),
      ]);
      assert.deepEqual(finished, { ...taken, seq: 5 });
      assert.equal(submitted.kind, 'submitted');
      const last = await executions.finish({
        ...running,
        seq: 6,
        events: ending,
        status: 'completed',
      });
      assert.equal(last.kind, 'finished');
    } finally {
      await other.close();
    }
  }));

test('X-24: every commit of an execution verb is announced before and after, and no other commit is', async () => {
  const phases: string[] = [];
  const onBoundary = (phase: string, n: number): void => {
    phases.push(`${phase} ${n}`);
  };
  await withStore(
    async (store) => {
      await openSession(store);
      assert.deepEqual(phases, []);
      await store.executions.submit(submission());
      await Promise.all([
        store.executions.submit(submission()),
        store.executions.submit(submission()),
      ]);
      await store.executions.read(submission().id);
    },
    { onBoundary },
  );
  assert.deepEqual(phases, ['before 1', 'after 1', 'before 2', 'after 2']);
});

test('a flush sends one wakeup, whatever the listeners do', () =>
  withStore(async (store) => {
    let wakeups = 0;
    store.executions.onWakeup(() => {
      throw new Error('a listener that fails');
    });
    const stop = store.executions.onWakeup(() => {
      wakeups += 1;
    });
    const many = Array.from({ length: 10 }, () => store.executions.submit(submission()));
    await Promise.all(many);
    assert.equal(wakeups, 1);
    stop();
    await store.executions.submit(submission());
    assert.equal(wakeups, 1);
  }));

test('M-11: a write wakes the other processes that have the file open, and a close leaves no mark', async () => {
  const file = newFile();
  const writer = await openSqliteStore({ file });
  const listener = await openSqliteStore({ file });
  const causes: unknown[] = [];
  writer.executions.onWakeup((_, cause) => causes.push(cause));
  const woken = Promise.withResolvers<unknown>();
  listener.executions.onWakeup((projects) => woken.resolve(projects));
  await writer.executions.submit(submission());
  assert.equal(await woken.promise, undefined, 'any project');
  assert.ok(!causes.includes(undefined), 'its own mark does not wake the writer');
  await writer.close();
  await listener.close();
  assert.equal(existsSync(`${file}-wakeups`), false);
});

test('X-13: one write can have ten thousand children', () =>
  withStore(async (store) => {
    const running = await startOne(store);
    const parent = { id: running.id, call: 'child:all#1' } as unknown as NonNullable<
      Submit['parent']
    >;
    const children = Array.from({ length: 10_000 }, () => submission({ parent }));
    const outcome = await store.executions.record({ ...running, seq: 3, events: [STEP], children });
    assert.equal(outcome.kind, 'recorded');
    const page = await store.executions.children({ parent: running.id, limit: 20_000 });
    assert.equal(page.length, 10_000);
  }));
