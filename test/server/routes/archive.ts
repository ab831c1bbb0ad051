import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFolderArchive } from '../../../src/archive/folder.ts';
import { pipeline } from '../../../src/index.ts';
import type { Case } from './case.ts';

const folder = mkdtempSync(join(tmpdir(), 'hf-routes-archive-'));
process.once('exit', () => void rm(folder, { recursive: true, force: true }));

const quick = pipeline({
  name: 'quick',
  async run(ctx, n: number) {
    await ctx.attach('a/b.txt', `${n}`);
    return n;
  },
});

const archive = openFolderArchive({ folder });
const keepMs = { completed: 0 };

const findsArchived: Case = {
  name: 'an archived execution is gone from executions with a pointer, and is found, read and verified',
  given: { retention: { archive, keepMs } },
  async run(coordinator) {
    await coordinator.worker([quick]);
    const client = await coordinator.client(['submit', 'operate'], 'default');
    const submit = { pipeline: 'quick', input: 7, key: 'Invoice-7 Bern', tags: ['vip'] };
    const { id } = await client.executions.submit(submit);
    await client.executions.result(id);
    assert.deepEqual(await client.archive.run(), { due: 1, archived: 1, removed: 1, failed: 0 });
    for (const gone of [
      () => client.executions.read(id),
      () => client.executions.history(id),
      () => client.executions.explain(id),
    ]) {
      await assert.rejects(gone, { code: 'execution-archived', status: 410 });
    }
    const { items } = await client.archive.search('invoice', { tag: 'vip', pipeline: 'quick' });
    assert.deepEqual(
      items.map((each) => [each.id, each.status, each.key]),
      [[id, 'completed', 'Invoice-7 Bern']],
    );
    assert.deepEqual((await client.archive.search('nothing')).items, []);
    assert.deepEqual((await client.archive.list({ to: items[0]?.endedAt ?? '' })).items, []);
    assert.equal((await client.archive.list({ from: items[0]?.endedAt ?? '' })).items.length, 1);
    await assert.rejects(client.archive.search('!'), { status: 400 });
    await assert.rejects(client.archive.list({ from: 'yesterday' }), { status: 400 });
    const { documents } = await client.archive.get(id);
    const attached = documents.find(({ title }) => title === 'a/b.txt');
    const bytes = await client.archive.document(id, attached?.name ?? '');
    assert.equal(Buffer.from(bytes).toString(), '7');
    for (const name of ['../manifest.json', 'none', '/etc/passwd']) {
      await assert.rejects(client.archive.document(id, name), { status: 404 });
    }
    assert.equal((await client.archive.verify(id)).kind, 'intact');
    const submitter = await coordinator.client(['submit'], 'default');
    await assert.rejects(submitter.archive.run(), { code: 'role-missing' });
    const again = await client.executions.submit(submit);
    assert.notEqual(again.id, id);
  },
};

const erases: Case = {
  name: 'values of an ended execution are erased, in the store and in the archive, by an admin with a reason',
  given: { retention: { archive, keepMs } },
  async run(coordinator) {
    await coordinator.worker([quick]);
    const client = await coordinator.client(['submit', 'operate'], 'default');
    const admin = await coordinator.client(['admin'], 'default');
    const submitted = async (input: number): Promise<string> => {
      const { id } = await client.executions.submit({ pipeline: 'quick', input });
      await client.executions.result(id);
      return id;
    };
    const [archived, kept] = [await submitted(4711), await submitted(4712)];
    await assert.rejects(client.executions.erase(kept, 'asked for'), { code: 'role-missing' });
    await assert.rejects(admin.executions.erase(kept, ''), { code: 'invalid-input' });
    const open = await client.executions.submit({ pipeline: 'other', input: 4713 });
    await assert.rejects(admin.executions.erase(open.id, 'asked for'), { code: 'not-ended' });
    const { kind, by, pending } = await admin.executions.erase(kept, 'asked for');
    assert.deepEqual([kind, pending], ['erased', undefined]);
    const shown = await client.executions.read(kept);
    assert.deepEqual([shown.erased?.by, shown.sealed, shown.input], [by, true, undefined]);
    assert.equal((await client.executions.result(kept)).sealed, true);
    assert.doesNotMatch(JSON.stringify(await client.executions.history(kept)), /4712/);
    await assert.rejects(client.bytes(`/v1/executions/${kept}/attachments/a%2Fb.txt`), {
      code: 'value-erased',
    });
    await assert.rejects(client.executions.redrive(kept), { code: 'execution-erased' });
    const again = await admin.executions.erase(kept, 'asked for');
    assert.deepEqual([again.kind, again.by], ['already-erased', by]);
    await client.archive.run();
    assert.equal((await admin.executions.erase(archived, 'asked for')).kind, 'erased');
    assert.equal((await client.archive.verify(archived)).kind, 'erased');
    assert.equal((await client.archive.verify(kept)).kind, 'intact');
    const found = await client.archive.list({});
    for (const id of [archived, kept]) {
      assert.notEqual(found.items.find((each) => each.id === id)?.erased, undefined);
    }
    const read = client.archive.document(archived, 'history.json');
    await assert.rejects(read, { code: 'value-erased', status: 410 });
    const history = Buffer.from(await client.archive.document(kept, 'history.json')).toString();
    assert.doesNotMatch(history, /4712/);
    const { items } = await client.records.audit({ action: 'erase' });
    assert.deepEqual(items.map(({ target }) => target.id).sort(), [archived, kept].sort());
  },
};

const ofProjects: Case = {
  name: 'each project has its own retention and archive, and sees no other',
  given: { retention: { archive, keepMs } },
  async run(coordinator) {
    const ids: string[] = [];
    for (const project of ['one', 'two']) {
      await coordinator.worker([quick], { project });
      const client = await coordinator.client(['submit', 'operate'], project);
      const { id } = await client.executions.submit({ pipeline: 'quick', input: 1 });
      await client.executions.result(id);
      ids.push(id);
    }
    const [one = '', two = ''] = ids;
    const admin = await coordinator.client(['admin']);
    const settings = { keepMs: { completed: null } };
    await admin.call('/v1/projects/two', { method: 'PUT', body: settings });
    const first = await coordinator.client(['submit', 'operate'], 'one');
    const second = await coordinator.client(['submit', 'operate'], 'two');
    assert.equal((await second.archive.run()).removed, 0);
    assert.equal((await first.executions.read(one)).status, 'completed');
    assert.equal((await first.archive.run()).removed, 1);
    assert.equal((await second.executions.read(two)).status, 'completed');
    assert.deepEqual((await second.archive.list()).items, []);
    for (const reach of [() => second.archive.get(one), () => second.archive.verify(one)]) {
      await assert.rejects(reach, { status: 404, code: 'not-found' });
    }
    await assert.rejects(second.archive.document(one, 'record.json'), { status: 404 });
    await assert.rejects(second.executions.read(one), { code: 'execution-unknown' });
  },
};

const without: Case = {
  name: 'a coordinator without an archive removes nothing, and names the missing setting',
  async run(coordinator) {
    const client = await coordinator.client(['operate'], 'default');
    assert.deepEqual(await client.archive.list(), { items: [] });
    await assert.rejects(client.archive.run(), { code: 'archive-missing', status: 409 });
  },
};

export const archiveCases: readonly Case[] = [findsArchived, erases, ofProjects, without];
