// A worker on an exported store: it reports the seal, but not at every poll.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import type { ExecutionReport } from '../../src/execution/report.ts';
import { Holdfast, openSession, pipeline } from '../../src/index.ts';
import { openServer } from '../../src/server/serve.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { freshSqliteFile } from '../services/sqlite-file.ts';

test('EX-1: a worker reports at once that its store was sealed, and then every half a minute', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const troubles: string[] = [];
  const observer = {
    report: (report: ExecutionReport): void => {
      if (report.kind === 'trouble' && report.code === 'not-claimed') troubles.push(report.cause);
    },
  };
  const holdfast = new Holdfast({ store, clock, timers: clock.timers, observer });
  const worker = await holdfast.worker({ pipelines: [pipeline({ name: 'any', run: () => 1 })] });
  const seal = { actor: 'olga', reason: 'exported', to: 'shop.ndjson' };
  await store.seals.seal({ ...seal, id: '00000000-0000-4000-8000-000000000001' });
  await clock.advance(70_000);
  assert.ok(troubles.length >= 2 && troubles.length <= 4, `${troubles.length} times`);
  assert.match(troubles[0] ?? '', /sealed|exported/);
  await store.seals.unseal({ actor: 'olga', reason: 'given up' });
  const { result } = await holdfast.submit('any', undefined);
  await clock.advance(60_000);
  assert.equal(await result(), 1);
  await worker.stop();
  await holdfast.close();
});

test('EX-1: a process closes after its store was sealed, and reports that its session could not be ended', async () => {
  const seal = { actor: 'olga', reason: 'exported', to: 'shop.ndjson' };
  const sealed = { ...seal, id: '00000000-0000-4000-8000-000000000001' };
  const { file, remove } = await freshSqliteFile();
  for (const store of [openMemoryStore(), await openSqliteStore({ file })]) {
    const troubles: string[] = [];
    const report = (each: ExecutionReport): void => {
      if (each.kind === 'trouble') troubles.push(`${each.what}: ${each.cause}`);
    };
    const holdfast = new Holdfast({ store, observer: { report } });
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
    const slow = pipeline({
      name: 'slow',
      run: (ctx) =>
        ctx.step('wait', () => {
          begin();
          return goesOn;
        }),
    });
    const worker = await holdfast.worker({ pipelines: [slow] });
    await holdfast.submit(slow, undefined);
    await begun;
    await store.seals.seal(sealed);
    goOn();
    await worker.stop();
    await holdfast.close();
    assert.ok(
      troubles.some((each) =>
        /session was not ended, so it lapses.*This store is sealed/.test(each),
      ),
      troubles.join(),
    );
    const log: string[] = [];
    await store.seals.unseal({ actor: 'olga', reason: 'given up' });
    const server = await openServer({
      ...{ store, port: 0, auth: 'off' },
      log: { info: () => undefined, fault: (what, cause) => log.push(`${what}: ${cause}`) },
    });
    await store.seals.seal(sealed);
    await server.close();
    assert.ok(
      log.some((each) => /session was not ended/.test(each)),
      log.join(),
    );
    await store.close();
  }
  await remove();
});

test('EX-1: closing a lease session after the seal returns that nothing was written', async () => {
  const store = openMemoryStore();
  const session = await openSession({ store, owner: 'ann' });
  const seal = { actor: 'olga', reason: 'exported', to: 'shop.ndjson' };
  await store.seals.seal({ ...seal, id: '00000000-0000-4000-8000-000000000001' });
  const ended = await session.close();
  assert.equal(ended.kind, 'unavailable');
  await store.close();
});
