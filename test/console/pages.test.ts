// The console's files and their headers, without a browser.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { provideConsole } from '../../scripts/console/provide.ts';
import { TestCoordinator } from '../server/coordinator.ts';

/** The files that a browser loads before it shows anything, compressed. */
const FIRST_LOAD_BYTES_MAX = 250 * 1024;

before(async () => {
  await provideConsole(() => undefined);
});

async function pageOf(url: string): Promise<string> {
  const response = await fetch(`${url}/console/`);
  assert.equal(response.status, 200);
  return response.text();
}

function assetsIn(page: string): readonly string[] {
  return [...page.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(
    ([, path]) => path ?? '',
  );
}

describe('the files of the console', () => {
  test('the first load stays in its budget', async () => {
    await using coordinator = await TestCoordinator.onMemory();
    const page = await pageOf(coordinator.url);
    const assets = assetsIn(page);
    assert.ok(assets.length >= 2, page);
    let bytes = Buffer.byteLength(page);
    for (const path of assets) bytes += await sizeOf(coordinator.url, path);
    const css = assets.find((path) => path.endsWith('.css'));
    const styles = await (await fetch(`${coordinator.url}${css}`)).text();
    for (const [, font] of styles.matchAll(/url\((\/console\/[^)]*-latin-wght[^)]*)\)/g)) {
      bytes += await sizeOf(coordinator.url, font ?? '');
    }
    assert.ok(bytes < FIRST_LOAD_BYTES_MAX, `${bytes} bytes`);
  });

  test('the page has no inline script or style, and may load nothing from elsewhere', async () => {
    await using coordinator = await TestCoordinator.onMemory();
    const response = await fetch(`${coordinator.url}/console/executions?status=failed`);
    const page = await response.text();
    assert.doesNotMatch(page, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:\/\//);
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /script-src 'self';/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|data:|\*/);
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
  });

  test('assets are cached for ever; the page is revalidated and not sent again', async () => {
    await using coordinator = await TestCoordinator.onMemory();
    const [asset = ''] = assetsIn(await pageOf(coordinator.url));
    const kept = await fetch(`${coordinator.url}${asset}`);
    assert.match(kept.headers.get('cache-control') ?? '', /max-age=31536000, immutable/);
    const page = await fetch(`${coordinator.url}/console/`);
    const etag = page.headers.get('etag') ?? '';
    assert.equal(page.headers.get('cache-control'), 'no-cache');
    const again = await fetch(`${coordinator.url}/console/`, {
      headers: { 'if-none-match': etag },
    });
    assert.equal(again.status, 304);
  });

  test('monitors can ask with HEAD', async () => {
    await using coordinator = await TestCoordinator.onMemory();
    const [asset = ''] = assetsIn(await pageOf(coordinator.url));
    for (const path of ['/console/', '/console/executions', asset]) {
      const response = await fetch(`${coordinator.url}${path}`, { method: 'HEAD' });
      assert.equal(response.status, 200, path);
      assert.equal(await response.text(), '');
    }
  });

  test('a missing file is a problem response, not the page', async () => {
    await using coordinator = await TestCoordinator.onMemory();
    for (const path of ['/console/assets/none.js', '/console/../package.json', '/consoles']) {
      const response = await fetch(`${coordinator.url}${path}`);
      assert.equal(response.status, 404, path);
      assert.match(response.headers.get('content-type') ?? '', /problem/);
    }
    const root = await fetch(`${coordinator.url}/`, { redirect: 'manual' });
    assert.equal(root.headers.get('location'), '/console/');
  });

  test('the console can be turned off, and is not on the admin listener', async () => {
    await using without = await TestCoordinator.onMemory({ console: false });
    assert.equal((await fetch(`${without.url}/console/`)).status, 404);
    await using two = await TestCoordinator.onMemory({ admin: { port: 0 } });
    assert.equal((await fetch(`${two.server.adminUrl}/console/`)).status, 404);
    assert.equal((await fetch(`${two.url}/console/`)).status, 200);
  });

  test('with authentication off, a page of another name does not get it', async () => {
    await using coordinator = await TestCoordinator.onMemory({ auth: 'off' });
    const headers = { origin: 'https://elsewhere.example' };
    assert.equal((await fetch(`${coordinator.url}/console/`, { headers })).status, 403);
  });
});

async function sizeOf(url: string, path: string): Promise<number> {
  const response = await fetch(`${url}${path}`, { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(response.status, 200, path);
  // `fetch` has unpacked the body, so the header gives the size on the wire.
  const length = response.headers.get('content-length');
  await response.arrayBuffer();
  assert.ok(Number(length) > 0, path);
  return Number(length);
}

test('a compressed response has the same content', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { request } = await import('node:http');
  const sent = await new Promise<Buffer>((resolve, reject) => {
    const headers = { 'accept-encoding': 'gzip' };
    request(`${coordinator.url}/console/`, { headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => resolve(Buffer.concat(parts)));
    })
      .on('error', reject)
      .end();
  });
  assert.equal(gunzipSync(sent).toString(), await pageOf(coordinator.url));
});
