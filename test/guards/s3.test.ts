import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { AwsClient } from 'aws4fetch';
import { type Fenced, S3Guard } from '../../src/guards/s3.ts';
import { type S3Server, startS3 } from '../services/s3.ts';
import { FIRST, SECOND, THIRD } from './fences.ts';
import { type OpenResource, testGuard } from './register.ts';
import type { Holder, Resource } from './schedules.ts';

const CREDENTIALS = { accessKeyId: 'id', secretAccessKey: 'secret' };
const TURNS = 10;
const client = new AwsClient({ ...CREDENTIALS, service: 's3', region: 'us-east-1', retries: 0 });

let server: S3Server | undefined;
let folders = 0;

before(async () => {
  server = await startS3('bucket', CREDENTIALS);
});

after(() => server?.close());

type Send = (url: string, init: RequestInit) => Promise<Response>;
const signed: Send = (url, init) => client.fetch(url, init);

interface Folder {
  readonly name: string;
  guard(send?: Send): S3Guard;
}

function freshFolder(): Folder {
  folders += 1;
  const name = `folder-${folders}`;
  const url = `http://127.0.0.1:${server?.port}/bucket/${name}/`;
  return { name, guard: (send = signed) => new S3Guard({ url, fetch: send }) };
}

interface Written {
  readonly fence: number;
  readonly content?: string;
}

/** The fences of the writes that changed the content, in the order of the storage. */
function effectsIn(name: string): readonly number[] {
  const all = (server?.versions(name) ?? []).map((text) => JSON.parse(text) as Written);
  const isEffect = ({ content }: Written, at: number): boolean =>
    content !== undefined && content !== all[at - 1]?.content;
  return all.filter(isEffect).map(({ fence }) => fence);
}

class S3Resource implements Resource {
  readonly #folder: Folder;

  constructor(folder: Folder) {
    this.#folder = folder;
  }

  async admit({ fenced, mode }: Holder): Promise<boolean> {
    if (mode === 'unguarded') return true;
    return (await this.#folder.guard().admit(fenced)).kind === 'current';
  }

  async write(holder: Holder): Promise<boolean> {
    const { fenced, mode } = holder;
    if (mode === 'guarded') {
      // The scheduler may freeze the holder before each request of the guard.
      const guard = this.#folder.guard(async (url, init) => {
        await holder.pause();
        if (init.method === 'PUT' && !url.includes('.content/')) holder.sending();
        return signed(url, init);
      });
      return (await guard.write(fenced, String(fenced.fence))).kind === 'written';
    }
    if (mode === 'read-first' && (this.#mark(fenced.key)?.fence ?? 0) > fenced.fence) return false;
    await holder.pause();
    holder.sending();
    const url = `http://127.0.0.1:${server?.port}/bucket/${this.#folder.name}/plain-${fenced.key}`;
    const body = JSON.stringify({ fence: fenced.fence, content: `${Math.random()}` });
    await this.#put(url, body);
    return true;
  }

  async #put(url: string, body: string): Promise<void> {
    const digest = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(body))).toString(
      'hex',
    );
    const headers = { 'x-amz-content-sha256': digest };
    assert.equal((await signed(url, { method: 'PUT', headers, body })).status, 200);
  }

  #mark(key: string): Written | undefined {
    const text = server?.versions(`${this.#folder.name}/${key}`).at(-1);
    return text === undefined ? undefined : JSON.parse(text);
  }

  async effects(key: string): Promise<readonly number[]> {
    const { name } = this.#folder;
    return [...effectsIn(`${name}/${key}`), ...effectsIn(`${name}/plain-${key}`)];
  }

  async breathe(): Promise<void> {
    for (let turns = 0; turns < TURNS; turns += 1) await nextTurn();
  }
}

function openS3(): OpenResource {
  return { resource: () => new S3Resource(freshFolder()), close: () => undefined };
}

testGuard({ name: 'S3 guard', open: openS3, lanes: 4, schedules: 60 });

test('a lower fence is refused, an equal one passes, a higher one raises', async () => {
  const guard = freshFolder().guard();
  const stale = { kind: 'stale', resource: 'a/ü.x', presented: FIRST, newest: SECOND };
  assert.equal(await guard.read('a/ü.x'), undefined);
  assert.deepEqual(await guard.admit({ key: 'a/ü.x', fence: SECOND }), { kind: 'current' });
  assert.equal(await guard.read('a/ü.x'), undefined, 'a mark is no content');
  const written = await guard.write({ key: 'a/ü.x', fence: SECOND }, 'two', { type: 'text/plain' });
  assert.deepEqual(written, { kind: 'written' });
  assert.deepEqual(await guard.write({ key: 'a/ü.x', fence: FIRST }, 'one'), stale);
  assert.deepEqual(await guard.admit({ key: 'a/ü.x', fence: THIRD }), { kind: 'current' });
  const found = await guard.read('a/ü.x');
  assert.deepEqual(
    [Buffer.from(found?.bytes ?? []).toString(), found?.type],
    ['two', 'text/plain'],
  );
});

test('equal content does not let a replaced holder in', async () => {
  const folder = freshFolder();
  const old = { key: 'a', fence: FIRST };
  await folder.guard().write(old, 'same');
  // The old holder has read the object. Meanwhile its successor admits itself and changes nothing.
  const late = folder.guard(async (url, init) => {
    const isHead = init.method === 'PUT' && !url.includes('.content/');
    if (isHead) await folder.guard().admit({ key: 'a', fence: SECOND });
    return signed(url, init);
  });
  assert.equal((await late.write(old, 'same')).kind, 'stale');
});

test('a write whose reply was lost is known as written when it is repeated within the call', async () => {
  const folder = freshFolder();
  let losses = 1;
  const lossy = folder.guard(async (url, init) => {
    const response = await signed(url, init);
    const isHead = init.method === 'PUT' && !url.includes('.content/');
    if (!isHead || losses === 0) return response;
    losses -= 1;
    // A client that retries by itself gets the refusal of its own write.
    return signed(url, init);
  });
  assert.equal((await lossy.write({ key: 'a', fence: FIRST }, 'one')).kind, 'written');
  assert.deepEqual(effectsIn(`${folder.name}/a`), [FIRST]);
});

test('storage that is away, refuses, or holds other objects is a fault', async () => {
  const folder = freshFolder();
  const fenced = { key: 'a', fence: FIRST };
  const away = folder.guard(() => Promise.reject(new TypeError('fetch failed')));
  await assert.rejects(away.admit(fenced), /did not respond.*Nothing was written/);
  await assert.rejects(away.write(fenced, 'x'), /may have been made/);
  const refusing = folder.guard(async () => new Response('', { status: 403 }));
  await assert.rejects(refusing.admit(fenced), /status 403.*Nothing was written/);
  const foreign = folder.guard(async () => new Response('{}', { headers: { etag: '"x"' } }));
  await assert.rejects(foreign.admit(fenced), /not written by a guard/);
  assert.throws(() => new S3Guard({ url: 'bucket', fetch: signed }), /URL of a bucket/);
});

interface Sample {
  openGuard(bucket: string, id: string, secret: string): S3Guard;
  begin(guard: S3Guard, lease: Fenced): Promise<void>;
  publish(guard: S3Guard, lease: Fenced, report: string): Promise<void>;
  current(guard: S3Guard, key: string): Promise<string | undefined>;
}

test('the sample of the guide refuses the report of a replaced holder', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-sample-'));
  t.after(() => rm(folder, { recursive: true }));
  const root = join(import.meta.dirname, '../..');
  const guide = await readFile(join(root, 'docs/guides/guard-s3.md'), 'utf8');
  const [, code = ''] = /```ts\n(.*?)```/s.exec(guide) ?? [];
  const file = join(folder, 'sample.mts');
  const guards = pathToFileURL(join(root, 'src/guards/s3.ts')).href;
  await writeFile(
    file,
    code
      .replace("'holdfast/guards/s3'", `'${guards}'`)
      .replace("'aws4fetch'", `'${import.meta.resolve('aws4fetch')}'`),
  );
  const sample: Sample = await import(pathToFileURL(file).href);
  const { accessKeyId, secretAccessKey } = CREDENTIALS;
  const bucket = `http://127.0.0.1:${server?.port}/bucket/sample`;
  const guard = sample.openGuard(bucket, accessKeyId, secretAccessKey);
  const [ann, bob] = [FIRST, SECOND].map((fence) => ({ key: 'report', fence }));
  assert.ok(ann && bob);
  await sample.begin(guard, ann);
  await sample.publish(guard, ann, 'of ann');
  await sample.begin(guard, bob);
  await assert.rejects(sample.publish(guard, ann, 'late'), /another process publishes/);
  assert.equal(await sample.current(guard, 'report'), 'of ann');
});
